package horizon

import (
	"cmp"
	"iter"
	"maps"
	"slices"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// HeldMost bounds how many revisions a node reports as held: of more, the floor is the next one.
const HeldMost = 16

// remembered is of how many changes the marks are kept; a node reports what it holds within a few of them.
const remembered = 4096

// Reads is what a node reads. The zero value reads everything.
type Reads struct {
	Held  [HeldMost]store.Revision // ascending, below Floor; 0 where there are no more
	Floor store.Revision
}

// Of returns the reads of a node that has taken a revision over last, and whose snapshots have these.
func Of(current store.Revision, snapshots []store.Revision) (r Reads) {
	slices.Sort(snapshots)
	snapshots = slices.Compact(snapshots)
	r.Floor = current
	for i, at := range snapshots {
		if at >= current {
			break
		}
		if i == HeldMost {
			r.Floor = at
			break
		}
		r.Held[i] = at
	}
	return r
}

// All are the held revisions.
func (r Reads) All() []store.Revision {
	n := slices.Index(r.Held[:], 0)
	if n < 0 {
		n = HeldMost
	}
	return r.Held[:n]
}

// Oldest is the oldest revision that is read.
func (r Reads) Oldest() store.Revision {
	if r.Held[0] != 0 {
		return r.Held[0]
	}
	return r.Floor
}

// Marks are those of regions at one revision. They are not changed, but replaced.
type Marks map[memregion.RegionID]coherence.Generation

// History is the marks of the last changes, and of what other nodes hold.
type History struct {
	last    Marks
	changes []change                 // in order, none left out between them
	held    map[store.Revision]Marks // nil: not known
	holds   uint64                   // from 1, grows with each change of held
}

type change struct {
	at    store.Revision
	marks Marks
}

// Begin knows no change, and that no extent of a region has a generation above its mark so far.
func Begin(marks Marks) *History { return &History{last: marks, holds: 1} }

// Missed forgets the changes: others came behind them that are not known. Of what is held, what is known stays.
func (h *History) Missed() { h.changes = nil }

// Took notes a change that was taken over, with the extents that came by it.
func (h *History) Took(at store.Revision, came iter.Seq[descriptor.ExtentID]) {
	cloned := false
	for id := range came {
		if id.Generation <= h.last[id.Region] {
			continue
		}
		if !cloned {
			h.last, cloned = maps.Clone(h.last), true
		}
		h.last[id.Region] = id.Generation
	}
	if len(h.changes) == 2*remembered {
		h.changes = slices.Delete(h.changes, 0, remembered)
	}
	h.changes = append(h.changes, change{at, h.last})
}

// Hold says what other nodes hold. Each revision is older than the last change that was taken over.
func (h *History) Hold(held []store.Revision) {
	now, same := make(map[store.Revision]Marks, len(held)), true
	for _, at := range held {
		marks, known := h.held[at]
		if !known {
			same = false
			marks = h.marksAt(at)
		}
		now[at] = marks
	}
	if !same || len(now) != len(h.held) {
		h.held = now
		h.holds++
	}
}

// marksAt returns nil if they are not known (HZ3).
func (h *History) marksAt(at store.Revision) Marks {
	i, found := slices.BinarySearchFunc(h.changes, at, func(c change, at store.Revision) int { return cmp.Compare(c.at, at) })
	switch {
	case found:
		return h.changes[i].marks
	case i == 0:
		return nil
	}
	return h.changes[i-1].marks
}

// Holds grows whenever what is held is another: what Had has answered stays so until then.
func (h *History) Holds() uint64 { return h.holds }

// Had reports whether a revision that is held may have had an extent, which died later than that (HZ2).
func (h *History) Had(id descriptor.ExtentID, died store.Revision) bool {
	for at, marks := range h.held {
		if at < died && (marks == nil || id.Generation <= marks[id.Region]) {
			return true
		}
	}
	return false
}
