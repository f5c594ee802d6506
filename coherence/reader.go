package coherence

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/csmsql/csmsql/memregion"
)

// readerShards bounds how many scan threads meet at one lock. Generations of one table follow each other, so they
// spread evenly.
const readerShards = 64

// shardHeld bounds what one shard remembers: 262,144 writings in all, some 15 MB. A lender's Reader releases
// generations that are over (HomeConfig.Reader) and stays far below. A borrower's does not learn of them, and forgets
// half of a shard when it is full.
const shardHeld = 4096

// Reader drives the reader's side of the protocol in one process of a domain, for all regions of one class. Safe for
// concurrent use.
type Reader struct {
	flusher Flusher
	count   *Counters
	bound   int // of writings in one shard; immutable
	shards  [readerShards]readerShard
}

type readerShard struct {
	mu      sync.RWMutex
	core    *ReaderCore                // guarded by mu
	flights map[Writing]*acquireFlight // guarded by mu
	_       [64]byte                   // no two shards' locks in one line
}

// acquireFlight is one acquire that others wait for.
type acquireFlight struct {
	done chan struct{}
	err  error // written before done is closed
}

// NewReader returns a Reader that has acquired nothing. lines may be nil on coherent fabrics, counters always.
// It panics if lines is nil on a fabric that needs them: without a flush every later read could be wrong.
func NewReader(class Class, lines Lines, counters *Counters) *Reader {
	if lines == nil && class.pays() {
		panic(fmt.Sprintf("coherence: a reader of an %v fabric needs lines to flush", class))
	}
	if counters == nil {
		counters = &Counters{}
	}
	r := &Reader{flusher: Flusher{lines, counters}, count: counters, bound: shardHeld}
	for i := range r.shards {
		r.shards[i].core = NewReaderCore(class)
		r.shards[i].flights = map[Writing]*acquireFlight{}
	}
	return r
}

func (r *Reader) shard(w Writing) *readerShard {
	return &r.shards[(uint64(w.Generation)^uint64(w.Region)<<3)%readerShards]
}

// Acquire makes data, the bytes of (region, gen) that will be loaded, safe to load in this process (step 6). It must be
// called after the descriptor arrived and while the domain pins gen. The first use fences, flushes, fences and
// verifies; later uses are a look-up. Concurrent first uses are one; a failed acquire is not remembered.
//
// verify may be nil. An error of it that wraps ErrChecksum is tried again, MaxAttempts in all; any other ends the
// acquire. Errors are *AcquireError, or ctx's.
func (r *Reader) Acquire(ctx context.Context, region memregion.RegionID, gen Generation, data []byte,
	verify func() error) error {
	w := Writing{region, gen}
	s := r.shard(w)
	s.mu.RLock()
	held := s.core.Held(w)
	s.mu.RUnlock()
	if held {
		r.count.Reacquires.Add(1)
		return nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		list, flight, first := r.begin(s, w)
		switch {
		case first:
			return r.lead(ctx, s, w, flight, list, data, verify)
		case flight == nil:
			r.count.Reacquires.Add(1)
			return nil
		}
		select {
		case <-flight.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		// The leader's own cancellation is no answer for others: one of them leads next. After a success the next
		// round finds it held, or released already and then needs its own acquire.
		if flight.err != nil && !isCancellation(flight.err) {
			return flight.err
		}
	}
}

func isCancellation(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// begin enters an acquire: the first one gets the actions and leads, others get the flight to wait for. If it is held
// already, there is neither.
func (r *Reader) begin(s *readerShard, w Writing) (list []Action, flight *acquireFlight, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list = s.core.Acquire(w)
	if s.core.Len() > r.bound {
		r.count.Releases.Add(uint64(s.core.Shed(r.bound / 2)))
	}
	switch {
	case len(list) == 0:
		return nil, nil, false
	case list[0].Kind == ActionWait:
		return nil, s.flights[w], false // never nil: flights live exactly as long as the core waits
	}
	flight = &acquireFlight{done: make(chan struct{}), err: errors.New("coherence: verify panicked")}
	s.flights[w] = flight
	return list, flight, true
}

// lead runs the attempts of a first use and wakes the waiters, also if verify panics (C6).
func (r *Reader) lead(ctx context.Context, s *readerShard, w Writing, flight *acquireFlight, list []Action, data []byte,
	verify func() error) error {
	settled := false
	defer func() {
		if !settled {
			s.giveUp(w)
		}
		close(flight.done)
	}()
	var err error
	attempts := 0
	for again := true; again; {
		attempts++
		err = r.attempt(list, data, verify)
		if errors.Is(err, ErrChecksum) {
			r.count.Mismatches.Add(1)
		}
		if list, again = s.outcome(w, err); !again {
			settled = true
		} else if cancelled := ctx.Err(); cancelled != nil {
			err, again = cancelled, false
		}
	}
	flight.err = r.report(w, attempts, err)
	return flight.err
}

// attempt does fence, flush, fence and verify.
func (r *Reader) attempt(list []Action, data []byte, verify func() error) error {
	for _, a := range list {
		if a.Kind == ActionVerify {
			if verify != nil {
				return verify()
			}
			return nil
		}
		r.flusher.Do(a, data)
	}
	return nil
}

// outcome reports to the core how an attempt ended and returns the next one's actions, if there is one. The flight ends
// in the same critical section: right afterwards the same writing may have another one.
func (s *readerShard) outcome(w Writing, err error) (list []Action, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.core.Verified(w)
	case errors.Is(err, ErrChecksum):
		if list = s.core.Mismatched(w); list[0].Kind != ActionGiveUp {
			return list, true
		}
	default:
		s.core.Failed(w)
	}
	delete(s.flights, w)
	return nil, false
}

// giveUp ends an acquire whose leader was cancelled between two attempts, or whose verify panicked.
func (s *readerShard) giveUp(w Writing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.core.Failed(w)
	delete(s.flights, w)
}

func (r *Reader) report(w Writing, attempts int, err error) error {
	if err == nil {
		r.count.Acquires.Add(1)
		return nil
	}
	r.count.AcquireFails.Add(1)
	return &AcquireError{Region: w.Region, Generation: w.Generation, Attempts: attempts, Err: err}
}

// Release lets writings go: this process loads from them no more (step 8). Those that are not held are passed over.
// It comes before the domain's Unpin, never after.
func (r *Reader) Release(region memregion.RegionID, gens ...Generation) {
	released := 0
	for _, g := range gens {
		w := Writing{region, g}
		s := r.shard(w)
		s.mu.Lock()
		if s.core.Release(w) {
			released++
		}
		s.mu.Unlock()
	}
	r.count.Releases.Add(uint64(released))
}

// Forget releases everything of a region and returns how much it was. An acquire under way ends as it would, and is
// not remembered.
func (r *Reader) Forget(region memregion.RegionID) (released int) {
	released = r.forget(region)
	r.count.Releases.Add(uint64(released))
	return released
}

// Invalidate is Forget of a region whose bytes another process may have altered: what goes on reading must acquire
// again, and be given a verify.
func (r *Reader) Invalidate(region memregion.RegionID) (invalidated int) {
	invalidated = r.forget(region)
	r.count.Invalidated.Add(uint64(invalidated))
	return invalidated
}

func (r *Reader) forget(region memregion.RegionID) (released int) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		released += s.core.Forget(region)
		s.mu.Unlock()
	}
	return released
}

// Held is how many writings are held or being acquired.
func (r *Reader) Held() (held int) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.RLock()
		held += s.core.Len()
		s.mu.RUnlock()
	}
	return held
}
