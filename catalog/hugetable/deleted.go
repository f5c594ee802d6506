package hugetable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
)

// Deleted rows (H6). Sealed bytes never change: a row is deleted by its position in its chunk, which stays what it is,
// and is on record in the chunk's entry. Everything that is said of a chunk, and its statistics, is said of all of its
// rows: of those that live they are bounds.

// DeletedRows is how many rows of the chunks are deleted.
func (v *Version) DeletedRows() int64 { return v.deleted }

// Deleted is which rows of chunk i are deleted: nil if none is. Nothing is read for it of a page without such rows.
func (v *Version) Deleted(ctx context.Context, i int) (*positions.Set, error) {
	if v.deleted == 0 || i < 0 || i >= v.NumChunks() {
		return nil, nil
	}
	if i >= v.chunks {
		return v.dead[i], nil
	}
	ref := v.pages[sort.Search(len(v.pages), func(k int) bool { return v.pages[k].firstChunk > i })-1]
	if ref.Deleted == 0 {
		return v.dead[i], nil
	}
	l, err := v.source.load(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("table %v, chunk %d: %w", v.table.Name, i, err)
	}
	e := &l.page.entries[i-ref.firstChunk]
	stored, err := positions.Decode(e.deleted, e.rows)
	if err != nil {
		return nil, fmt.Errorf("%w: table %v, chunk %d: %w", ErrCorrupt, v.table.Name, i, err)
	}
	return positions.Union(stored, v.dead[i]), nil
}

// Delete returns the version without some rows, by chunk. One that is deleted already is ErrDeleted.
func (v *Version) Delete(ctx context.Context, rows map[int]*positions.Set) (*Version, error) {
	next := *v
	next.dead = maps.Clone(v.dead)
	if next.dead == nil {
		next.dead = map[int]*positions.Set{}
	}
	for i, gone := range rows {
		if gone.Count() == 0 {
			continue
		}
		c, err := v.Chunk(ctx, i)
		if err != nil {
			return nil, err
		}
		if gone.Rows() != c.Rows() {
			return nil, fmt.Errorf("%w: chunk %d of table %v has %d rows, not %d", ErrMismatch, i, v.table.Name,
				c.Rows(), gone.Rows())
		}
		before, err := v.Deleted(ctx, i)
		if err != nil {
			return nil, err
		}
		if positions.Meets(before, gone) {
			return nil, fmt.Errorf("%w: chunk %d of table %v", ErrDeleted, i, v.table.Name)
		}
		next.dead[i] = positions.Union(v.dead[i], gone)
		next.deleted += gone.Count()
	}
	return &next, nil
}

// deleteAgain takes the rows out of next that v deleted of base, of which next is a later version: it finds the chunks
// by their numbers, or by where they lie if those have changed. tail is where v's own chunks begin in next.
func (v *Version) deleteAgain(ctx context.Context, base, next *Version, tail int) (*Version, error) {
	if len(v.dead) == 0 {
		return next, nil
	}
	gone, search := map[int]*positions.Set{}, map[descriptor.ExtentID]int{}
	for _, i := range slices.Sorted(maps.Keys(v.dead)) {
		switch {
		case i >= v.chunks:
			gone[tail+i-v.chunks] = v.dead[i]
		case next.numbering == base.numbering:
			gone[i] = v.dead[i]
		default:
			old, err := base.Chunk(ctx, i)
			if err != nil {
				return nil, err
			}
			for _, id := range old.Extents() {
				search[id] = i
			}
		}
	}
	if err := next.find(ctx, search, func(was, now int) { gone[now] = v.dead[was] }); err != nil {
		return nil, err
	}
	if len(gone) != len(v.dead) {
		return nil, fmt.Errorf("%w: chunks of table %v were rewritten", ErrDiverged, v.table.Name)
	}
	next, err := next.Delete(ctx, gone)
	if errors.Is(err, ErrMismatch) || errors.Is(err, ErrRange) || errors.Is(err, ErrDeleted) {
		err = fmt.Errorf("%w: %w", ErrDiverged, err)
	}
	return next, err
}

// find visits the chunks that have one of the extents.
func (v *Version) find(ctx context.Context, search map[descriptor.ExtentID]int, found func(was, now int)) error {
	if len(search) == 0 {
		return nil
	}
	known := func(c *chunk.Chunk) (int, bool) {
		for _, id := range c.Extents() {
			if was, ok := search[id]; ok {
				return was, true
			}
		}
		return 0, false
	}
	for p, err := range v.Chunks(ctx) {
		if err != nil {
			return err
		}
		if was, ok := known(p.Chunk); ok {
			found(was, p.Index)
		}
	}
	return nil
}
