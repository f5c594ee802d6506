package descriptor

import (
	"fmt"
	"iter"

	"github.com/csmsql/csmsql/catalog/internal/message"
)

// Header is the part of a descriptor that the catalog's bookkeeping needs.
type Header struct {
	Rows    int64
	Owner   string
	Extents []Extent   // of the first replica
	Others  [][]Extent // of the others
}

// All visits the extents of all replicas, those of the first one first.
func (h *Header) All() iter.Seq[*Extent] {
	return func(yield func(*Extent) bool) {
		for i := range h.Extents {
			if !yield(&h.Extents[i]) {
				return
			}
		}
		for _, other := range h.Others {
			for i := range other {
				if !yield(&other[i]) {
					return
				}
			}
		}
	}
}

// Peek reads the header of an encoded descriptor and skips the rest, twenty times faster than Decode. What it
// returns is not validated: it is for descriptors that this catalog wrote itself.
func Peek(data []byte) (Header, error) {
	var h Header
	r := message.NewReader(data)
	for r.Next() {
		switch r.Field() {
		case chunkRows:
			h.Rows = r.Int()
		case chunkOwner:
			h.Owner = r.String()
		case chunkExtents:
			if len(h.Extents) >= MaxExtents {
				return h, fmt.Errorf("%w: more than %d extents", ErrCorrupt, MaxExtents)
			}
			r.Fail(readExtent(r.Sub(), &h.Extents, &h.Others))
		case chunkSchema: // fields are written in order; nothing of ours follows
			return h, nil
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return h, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return h, nil
}
