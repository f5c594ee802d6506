package hugetable

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
)

// Chunks that change places: a chunk with the same rows, that lies elsewhere or also elsewhere, or has other orders,
// takes the number of the original. It may have some of the original's extents, which stay as they are.

// Replacement is a chunk and what is put in its place.
type Replacement struct{ Old, New *chunk.Chunk }

// Added lists the extents that come by it.
func (r Replacement) Added() []descriptor.ExtentID { return without(r.New.Extents(), r.Old.Extents()) }

func without(ids, others []descriptor.ExtentID) []descriptor.ExtentID {
	return slices.DeleteFunc(ids, func(id descriptor.ExtentID) bool { return slices.Contains(others, id) })
}

// moved is a chunk in the place of one that is in a page.
type moved struct {
	chunk  *chunk.Chunk
	stored []descriptor.ExtentID // of the one in the page
}

// ReplaceChunks returns the version with other chunks of the same rows in the place of those of these numbers.
// Statistics stay: they are about rows. What is replaced must be what the version has.
func (v *Version) ReplaceChunks(ctx context.Context, chunks map[int]Replacement) (*Version, error) {
	if v.fold != nil && len(chunks) > 0 {
		return nil, v.foldIsAlone()
	}
	next := *v
	next.tail = slices.Clone(v.tail)
	next.moved = maps.Clone(v.moved)
	if next.moved == nil {
		next.moved = map[int]moved{}
	}
	for i, r := range chunks {
		old, err := v.Chunk(ctx, i)
		if err != nil {
			return nil, err
		}
		made := v.source.columnsAlone(r.New)
		if err := v.fitsFor(made, old); err != nil {
			return nil, fmt.Errorf("chunk %d for table %v: %w", i, v.table.Name, err)
		}
		if old.Rows() != r.New.Rows() {
			return nil, fmt.Errorf("%w: %d rows in the place of the %d of chunk %d of table %v", ErrMismatch, r.New.Rows(), old.Rows(), i, v.table.Name)
		}
		if !slices.Equal(old.Extents(), r.Old.Extents()) {
			return nil, fmt.Errorf("%w: chunk %d of table %v is another one than is to be replaced", ErrMismatch, i, v.table.Name)
		}
		next.bytes += made.Bytes() - old.Bytes()
		next.ordered = next.ordered || hasOrders(made)
		if i >= v.chunks {
			next.tail[i-v.chunks] = made
			continue
		}
		stored := old.Extents()
		if m, again := v.moved[i]; again {
			stored = m.stored
		}
		next.moved[i] = moved{made, stored}
	}
	return &next, nil
}

// fitsFor is fits of a chunk in the place of another one: it stores the columns that the other does, whatever the table
// has by now.
func (v *Version) fitsFor(c, old *chunk.Chunk) error {
	if v.display == nil {
		return v.fits(c)
	}
	is, err := numbersOf(c.Stored().Schema)
	if err != nil {
		return err
	}
	was, err := numbersOf(old.Stored().Schema)
	if err != nil {
		return err
	}
	if !slices.Equal(is.of, was.of) {
		return fmt.Errorf("%w: it stores columns %s in the place of %s", ErrMismatch, is.words(), was.words())
	}
	_, err = v.shown(c)
	return err
}

// FreshExtents lists the extents that no committed version has: what a commit publishes.
func (v *Version) FreshExtents() (ids []descriptor.ExtentID) {
	for _, i := range slices.Sorted(maps.Keys(v.moved)) {
		m := v.moved[i]
		ids = append(ids, without(m.chunk.Extents(), m.stored)...)
	}
	for _, c := range v.tail {
		ids = append(ids, c.Extents()...)
	}
	if v.fold != nil {
		for _, c := range v.fold.news {
			ids = append(ids, c.Extents()...)
		}
	}
	return ids
}
