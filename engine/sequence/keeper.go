package sequence

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Counters keep counters: the catalog.
type Counters interface {
	Counter(ctx context.Context, id catalog.CounterID) (*catalog.Count, error)
	ChangeCounter(ctx context.Context, id catalog.CounterID, change func(*catalog.Count) (*catalog.Count, error)) error
	SetCounter(ctx context.Context, id catalog.CounterID, change func(*catalog.Count) (*catalog.Count, error)) error
}

// A range has at first as many values as PostgreSQL logs ahead, and each one twice as many as the one before it, while
// one sequence is asked for so many; but no more than a part of those that are left, so that gaps cost little.
const (
	rangeFirst = 32
	rangeMost  = 1024
	rangePart  = 64
)

// Keeper hands out the values that a node has reserved. Safe for concurrent use.
type Keeper struct {
	counters Counters
	mu       sync.Mutex
	held     map[catalog.CounterID]*held // guarded by mu
}

// held is what the node has of one counter.
type held struct {
	stale atomic.Bool // another session may have set the counter
	mu    sync.Mutex  // guards the rest; held while the store is asked

	by       Definition     // the one that the range belongs to
	values   int64          // left in it
	next     int64          // the first of them
	size     int64          // of the range
	before   *catalog.Count // of the counter, when it was reserved
	reserved catalog.Count  // likewise, behind it
	last     int64          // that was handed out here
	given    bool           // last is known
	begun    bool           // a value of the range was handed out
}

// NewKeeper keeps what it reserves until Close. It has nothing to reserve from before Over.
func NewKeeper() *Keeper { return &Keeper{held: map[catalog.CounterID]*held{}} }

// Over says where the counters are, before anything but Set is called.
func (k *Keeper) Over(counters Counters) { k.counters = counters }

func (k *Keeper) of(id catalog.CounterID) *held {
	k.mu.Lock()
	defer k.mu.Unlock()
	h := k.held[id]
	if h == nil {
		h = &held{}
		k.held[id] = h
	}
	return h
}

// Set says that another node may have set a counter, 0: any. It does not block.
func (k *Keeper) Set(id catalog.CounterID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for other, h := range k.held {
		if id == 0 || id == other {
			h.stale.Store(true)
		}
	}
}

