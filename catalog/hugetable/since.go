package hugetable

import (
	"context"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
)

// Since are the chunks that an earlier version has not, in order: rows that came by later changes are in them, and in
// no others. Chunks that only moved are among them, too. Of pages that both have nothing is read. base may be nil. Of
// what a transaction has restored they are all: deleted rows come back in chunks that base has.
func (v *Version) Since(ctx context.Context, base *Version) (list []Position, err error) {
	if v.restored && base != nil && v.numbering != base.numbering {
		base = nil
	}
	known := map[PageID]bool{}
	if base != nil {
		for _, ref := range base.pages {
			known[ref.ID] = true
		}
	}
	had, err := v.extentsBefore(ctx, base)
	if err != nil {
		return nil, err
	}
	for _, ref := range v.pages {
		if known[ref.ID] && !v.touches(ref) {
			continue
		}
		for i := range ref.Chunks {
			p, err := v.At(ctx, ref.firstChunk+i)
			if err != nil {
				return nil, err
			}
			if !had[nameOf(p.Chunk)] {
				list = append(list, p)
			}
		}
	}
	first := v.rows - tailRows(v.tail)
	for i, c := range v.tail {
		if c, err = v.shown(c); err != nil {
			return nil, err
		}
		if !had[nameOf(c)] {
			list = append(list, Position{v.chunks + i, first, c})
		}
		first += c.Rows()
	}
	return list, nil
}

// extentsBefore are the first extents of the chunks of base, except those in pages that v has, too, as they are.
func (v *Version) extentsBefore(ctx context.Context, base *Version) (map[descriptor.ExtentID]bool, error) {
	had := map[descriptor.ExtentID]bool{}
	if base == nil {
		return had, nil
	}
	note := func(c *chunk.Chunk) {
		if len(c.Extents()) > 0 {
			had[nameOf(c)] = true
		}
	}
	same := v.untouched()
	for _, ref := range base.pages {
		if same[ref.ID] && !base.touches(ref) {
			continue
		}
		for i := range ref.Chunks {
			c, err := base.Chunk(ctx, ref.firstChunk+i)
			if err != nil {
				return nil, err
			}
			note(c)
		}
	}
	for _, c := range base.tail {
		note(c)
	}
	return had, nil
}

// nameOf distinguishes chunks that lie somewhere; those without bytes are nowhere, and all the same.
func nameOf(c *chunk.Chunk) (id descriptor.ExtentID) {
	if len(c.Extents()) > 0 {
		id = c.Extents()[0]
	}
	return id
}

// untouched returns the pages whose chunks and rows the version has as they are stored.
func (v *Version) untouched() map[PageID]bool {
	pages := map[PageID]bool{}
	for _, ref := range v.pages {
		if !v.touches(ref) {
			pages[ref.ID] = true
		}
	}
	return pages
}
