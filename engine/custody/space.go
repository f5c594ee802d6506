package custody

import (
	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
)

// Space is a space whose grants are the holder's, from before the call for them ends (H1). A grant that was sealed
// stays the holder's until Book.Over.
func (h *Holder) Space(space catalog.Space) catalog.Space { return spaceOf{space, h} }

type spaceOf struct {
	catalog.Space
	holder *Holder
}

// Grant implements catalog.Space.
func (s spaceOf) Grant(owner string, size int64) (granted catalog.Grant, err error) {
	b := s.holder.book
	call, id := b.begin(), (*catalog.ExtentID)(nil)
	defer func() { b.end(call, s.holder, id) }()
	g, err := s.Space.Grant(owner, size)
	if err != nil {
		return nil, err
	}
	id = s.id(g)
	b.Fault.At(faults.HoldGranted)
	made := grant{Grant: g, space: s}
	if _, ok := g.(chunk.Growing); ok {
		return &growingGrant{made}, nil
	}
	return &made, nil
}

func (s spaceOf) id(g catalog.Grant) *catalog.ExtentID {
	return &catalog.ExtentID{Region: s.Region(), Generation: g.Generation()}
}

// Discard implements catalog.Space.
func (s spaceOf) Discard(generations ...coherence.Generation) error {
	ids := make([]catalog.ExtentID, len(generations))
	for i, g := range generations {
		ids[i] = catalog.ExtentID{Region: s.Region(), Generation: g}
	}
	err := s.Space.Discard(generations...)
	s.holder.book.GivenBack(ids...) // also if it failed: they are unowned here
	return err
}

type grant struct {
	catalog.Grant
	space  spaceOf
	sealed bool
}

// Seal implements catalog.Grant.
func (g *grant) Seal(seal coherence.Seal) error {
	err := g.Grant.Seal(seal)
	g.sealed = g.sealed || err == nil
	return err
}

// Abort implements catalog.Grant. After Seal it does nothing. Whatever its error is, there is no window afterwards; if
// the extent lives all the same, the audit finds it.
func (g *grant) Abort() error {
	id := g.space.id(g)
	err := g.Grant.Abort()
	if !g.sealed {
		g.space.holder.book.GivenBack(*id)
	}
	return err
}

type growingGrant struct{ grant }

// Grow implements chunk.Growing: another extent is in the place of the one before.
func (g *growingGrant) Grow(length, used int64) error {
	b, before := g.space.holder.book, g.space.id(g)
	call, id := b.begin(), (*catalog.ExtentID)(nil)
	defer func() { b.end(call, g.space.holder, id) }()
	err := g.Grant.(chunk.Growing).Grow(length, used)
	if now := g.space.id(g); *now != *before { // also if the former one could not be given back
		id = now
		b.Over(*before)
	}
	return err
}