// Next hands out n values. name is for errors.
func (k *Keeper) Next(ctx context.Context, id catalog.CounterID, d Definition, name string, n int) ([]int64, error) {
	h := k.of(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := k.refresh(ctx, id, h, d); err != nil {
		return nil, err
	}
	out := make([]int64, 0, n)
	for len(out) < n {
		if h.values == 0 {
			if err := k.reserve(ctx, id, h, d, name, int64(n-len(out))); err != nil {
				return nil, err
			}
		}
		out = append(out, h.next)
		h.last, h.given, h.begun = h.next, true, true
		if h.values--; h.values > 0 { // the one behind the last may be out of range
			h.next += d.Increment
		}
	}
	return out, nil
}

// refresh gives up a range that does not count any more: the counter was set, or the sequence changed.
func (k *Keeper) refresh(ctx context.Context, id catalog.CounterID, h *held, d Definition) error {
	if h.stale.Load() {
		h.stale.Store(false)
		now, err := k.counters.Counter(ctx, id)
		if err != nil {
			h.stale.Store(true)
			return err
		}
		if h.values > 0 && (now == nil || now.Set != h.reserved.Set) {
			h.values = 0
		}
		if now != nil && now.Set != h.reserved.Set {
			h.given = false
		}
	}
	if h.values > 0 && !sameSteps(h.by, d) {
		return k.giveBack(ctx, id, h)
	}
	return nil
}

func sameSteps(a, b Definition) bool {
	return a.Increment == b.Increment && a.Min == b.Min && a.Max == b.Max && a.Cycle == b.Cycle
}

// reserve makes a range of at least one value, and of least if there are so many.
func (k *Keeper) reserve(ctx context.Context, id catalog.CounterID, h *held, d Definition, name string,
	least int64) error {
	size := min(max(2*h.size, rangeFirst), rangeMost)
	size = max(size, least, d.Cached)
	var first, count int64
	var before *catalog.Count
	var after catalog.Count
	err := k.counters.ChangeCounter(ctx, id, func(now *catalog.Count) (*catalog.Count, error) {
		before = now
		if now == nil {
			now = &catalog.Count{Last: d.First}
		}
		var err error
		if first, err = d.following(now, name); err != nil {
			return nil, err
		}
		left := d.left(first)
		count = int64(min(left, uint64(max(least, d.Cached, min(size, int64(min(left/rangePart, rangeMost)))))))
		after = catalog.Count{Last: first + (count-1)*d.Increment, Given: true, Set: now.Set}
		return &after, nil
	})
	if err != nil {
		return err
	}
	h.by, h.next, h.values, h.size, h.before, h.reserved, h.begun = d, first, count, count, before, after, false
	return nil
}

// following is the value behind those of a count.
func (d *Definition) following(now *catalog.Count, name string) (int64, error) {
	next := now.Last
	over := false
	if now.Given {
		next += d.Increment
		over = d.Increment > 0 && next < now.Last || d.Increment < 0 && next > now.Last
	}
	switch {
	case d.Increment > 0 && (over || next > d.Max):
		if !d.Cycle {
			return 0, sqlerror.New("2200H", "nextval: reached maximum value of sequence %q (%d)", name, d.Max)
		}
		return d.Min, nil
	case d.Increment < 0 && (over || next < d.Min):
		if !d.Cycle {
			return 0, sqlerror.New("2200H", "nextval: reached minimum value of sequence %q (%d)", name, d.Min)
		}
		return d.Max, nil
	}
	return next, nil
}

// left is how many values there are from one on, with it.
func (d *Definition) left(from int64) uint64 {
	if d.Increment > 0 {
		return uint64(d.Max-from)/uint64(d.Increment) + 1
	}
	return uint64(from-d.Min)/-uint64(d.Increment) + 1
}

// giveBack sets the counter back to what was handed out, if no other node has reserved behind the range. The range is
// gone in any case: if the answer is lost, others may have it.
func (k *Keeper) giveBack(ctx context.Context, id catalog.CounterID, h *held) error {
	if h.values == 0 {
		return nil
	}
	h.values, h.size = 0, 0
	return k.counters.ChangeCounter(ctx, id, func(now *catalog.Count) (*catalog.Count, error) {
		switch {
		case now == nil || *now != h.reserved:
			return nil, nil
		case h.begun:
			return &catalog.Count{Last: h.last, Given: true, Set: now.Set}, nil
		case h.before != nil:
			return h.before, nil
		}
		return &catalog.Count{Last: h.by.First}, nil
	})
}

// SetTo has the sequence go on with value, or, if it counts as called, behind it.
func (k *Keeper) SetTo(ctx context.Context, id catalog.CounterID, d Definition, name string, value int64,
	called bool) error {
	if value < d.Min || value > d.Max {
		return sqlerror.New("22003", "setval: value %d is out of bounds for sequence %q (%d..%d)", value, name, d.Min,
			d.Max)
	}
	h := k.of(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	var after catalog.Count
	err := k.counters.SetCounter(ctx, id, func(now *catalog.Count) (*catalog.Count, error) {
		after = catalog.Count{Last: value, Given: called, Set: 1}
		if now != nil {
			after.Set = now.Set + 1
		}
		return &after, nil
	})
	if err == nil || errors.Is(err, catalog.ErrOutcomeUnknown) {
		h.values, h.given, h.reserved = 0, false, after
	}
	return err
}

// State is the last value that was handed out, as far as this node knows, or, unless it is given, the one that comes
// first.
func (k *Keeper) State(ctx context.Context, id catalog.CounterID, d Definition) (last int64, given bool, err error) {
	h := k.of(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := k.refresh(ctx, id, h, d); err != nil {
		return 0, false, err
	}
	if h.given {
		return h.last, true, nil
	}
	now, err := k.counters.Counter(ctx, id)
	if err != nil {
		return 0, false, err
	}
	if now == nil {
		return d.First, false, nil
	}
	return now.Last, now.Given, nil
}

// Reserved is the last value that any node has reserved, and so may have handed out; false: none has any.
func (k *Keeper) Reserved(ctx context.Context, id catalog.CounterID) (last int64, any bool, err error) {
	now, err := k.counters.Counter(ctx, id)
	if err != nil || now == nil {
		return 0, false, err
	}
	return now.Last, now.Given, nil
}

// closeWithin bounds how long Close asks the store: what it does not give back is a gap.
const closeWithin = 5 * time.Second

// Close gives back what was reserved and not handed out, as far as others have not gone on from there. Next is not
// called any more.
func (k *Keeper) Close(log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, h := range k.held {
		h.mu.Lock()
		err := k.giveBack(ctx, id, h)
		h.mu.Unlock()
		if err != nil {
			log.Warn("values of sequences that were reserved are lost", "error", err)
			return
		}
	}
}
