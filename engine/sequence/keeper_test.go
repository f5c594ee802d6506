package sequence_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// counters are the records of a catalog that several nodes share.
type counters struct {
	mu      sync.Mutex
	counts  map[catalog.CounterID]catalog.Count
	changes int
	doubt   func() (happens, known bool) // of the next change
	onSet   func(catalog.CounterID)
}

func (c *counters) Counter(_ context.Context, id catalog.CounterID) (*catalog.Count, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.counts[id]; ok {
		return &now, nil
	}
	return nil, nil
}

func (c *counters) ChangeCounter(_ context.Context, id catalog.CounterID,
	change func(*catalog.Count) (*catalog.Count, error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var now *catalog.Count
	if was, ok := c.counts[id]; ok {
		now = &was
	}
	next, err := change(now)
	if err != nil || next == nil {
		return err
	}
	happens, known := true, true
	if c.doubt != nil {
		happens, known = c.doubt()
	}
	if happens {
		c.counts[id] = *next
		c.changes++
	}
	if !known {
		return catalog.ErrOutcomeUnknown
	}
	return nil
}

func (c *counters) SetCounter(ctx context.Context, id catalog.CounterID,
	change func(*catalog.Count) (*catalog.Count, error)) error {
	if err := c.ChangeCounter(ctx, id, change); err != nil {
		return err
	}
	if c.onSet != nil {
		c.onSet(id)
	}
	return nil
}

func newCounters() *counters { return &counters{counts: map[catalog.CounterID]catalog.Count{}} }

func keeper(c *counters) *sequence.Keeper {
	k := sequence.NewKeeper()
	k.Over(c)
	return k
}

func definition(t testing.TB, o statement.SequenceOptions) sequence.Definition {
	t.Helper()
	d, err := sequence.New(&o)
	require.NoError(t, err)
	return d
}

func number(n int64) *int64 { return &n }

var ctx = context.Background()

// SQ1: nodes hand out values, die, end, lose answers of the store; no value comes twice, and what a node alone hands
// out is without gaps as long as it does not die.
func TestNoValueTwice(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c := newCounters()
		c.doubt = func() (bool, bool) {
			if rng.IntN(8) == 0 {
				return rng.IntN(2) == 0, false
			}
			return true, true
		}
		increment := int64(1 + rng.IntN(3))
		if rng.IntN(2) == 0 {
			increment = -increment
		}
		d := definition(t, statement.SequenceOptions{Increment: &increment})
		nodes := []*sequence.Keeper{keeper(c), keeper(c), keeper(c)}
		seen := map[int64]bool{}
		for range 300 {
			at := rng.IntN(len(nodes))
			switch op := rng.IntN(20); {
			case op == 0: // it dies
				nodes[at] = keeper(c)
			case op == 1: // it ends
				nodes[at].Close(slog.New(slog.DiscardHandler))
				nodes[at] = keeper(c)
			case op == 2: // another definition
				d.Cycle = !d.Cycle
			default:
				values, err := nodes[at].Next(ctx, 1, d, "s", 1+rng.IntN(50))
				if err != nil {
					require.ErrorIs(t, err, catalog.ErrOutcomeUnknown)
					continue
				}
				for i, v := range values {
					require.False(t, seen[v], "seed %d: %d twice", seed, v)
					seen[v] = true
					if i > 0 && increment > 0 {
						require.Greater(t, v, values[i-1])
					}
				}
			}
		}
	}
}

// A node alone counts without gaps, over ends of the process, and with few changes of the record.
func TestCountsWithoutGaps(t *testing.T) {
	c := newCounters()
	d := definition(t, statement.SequenceOptions{})
	k, want := keeper(c), int64(0)
	for range 10_000 {
		want++
		if want%997 == 0 {
			k.Close(slog.New(slog.DiscardHandler))
			k = keeper(c)
		}
		values, err := k.Next(ctx, 1, d, "s", 1)
		require.NoError(t, err)
		require.Equal(t, []int64{want}, values)
	}
	require.Less(t, c.changes, 150)
	last, given, err := k.State(ctx, 1, d)
	require.NoError(t, err)
	require.True(t, given)
	require.Equal(t, want, last)
}

