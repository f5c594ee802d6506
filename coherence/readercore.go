package coherence

import (
	"cmp"
	"slices"

	"github.com/csmsql/csmsql/memregion"
)

// MaxAttempts bounds how often an acquire runs flush and verify before it fails (C6). One retry cures what a flush can
// cure; a second guards against a line fetched between two of them; more would only hide damaged memory.
const MaxAttempts = 3

// Writing names one writing of one extent for ever. Readers remember by it and never by address: the same address
// carries another writing after the next grant.
type Writing struct {
	Region     memregion.RegionID
	Generation Generation
}

// reading is what a domain knows about one writing. Absence from the table is "never acquired, or released".
type reading struct {
	held      bool // acquired; otherwise being acquired
	forgotten bool // released while being acquired: not to be remembered
	attempts  int
}

// ReaderCore is the reader's side in one domain: which writings were acquired. Not safe for concurrent use; Reader is
// the driver that is.
type ReaderCore struct {
	class Class
	known map[Writing]*reading
}

// NewReaderCore returns one that has acquired nothing.
func NewReaderCore(class Class) *ReaderCore {
	return &ReaderCore{class: class, known: map[Writing]*reading{}}
}

// Held reports whether w was acquired and not released: loads may begin.
func (c *ReaderCore) Held(w Writing) bool {
	r := c.known[w]
	return r != nil && r.held
}

// Acquire is step 6: no action if w is held, ActionWait if another acquire of it is under way, else the first attempt.
// The range of the flush is the caller's data. It must be called after the descriptor arrived and before the first
// load.
func (c *ReaderCore) Acquire(w Writing) []Action {
	switch r := c.known[w]; {
	case r == nil:
		c.known[w] = &reading{attempts: 1}
		return c.attempt(w)
	case r.held:
		return nil
	}
	return []Action{{Kind: ActionWait, Generation: w.Generation}}
}

// attempt fences on both sides: the first keeps the flush behind the message that brought the descriptor, the second
// keeps loads behind the flush. A store fence would not do: it does not order loads.
func (c *ReaderCore) attempt(w Writing) []Action {
	list := fenceFlushFence(make([]Action, 0, 4), c.class, StepAcquire, ActionFenceFull, w.Generation, memregion.Range{})
	return append(list, Action{Kind: ActionVerify, Generation: w.Generation})
}

// Verified ends an acquire well.
func (c *ReaderCore) Verified(w Writing) {
	if r := c.acquiring(w); r.forgotten {
		delete(c.known, w)
	} else {
		r.held = true
	}
}

// Mismatched answers a wrong checksum with another attempt, or with ActionGiveUp.
func (c *ReaderCore) Mismatched(w Writing) []Action {
	r := c.acquiring(w)
	if r.attempts >= MaxAttempts {
		delete(c.known, w)
		return []Action{{Kind: ActionGiveUp, Generation: w.Generation}}
	}
	r.attempts++
	return c.attempt(w)
}

// Failed ends an acquire for another reason. It is not remembered: the next one starts afresh.
func (c *ReaderCore) Failed(w Writing) {
	c.acquiring(w)
	delete(c.known, w)
}

func (c *ReaderCore) acquiring(w Writing) *reading {
	r := c.known[w]
	if r == nil || r.held {
		panic("coherence: outcome of an acquire that was not begun")
	}
	return r
}

// Release is step 8 and says whether w was held.
func (c *ReaderCore) Release(w Writing) bool {
	r := c.known[w]
	if r == nil {
		return false
	}
	if !r.held {
		r.forgotten = true
		return false
	}
	delete(c.known, w)
	return true
}

// Forget releases everything of a region: it was detached, or its lender is gone.
func (c *ReaderCore) Forget(region memregion.RegionID) (released int) {
	for w := range c.known {
		if w.Region == region && c.Release(w) {
			released++
		}
	}
	return released
}

// Shed releases the oldest writings that are held until at most keep are known, as far as that goes, and returns how
// many it released. A writing should be released when its memory goes back. A reader that does not learn of that sheds:
// low generations are the likeliest to be over, and one that is not is acquired again.
func (c *ReaderCore) Shed(keep int) (released int) {
	if len(c.known) <= keep {
		return 0
	}
	held := make([]Writing, 0, len(c.known))
	for w, r := range c.known {
		if r.held {
			held = append(held, w)
		}
	}
	slices.SortFunc(held, func(a, b Writing) int { // the region only makes the order total
		return cmp.Or(cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.Region, b.Region))
	})
	for _, w := range held[:min(len(held), len(c.known)-keep)] {
		delete(c.known, w)
		released++
	}
	return released
}

// Len is how many writings are held or being acquired.
func (c *ReaderCore) Len() int { return len(c.known) }
