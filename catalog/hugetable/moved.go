package hugetable

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// Chunks that change places: a chunk with the same rows, that lies elsewhere or also elsewhere, takes the number of
// the original. It may have some of the original's replicas, which stay as they are.

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
// Statistics stay:
// they are about rows. What is replaced must be what the version has.
func (v *Version) ReplaceChunks(ctx context.Context, chunks map[int]Replacement) (*Version, error) {
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
		if err := v.fits(r.New); err != nil {
			return nil, fmt.Errorf("chunk %d for table %v: %w", i, v.table.Name, err)
		}
		if old.Rows() != r.New.Rows() {
			return nil, fmt.Errorf("%w: %d rows in the place of the %d of chunk %d of table %v", ErrMismatch, r.New.Rows(), old.Rows(), i, v.table.Name)
		}
		if !slices.Equal(old.Extents(), r.Old.Extents()) {
			return nil, fmt.Errorf("%w: chunk %d of table %v is another one than is to be replaced", ErrMismatch, i, v.table.Name)
		}
		next.bytes += r.New.Bytes() - old.Bytes()
		if i >= v.chunks {
			next.tail[i-v.chunks] = r.New
			continue
		}
		stored := old.Extents()
		if m, again := v.moved[i]; again {
			stored = m.stored
		}
		next.moved[i] = moved{r.New, stored}
	}
	return &next, nil
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
	return ids
}

// repage writes the pages anew in which a chunk was replaced, into next. The last one is left to the packer if that
// opens it.
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
	if len(l.page.columns) != len(v.columns) {
		return nil, fmt.Errorf("%w: page %v of table %v has %d summaries for %d columns", ErrCorrupt, ref.ID, v.table.Name, len(l.page.columns), len(v.columns))
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
		m := v.moved[ref.firstChunk+i]
		var kept []descriptor.ExtentID
		if m.chunk != nil {
			kept = m.chunk.Extents()
			fresh = append(fresh, without(m.chunk.Extents(), m.stored)...)
			o.bytes += m.chunk.Bytes()
			e.encoded = m.chunk.Encoded()
		}
		for x := range h.All() {
			if m.chunk != nil {
				o.bytes -= x.Range.Length
			}
			if m.chunk == nil || slices.Contains(kept, x.ExtentID) {
				o.extents = append(o.extents, x.ExtentID)
			}
		}
		o.size += len(e.encoded)
	}
	if len(fresh) == 0 { // and only replicas less; one that lists something new is like no other
		o.page.nonce = rand.Uint64() | 1
	}
	o.carried = len(o.extents)
	o.extents = append(o.extents, fresh...)
	return o, nil
}