func TestEndsAndCycles(t *testing.T) {
	for _, c := range []struct {
		o    statement.SequenceOptions
		want []int64
		ends bool
	}{
		{statement.SequenceOptions{Max: number(3)}, []int64{1, 2, 3}, true},
		{statement.SequenceOptions{Max: number(9), Increment: number(4)}, []int64{1, 5, 9}, true},
		{statement.SequenceOptions{Max: number(8), Increment: number(4)}, []int64{1, 5}, true},
		{statement.SequenceOptions{Increment: number(-3), Min: number(-8)}, []int64{-1, -4, -7}, true},
		{statement.SequenceOptions{Start: number(9223372036854775806)}, []int64{9223372036854775806, 9223372036854775807}, true},
		{statement.SequenceOptions{Increment: number(-1), Start: number(-9223372036854775807)}, []int64{-9223372036854775807, -9223372036854775808}, true},
		{statement.SequenceOptions{Max: number(3), Cycle: truth(), Start: number(2)}, []int64{2, 3, 1, 2, 3, 1}, false},
		{statement.SequenceOptions{Increment: number(-2), Min: number(-3), Cycle: truth()}, []int64{-1, -3, -1, -3}, false},
	} {
		d := definition(t, c.o)
		for _, at := range []int{1, len(c.want)} { // one by one, and all at once
			k := keeper(newCounters())
			var got []int64
			for len(got) < len(c.want) {
				values, err := k.Next(ctx, 1, d, "s", at)
				require.NoError(t, err)
				got = append(got, values...)
			}
			require.Equal(t, c.want, got)
			_, err := k.Next(ctx, 1, d, "s", 1)
			require.Equal(t, c.ends, sqlerror.State(err) == "2200H", "%v", err)
		}
	}
}

func truth() *bool { t := true; return &t }

// setval counts at once, on every node.
func TestSetEverywhere(t *testing.T) {
	c := newCounters()
	d := definition(t, statement.SequenceOptions{})
	a, b := keeper(c), keeper(c)
	c.onSet = func(id catalog.CounterID) { a.Set(id); b.Set(id) }
	next := func(k *sequence.Keeper) int64 {
		values, err := k.Next(ctx, 1, d, "s", 1)
		require.NoError(t, err)
		return values[0]
	}
	require.EqualValues(t, 1, next(a))
	require.EqualValues(t, 33, next(b))
	require.NoError(t, a.SetTo(ctx, 1, d, "s", 1000, true))
	require.EqualValues(t, 1001, next(b))
	require.EqualValues(t, 1002, next(b))
	require.EqualValues(t, 1065, next(a), "behind the range of b")
	require.NoError(t, b.SetTo(ctx, 1, d, "s", 5, false))
	last, given, err := a.State(ctx, 1, d)
	require.NoError(t, err)
	require.Equal(t, []any{int64(5), false}, []any{last, given})
	require.EqualValues(t, 5, next(a))
	require.Equal(t, "22003", sqlerror.State(a.SetTo(ctx, 1, d, "s", 0, true)))
	a.Set(0)
	require.EqualValues(t, 6, next(a), "what may have been set was not")
}

// Another step counts from the last value that was handed out.
func TestOtherStep(t *testing.T) {
	c := newCounters()
	k := keeper(c)
	d := definition(t, statement.SequenceOptions{})
	_, err := k.Next(ctx, 1, d, "s", 5)
	require.NoError(t, err)
	d.Increment = 10
	values, err := k.Next(ctx, 1, d, "s", 2)
	require.NoError(t, err)
	require.Equal(t, []int64{15, 25}, values)
}

// What cannot be reserved is no value.
func TestNothingReserved(t *testing.T) {
	c := newCounters()
	c.doubt = func() (bool, bool) { return false, false }
	k := keeper(c)
	_, err := k.Next(ctx, 1, definition(t, statement.SequenceOptions{}), "s", 1)
	require.True(t, errors.Is(err, catalog.ErrOutcomeUnknown))
}

func TestManyAtOnce(t *testing.T) {
	c := newCounters()
	d := definition(t, statement.SequenceOptions{})
	nodes := []*sequence.Keeper{keeper(c), keeper(c)}
	var mu sync.Mutex
	seen := map[int64]bool{}
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			for range 500 {
				values, err := nodes[i%2].Next(ctx, 1, d, "s", 3)
				if err != nil {
					return err
				}
				mu.Lock()
				for _, v := range values {
					if seen[v] {
						mu.Unlock()
						return fmt.Errorf("%d twice", v)
					}
					seen[v] = true
				}
				mu.Unlock()
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Len(t, seen, 8*500*3)
}
