package rowlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/rowlock"
)

const chunkRows = 8

// version is a table whose chunks keep their numbers.
func version(t testing.TB) *catalog.TableVersion {
	v, err := catalog.Collect(catalog.TableName{Schema: "public", Name: "t"}, arrow.NewSchema(nil, nil), nil)
	require.NoError(t, err)
	return v
}

func rowsOf(v *catalog.TableVersion, numbers ...int) rowlock.Rows {
	rows := rowlock.Rows{Version: v, Chunks: map[int]*positions.Set{}}
	for _, n := range numbers {
		if rows.Chunks[n/chunkRows] == nil {
			rows.Chunks[n/chunkRows] = positions.New(chunkRows)
		}
		rows.Chunks[n/chunkRows].Add(int64(n % chunkRows))
	}
	return rows
}

// taken is what an owner has claimed at once.
type taken struct {
	rows []int
	mode rowlock.Mode
}

func excludes(a, b rowlock.Mode) bool { return a != rowlock.Shared || b != rowlock.Shared }

// merged is what is left of claims when those of a mode are one.
func merged(list []taken) (out []taken) {
	for _, c := range list {
		i := slices.IndexFunc(out, func(o taken) bool { return o.mode == c.mode })
		if i < 0 {
			out = append(out, taken{slices.Clone(c.rows), c.mode})
		} else {
			out[i].rows = append(out[i].rows, c.rows...)
		}
	}
	return out
}

// RK1, RK4, RK5, RK6: against a naive twin, a map from rows to their owners and modes.
func TestAgainstNaiveTwin(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	refused, shared := 0, 0
	for range 200 {
		locks, v := rowlock.New(), version(t)
		owners := make([]*rowlock.Owner, 4)
		claims := make([][]taken, len(owners)) // of each, what it has claimed, in order
		for i := range owners {
			owners[i] = locks.Owner()
		}
		heldByOther := func(who, row int, mode rowlock.Mode) bool {
			for i, of := range claims {
				if i != who && slices.ContainsFunc(of, func(c taken) bool { return excludes(c.mode, mode) && slices.Contains(c.rows, row) }) {
					return true
				}
			}
			return false
		}
		ended := uint64(0)
		for range 60 {
			who := random.IntN(len(owners))
			switch random.IntN(8) {
			case 0:
				if len(claims[who]) > 0 {
					ended++
				}
				owners[who].End()
				owners[who], claims[who] = locks.Owner(), nil
				require.Equal(t, ended, locks.Ended())
			case 1: // all claims are of one version
				but := random.IntN(len(claims[who]) + 1)
				owners[who].Merge(but)
				claims[who] = append(claims[who][:but:but], merged(claims[who][but:])...)
			case 2:
				but := random.IntN(len(claims[who]) + 1)
				owners[who].Release(but)
				claims[who] = claims[who][:but]
			default:
				var rows, want []int
				for range 1 + random.IntN(3) {
					rows = append(rows, random.IntN(4*chunkRows))
				}
				mode := rowlock.Mode(random.IntN(3))
				asked := rowsOf(v, rows...)
				asked.Mode = mode
				for row := range 4 * chunkRows {
					if heldByOther(who, row, mode) {
						want = append(want, row)
					}
				}
				all, err := owners[who].Held(t.Context(), rowlock.Rows{Version: v, Mode: mode})
				require.NoError(t, err)
				require.ElementsMatch(t, want, numbersOf(all))
				some, err := owners[who].Held(t.Context(), asked)
				require.NoError(t, err)
				want = slices.DeleteFunc(want, func(row int) bool { return !slices.Contains(rows, row) })
				require.ElementsMatch(t, want, numbersOf(some))
				err = owners[who].Claim(t.Context(), asked)
				if len(want) > 0 {
					var held *rowlock.HeldError
					require.ErrorAs(t, err, &held)
					refused++
				} else {
					require.NoError(t, err)
					claims[who] = append(claims[who], taken{rows, mode})
					if mode == rowlock.Shared {
						shared++
					}
				}
			}
			require.Equal(t, len(claims[who]), owners[who].Claims())
			var locked []int
			for _, rows := range owners[who].Locks() {
				require.NotEqual(t, rowlock.Changed, rows.Mode)
				locked = append(locked, numbersOf(rows.Chunks)...)
			}
			for _, c := range claims[who] {
				if c.mode != rowlock.Changed {
					require.Subset(t, locked, c.rows)
				}
			}
		}
	}
	require.Greater(t, refused, 100)
	require.Greater(t, shared, 100)
}

