// Package barrier finds out which commit was the last one, with one question for all that ask meanwhile.
//
//	Wait ─► running: asks the store ────────────────────► revision
//	Wait ─► next ─┐                                          │
//	Wait ─► next ─┴─► waits until that one is answered ─► one of them asks ─► revision of both
//
// A statement that is to see all that was committed before it has to ask the cluster's store, which asks a majority of
// its members. An answer is good for each question that was there before the store was asked, and for none that came
// later: what was committed in between would be missed. This is etcd's own batching of linearizable reads (its
// ReadIndex; Ongaro's thesis, section 6.4) one level above it, where the round trip and the encryption are saved, too.
//
// # Words
//
// A round is one question to the store, and those that wait for its answer. One of them leads it: it asks.
//
// # Lock order
//
// Barrier.mu is a leaf: the store is not asked under it.
//
// # Invariants
//
//   - BR1: the store is asked after Wait was called, and before it returns without an error.
//   - BR2: that a leader's context ends is no failure of those that wait with it: another one of them asks.
//   - BR3: one round asks at a time, and one waits.
//
// # What it does not do
//
// It starts no goroutine, and does not wait until a node sees the commit.
package barrier

import (
	"context"
	"sync"

	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/store"
)

// Barrier asks for all that wait. Safe for concurrent use.
type Barrier struct {
	// Store is what is asked.
	Store interface {
		Get(ctx context.Context, key string) (store.Item, bool, error)
	}

	mu            sync.Mutex
	running, next *round // guarded by mu; nil: there is none
}

// round is one question.
type round struct {
	turn    chan struct{} // holds one element while the round is to be led
	done    chan struct{} // closed when it was asked; revision, err and left are final then
	waiting int           // guarded by Barrier.mu; those that could lead it
	led     bool          // guarded by Barrier.mu

	revision store.Revision
	err      error
	left     bool // its leader's context ended
}

// Wait gives the revision of the last commit that was acknowledged before the call, or a later one.
func (b *Barrier) Wait(ctx context.Context) (store.Revision, error) {
	for {
		r := b.enter()
		select {
		case <-r.turn:
			return b.lead(ctx, r)
		case <-r.done:
			if !r.left {
				return r.revision, r.err
			}
		case <-ctx.Done():
			b.leave(r)
			return 0, ctx.Err()
		}
	}
}

// enter takes part in the round that was not asked yet.
func (b *Barrier) enter() *round {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = &round{turn: make(chan struct{}, 1), done: make(chan struct{})}
	}
	r := b.next
	r.waiting++
	if b.running == nil {
		b.advance()
	}
	return r
}

// advance begins the next round, if there is one. Requires: mu.
func (b *Barrier) advance() {
	b.running, b.next = b.next, nil
	if b.running != nil {
		b.running.turn <- struct{}{}
	}
}

// lead asks for a round.
func (b *Barrier) lead(ctx context.Context, r *round) (store.Revision, error) {
	b.mu.Lock()
	r.led = true
	b.mu.Unlock()
	r.left = true // if the store panics, too
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		close(r.done)
		b.advance()
	}()
	item, _, err := b.Store.Get(ctx, keys.Commit)
	r.revision, r.err = item.Revision, err
	r.left = r.err != nil && ctx.Err() != nil
	return r.revision, r.err
}

// leave has one that waited go. A round that is to be led by none is over.
func (b *Barrier) leave(r *round) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.waiting--
	switch {
	case r.waiting > 0 || r.led:
	case r == b.next:
		b.next = nil
	case r == b.running:
		b.advance()
	}
}
