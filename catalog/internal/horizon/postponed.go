package horizon

import (
	"iter"
	"slices"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/memregion"
)

// Postponed is dead extents that other nodes may still read.
type Postponed struct{ batches []batch }

// batch is what died at one revision.
type batch struct {
	died    store.Revision
	extents []descriptor.ExtentID
	held    uint64 // of which of History.Holds all extents that are due were found
}

// Add postpones what died at a revision.
func (p *Postponed) Add(died store.Revision, extents []descriptor.ExtentID) {
	if len(extents) > 0 {
		p.batches = append(p.batches, batch{died: died, extents: extents})
	}
}

// All are the extents.
func (p *Postponed) All() iter.Seq[descriptor.ExtentID] {
	return func(yield func(descriptor.ExtentID) bool) {
		for i := range p.batches {
			for _, id := range p.batches[i].extents {
				if !yield(id) {
					return
				}
			}
		}
	}
}

// Due lists what no node reads any more: all nodes' floors have passed its death, and nothing that they hold had it.
// Each extent is due once. What lies in a region that is not this node's is forgotten.
func (p *Postponed) Due(h *History, floor store.Revision, own func(memregion.RegionID) bool) (due []descriptor.ExtentID) {
	for i := range p.batches {
		b := &p.batches[i]
		if b.died > floor || b.held == h.holds {
			continue
		}
		b.held = h.holds
		b.extents = slices.DeleteFunc(b.extents, func(id descriptor.ExtentID) bool { return !own(id.Region) })
		for _, id := range b.extents {
			if !h.Had(id, b.died) {
				due = append(due, id)
			}
		}
	}
	return due
}

// Remove forgets extents, as those that were due and are retired now.
func (p *Postponed) Remove(ids []descriptor.ExtentID) {
	gone := make(map[descriptor.ExtentID]bool, len(ids))
	for _, id := range ids {
		gone[id] = true
	}
	for i := range p.batches {
		b := &p.batches[i]
		b.extents = slices.DeleteFunc(b.extents, func(id descriptor.ExtentID) bool { return gone[id] })
	}
	p.batches = slices.DeleteFunc(p.batches, func(b batch) bool { return len(b.extents) == 0 })
}
