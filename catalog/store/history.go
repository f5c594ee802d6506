package store

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// What a history keeps at most; of the newest transaction everything. Who watches is in this process, and some commits
// behind; a byte here is two of the process' memory, because Go's collector lets what is in use double.
const (
	historyChanges = 1024
	historyBytes   = 1 << 20
)

// history remembers the newest changes of a store in this process, for its watches (S6).
type history struct {
	mu      sync.Mutex
	changes []Change      // guarded by mu; revisions ascend; a change in it is never written again
	bytes   int           // guarded by mu; of keys and values in changes
	from    Revision      // guarded by mu; changes has everything that is newer than this
	grown   chan struct{} // guarded by mu; closed and replaced when changes grew
}

// begin says that the store is at a revision and that nothing of before is known.
func (h *history) begin(at Revision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes, h.bytes, h.from = nil, 0, at
	h.notify()
}

// add remembers a change, which is newer than all before and not written afterwards.
func (h *history) add(c Change) {
	c.Sort()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changes = append(h.changes, c)
	h.bytes += c.size()
	for len(h.changes) > 1 && (len(h.changes) > historyChanges || h.bytes > historyBytes) {
		h.forgetOldest()
	}
	h.notify()
}

// forgetOldest requires mu.
func (h *history) forgetOldest() {
	oldest := h.changes[0]
	h.from, h.bytes = oldest.Revision, h.bytes-oldest.size()
	h.changes[0] = Change{} // the array lives on until it is full
	h.changes = h.changes[1:]
}

// forget drops what happened up to a revision.
func (h *history) forget(upTo Revision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.changes) > 0 && h.changes[0].Revision <= upTo {
		h.forgetOldest()
	}
	h.from = max(h.from, upTo)
}

// notify wakes the watches. Requires mu.
func (h *history) notify() {
	if h.grown != nil {
		close(h.grown)
	}
	h.grown = make(chan struct{})
}

func (c Change) size() (bytes int) {
	for _, put := range c.Puts {
		bytes += len(put.Key) + len(put.Value)
	}
	for _, key := range c.Deletes {
		bytes += len(key)
	}
	return bytes
}

// since returns what is newer than after, and a channel that is closed when there is more.
func (h *history) since(after Revision) ([]Change, <-chan struct{}, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if after < h.from {
		return nil, nil, fmt.Errorf("%w: it knows what happened after revision %d, not after %d", ErrCompacted, h.from, after)
	}
	if h.grown == nil {
		h.grown = make(chan struct{})
	}
	first, _ := slices.BinarySearchFunc(h.changes, after+1, func(c Change, r Revision) int { return int(c.Revision - r) })
	return slices.Clone(h.changes[first:]), h.grown, nil
}

// watch is Watch of the stores in this process; closed ends it.
func (h *history) watch(ctx context.Context, closed <-chan struct{}, prefixes []string, after Revision,
	apply func(Change) error) error {
	for {
		changes, grown, err := h.since(after)
		if err != nil {
			return err
		}
		for _, c := range changes {
			if err := over(ctx, closed); err != nil {
				return err
			}
			if some, ok := c.below(prefixes); ok {
				if err := apply(some); err != nil {
					return err
				}
			}
			after = c.Revision
		}
		select {
		case <-grown:
		case <-ctx.Done():
		case <-closed:
		}
		if err := over(ctx, closed); err != nil {
			return err
		}
	}
}

// over returns why a watch ends, if it does.
func over(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return ErrClosed
	default:
		return ctx.Err()
	}
}
