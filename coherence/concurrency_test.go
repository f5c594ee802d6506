package coherence_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// TestConcurrentWritersAndReaders: on a small region whose addresses are handed out again at once, no reader sees
// another generation's bytes (C1, C5). The region is Go heap: under -race a store into a pinned extent is a report.
func TestConcurrentWritersAndReaders(t *testing.T) {
	m := newHeapMemory(24)
	m.recycle = true
	counters := &coherence.Counters{}
	h := newHome(t, m, func(c *coherence.HomeConfig) {
		c.Counters = counters
		c.ReserveGenerations = func(coherence.Generation) error { return nil }
	})
	reader := coherence.NewReader(coherence.Coherent, nil, counters)
	board := &board{home: h}
	group, ctx := errgroup.WithContext(t.Context())
	for worker := range 3 {
		board.writing.Add(1)
		group.Go(func() error {
			defer board.writing.Add(-1)
			return board.write(ctx, rand.New(rand.NewPCG(1, uint64(worker))), 300)
		})
		group.Go(func() error { return board.read(reader, rand.New(rand.NewPCG(2, uint64(worker)))) })
	}
	require.NoError(t, group.Wait())
	for _, x := range board.extents {
		require.NoError(t, h.Retire(x.generation))
	}
	requireNothingAlive(t, h, m)
	require.Equal(t, counters.Grants.Load(), counters.Reclaims.Load())
	require.Equal(t, counters.Pins.Load(), counters.Unpins.Load()+counters.Expired.Load())
	require.Positive(t, counters.Acquires.Load())
	require.Zero(t, counters.FlushedLines.Load(), "a coherent fabric pays no flush")
	require.Equal(t, counters.Cleans.Load(), counters.SkippedFlushesByStep[coherence.StepClean].Load(), "but counts it")
}

// board is where writers announce and readers look.
type board struct {
	home    *coherence.Home
	writing atomic.Int64 // writers that are not done
	reads   atomic.Int64 // what readers have read whole
	mu      sync.Mutex
	extents []publishedExtent
}

// leastReads is how much is read before writers are done: they may have written everything before a reader's first turn.
const leastReads = 100

func (b *board) write(ctx context.Context, random *rand.Rand, rounds int) error {
	for round := 0; ctx.Err() == nil && (round < rounds || b.reads.Load() < leastReads); round++ {
		g, err := b.home.Grant("t", "home", memregion.PageSize)
		if errors.Is(err, errFull) {
			if err := b.retireOldest(); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		copy(g.Bytes(), value(g.Generation(), int(g.Range().Offset), int(g.Range().End())))
		if random.IntN(5) == 0 {
			if err := g.Abort(); err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(g.Clean(), g.Seal(coherence.Seal{Length: memregion.PageSize}), b.home.Publish(g.Generation())); err != nil {
			return err
		}
		b.mu.Lock()
		b.extents = append(b.extents, publishedExtent{g.Generation(), g.Range()})
		b.mu.Unlock()
	}
	return nil
}

func (b *board) retireOldest() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.extents) == 0 {
		return nil
	}
	g := b.extents[0].generation
	b.extents = b.extents[1:]
	return b.home.Retire(g)
}

var errForeign = errors.New("C1: foreign bytes")

func (b *board) read(reader *coherence.Reader, random *rand.Rand) error {
	for b.writing.Load() > 0 {
		b.mu.Lock()
		if len(b.extents) == 0 {
			b.mu.Unlock()
			runtime.Gosched()
			continue
		}
		x := b.extents[random.IntN(len(b.extents))]
		b.mu.Unlock()
		gens := []coherence.Generation{x.generation}
		err := b.home.Pin("reader", gens)
		if errors.Is(err, coherence.ErrRetired) || errors.Is(err, coherence.ErrUnknown) {
			continue // retired between the look and the pin: a query would take a newer snapshot
		}
		if err != nil {
			return err
		}
		data := b.home.Bytes(x.memory)
		check := func() error {
			if string(data) != string(value(x.generation, int(x.memory.Offset), int(x.memory.End()))) {
				return errForeign
			}
			return nil
		}
		if err := reader.Acquire(context.Background(), 1, x.generation, data, check); err != nil {
			return err
		}
		if err := errors.Join(check(), b.home.Unpin("reader", gens)); err != nil {
			return err
		}
		b.reads.Add(1)
	}
	return nil
}

// TestReservationIsOnRecordFirst: however many grants run at once, no generation at or above the mark on record is ever
// handed out, and one reservation serves all waiters.
func TestReservationIsOnRecordFirst(t *testing.T) {
	m := newHeapMemory(256)
	var mark, calls, inside atomic.Uint64
	mark.Store(7)
	h := newHome(t, m, func(c *coherence.HomeConfig) {
		c.FirstGeneration = 7
		c.ReserveGenerations = func(upTo coherence.Generation) error {
			calls.Add(1)
			if inside.Add(1) > 1 {
				return errors.New("two reservations at once")
			}
			for range 1000 {
				runtime.Gosched() // the others reach the same point meanwhile
			}
			inside.Store(0)
			mark.Store(uint64(upTo))
			return nil
		}
	})
	var group errgroup.Group
	for range 8 {
		group.Go(func() error {
			for range 20 {
				g, err := h.Grant("t", "home", 1)
				if err != nil {
					return err
				}
				if uint64(g.Generation()) >= mark.Load() {
					return errors.New("a generation that is not on record")
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, uint64(1), calls.Load())
}
