package hugetable

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// Chunks that change places: a copy of the same rows lies elsewhere and takes the number of the original.

// ReplaceChunks returns the version with other chunks of the same rows in the place of those of these numbers. Statistics stay:
// they are about rows.
func (v *Version) ReplaceChunks(ctx context.Context, chunks map[int]*chunk.Chunk) (*Version, error) {
	next := *v
	next.tail = slices.Clone(v.tail)
	next.moved = maps.Clone(v.moved)
	if next.moved == nil {
		next.moved = map[int]*chunk.Chunk{}
	}
	for i, c := range chunks {
		old, err := v.Chunk(ctx, i)
		if err != nil {
			return nil, err
		}
		if err := v.fits(c); err != nil {
			return nil, fmt.Errorf("chunk %d for table %v: %w", i, v.table.Name, err)
		}
		if old.Rows() != c.Rows() {
			return nil, fmt.Errorf("%w: %d rows in the place of the %d of chunk %d of table %v", ErrMismatch, c.Rows(), old.Rows(), i, v.table.Name)
		}
		next.bytes += c.Bytes() - old.Bytes()
		if i >= v.chunks {
			next.tail[i-v.chunks] = c
		} else {
			next.moved[i] = c
		}
	}
	return &next, nil
}

// Fresh lists the chunks that no committed version has: what a commit publishes.
func (v *Version) Fresh() []*chunk.Chunk {
	list := make([]*chunk.Chunk, 0, len(v.moved)+len(v.tail))
	for _, i := range slices.Sorted(maps.Keys(v.moved)) {
		list = append(list, v.moved[i])
	}
	return append(list, v.tail...)
}

// repage writes the pages anew in which a chunk was replaced, into next. The last one is left to the packer if that opens it.
func (v *Version) repage(ctx context.Context, next *Version) (made []NewPage, err error) {
	if len(v.moved) == 0 {
		return nil, nil
	}
	next.pages = slices.Clone(v.pages)
	for i, ref := range v.pages {
		if !v.touches(ref) {
			continue
		}
		page, err := v.reopen(ctx, ref)
		if err != nil {
			return nil, err
		}
		if i == len(v.pages)-1 && len(v.tail) > 0 && ref.Chunks < PageChunks && page.size < PageBytes {
			continue
		}
		data := page.page.encode()
		ref.ID, ref.Bytes = pageIDOf(data), page.bytes
		next.pages[i] = ref
		made = append(made, NewPage{ref, data, page.extents, page.carried})
	}
	return made, nil
}

func (v *Version) touches(ref PageRef) bool {
	for i := range v.moved {
		if i >= ref.firstChunk && i < ref.firstChunk+ref.Chunks {
			return true
		}
	}
	return false
}

// reopened is a stored page with the replaced chunks in it.
type reopened struct {
	page    page
	size    int // of the descriptors
	bytes   int64
	extents []descriptor.ExtentID // those that the stored page has too come first
	carried int
}

func (v *Version) reopen(ctx context.Context, ref PageRef) (*reopened, error) {
	l, err := v.source.load(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("table %v: %w", v.table.Name, err)
	}
	o := &reopened{bytes: ref.Bytes}
	o.page.entries = slices.Clone(l.page.entries)
	o.page.columns = append([]statistics.Summary(nil), l.page.columns...)
	var fresh []descriptor.ExtentID
	for i := range o.page.entries {
		e := &o.page.entries[i]
		h, err := descriptor.Peek(e.encoded)
		if err != nil {
			return nil, fmt.Errorf("table %v: %w", v.table.Name, err)
		}
		if c := v.moved[ref.firstChunk+i]; c != nil {
			for _, x := range h.Extents {
				o.bytes -= x.Range.Length
			}
			o.bytes += c.Bytes()
			e.encoded = c.Encoded()
			fresh = append(fresh, c.Extents()...)
		} else {
			for _, x := range h.Extents {
				o.extents = append(o.extents, x.ExtentID)
			}
		}
		o.size += len(e.encoded)
	}
	o.carried = len(o.extents)
	o.extents = append(o.extents, fresh...)
	return o, nil
}