func numbersOf(rows map[int]*positions.Set) (list []int) {
	for chunk, set := range rows {
		for at := range set.All() {
			list = append(list, chunk*chunkRows+int(at))
		}
	}
	slices.Sort(list)
	return list
}

// RK1, RK3: rows are shared by owners that share them; two that want them for themselves then wait for each other.
func TestShared(t *testing.T) {
	locks, v := rowlock.New(), version(t)
	a, b := locks.Owner(), locks.Owner()
	shared, whole := rowsOf(v, 1), rowsOf(v, 1)
	shared.Mode, whole.Mode = rowlock.Shared, rowlock.Locked
	require.NoError(t, a.Claim(t.Context(), shared))
	require.NoError(t, b.Claim(t.Context(), shared))
	var held *rowlock.HeldError
	require.ErrorAs(t, a.Claim(t.Context(), whole), &held)
	waits := make(chan error, 1)
	go func() { waits <- a.Wait(context.Background(), held) }()
	rowlock.AwaitWaiting(a)
	var other *rowlock.HeldError
	require.ErrorAs(t, b.Claim(t.Context(), whole), &other)
	var refused interface{ SQLState() string }
	require.ErrorAs(t, b.Wait(t.Context(), other), &refused)
	require.Equal(t, "40P01", refused.SQLState())
	b.End()
	require.NoError(t, <-waits)
	require.NoError(t, a.Claim(t.Context(), whole))
	require.ErrorAs(t, locks.Owner().Claim(t.Context(), shared), &held)
}

// RK1, RK2: what a row stands for is changed by one owner at a time, and each comes to it.
func TestOneAtATime(t *testing.T) {
	locks, v := rowlock.New(), version(t)
	counts := make([]int, 3) // without any other lock: the race detector sees two at once
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range 300 {
				row := i % len(counts)
				for {
					owner := locks.Owner()
					err := owner.Claim(context.Background(), rowsOf(v, row, 3+i%7))
					var held *rowlock.HeldError
					if errors.As(err, &held) {
						require.NoError(t, owner.Wait(context.Background(), held))
						continue
					}
					require.NoError(t, err)
					counts[row]++
					owner.End()
					break
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, []int{800, 800, 800}, counts)
}

// RK3: an owner that would close a circle gets an error, and the others go on when it has ended.
func TestCircles(t *testing.T) {
	for size := 2; size < 5; size++ {
		locks, v := rowlock.New(), version(t)
		owners := make([]*rowlock.Owner, size)
		for i := range owners {
			owners[i] = locks.Owner()
			require.NoError(t, owners[i].Claim(t.Context(), rowsOf(v, i)))
		}
		blocked := func(i int) *rowlock.HeldError {
			var held *rowlock.HeldError
			require.ErrorAs(t, owners[i].Claim(t.Context(), rowsOf(v, (i+1)%size)), &held)
			return held
		}
		waiting := make(chan error, size)
		for i := range size - 1 {
			held := blocked(i)
			go func() { waiting <- owners[i].Wait(context.Background(), held) }()
			rowlock.AwaitWaiting(owners[i])
		}
		var refused interface{ SQLState() string }
		require.ErrorAs(t, owners[size-1].Wait(t.Context(), blocked(size-1)), &refused)
		require.Equal(t, "40P01", refused.SQLState())
		for i := size - 1; i > 0; i-- {
			owners[i].End()
			require.NoError(t, <-waiting)
		}
	}
}

// RK2: an owner that waits goes on when the rows are let go of, and when its own context ends.
func TestWaitEnds(t *testing.T) {
	locks, v := rowlock.New(), version(t)
	first, second := locks.Owner(), locks.Owner()
	require.NoError(t, first.Claim(t.Context(), rowsOf(v, 1)))
	require.NoError(t, first.Claim(t.Context(), rowsOf(v, 2)))
	var held *rowlock.HeldError
	require.ErrorAs(t, second.Claim(t.Context(), rowsOf(v, 2)), &held)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.ErrUnsupported)
	require.ErrorIs(t, second.Wait(ctx, held), errors.ErrUnsupported)
	first.Release(1)
	require.NoError(t, second.Wait(t.Context(), held))
	require.NoError(t, second.Claim(t.Context(), rowsOf(v, 2)))
	require.ErrorAs(t, second.Claim(t.Context(), rowsOf(v, 1)), &held)
	require.ErrorAs(t, first.Claim(t.Context(), rowsOf(v, 2)), &held)
}
