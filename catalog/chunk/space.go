package chunk

import (
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Space is a region that grants extents: a lender's, local or remote.
type Space interface {
	// Region is where the extents lie.
	Region() memregion.RegionID
	// Grant hands out at least size bytes to one writer. A full region or quota is an error with SQLSTATE 53200.
	Grant(owner string, size int64) (Grant, error)
	// Discard gives back sealed generations that will not be published.
	Discard(generations ...coherence.Generation) error
}

// Home is the Space of a lender in this process.
type Home struct{ *coherence.Home }

// Grant implements Space; the writer is the lender's own domain.
func (h Home) Grant(owner string, size int64) (Grant, error) {
	g, err := h.Home.Grant(owner, h.Domain(), size)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// Grant is the right to write one extent once. The steps are those of docs/coherence.md: write, (shrink,) clean, seal;
// or abort.
type Grant interface {
	// Bytes is the extent's memory; writable until Clean. It starts on a LineSize boundary.
	Bytes() []byte
	Range() memregion.Range
	Generation() coherence.Generation
	// Copy stores from at offset at of Bytes, in the fastest way into the grant's fabric: on one that is not
	// coherent, stores that go past the caches, or a flush in the same pass (coherence.Path). Nothing is stored
	// there again. near: what was stored may be in the caches, as after ordinary stores. It is no
	// optional method, since what stands before another Grant would hide it.
	Copy(at int64, from []byte) (near bool, err error)
	// Shrink gives the tail after length bytes back; length is a multiple of PageSize.
	Shrink(length int64) error
	Clean() error
	Seal(seal coherence.Seal) error
	Abort() error
}

// Growing is a Grant whose lender can move it into a longer extent, and copies the content itself, because it is
// next to the memory (thesis §3.8.1). Optional.
type Growing interface {
	// Grow makes the extent at least length bytes long and keeps its first used ones; what follows is undefined. Bytes,
	// Range and Generation are others afterwards, and slices of the former Bytes must not be touched. An error leaves
	// everything as it was.
	Grow(length, used int64) error
}
