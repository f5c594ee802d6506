package hugetable

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// Stored pages that are rewritten: chunks of them are replaced, or rows of their chunks deleted.

// newNonce makes a page another one than all before it (H4).
func newNonce() uint64 { return rand.Uint64() | 1 }

// repage rewrites those of the first pages in which a chunk was replaced or a row deleted, and leaves next with so
// many, or more.
func (v *Version) repage(ctx context.Context, next *Version, pages int) (made []NewPage, err error) {
	next.pages = v.pages[:pages:pages] // its own end: the base version shares the array
	if len(v.moved)+len(v.dead) == 0 {
		return nil, nil
	}
	next.pages = nil
	for _, ref := range v.pages[:pages] {
		if !v.touches(ref) {
			next.pages = append(next.pages, ref)
			continue
		}
		page, err := v.reopen(ctx, ref)
		if err != nil {
			return nil, err
		}
		parts, err := page.split(ctx, v)
		if err != nil {
			return nil, err
		}
		for _, p := range parts {
			next.pages = append(next.pages, p.Ref)
		}
		if len(parts) == 1 {
			v.source.inherit(&parts[0], page.from)
		}
		made = append(made, parts...)
	}
	return made, nil
}

func (v *Version) touches(ref PageRef) bool {
	within := func(i int) bool { return i >= ref.firstChunk && i < ref.firstChunk+ref.Chunks }
	for i := range v.moved {
		if within(i) {
			return true
		}
	}
	for i := range v.dead {
		if within(i) {
			return true
		}
	}
	return false
}

// reopened is a stored page with the replaced chunks in it, and without the deleted rows.
type reopened struct {
	from    *loaded // that it was
	ref     PageRef
	page    page
	size    int // of the descriptors, and of what says which rows are deleted
	bytes   int64
	deleted int64
	extents []descriptor.ExtentID // those that the stored page has too come first
	carried int
	places  []place // by entry
}

// place is where one chunk of a reopened page lies.
type place struct {
	carried, fresh []descriptor.ExtentID
	bytes          int64
}

func (v *Version) reopen(ctx context.Context, ref PageRef) (*reopened, error) {
	l, err := v.load(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("table %v: %w", v.table.Name, err)
	}
	o := &reopened{from: l, ref: ref, places: make([]place, ref.Chunks)}
	o.page.entries = slices.Clone(l.page.entries)
	o.page.numbers = v.pageNumbers()
	if o.page.columns, err = v.summaries(l.page, ref.Rows); err != nil {
		return nil, fmt.Errorf("table %v, page %v: %w", v.table.Name, ref.ID, err)
	}
	for i := range o.page.entries {
		o.page.entries[i].firstRow -= ref.behind
		if err := v.reenter(ref.firstChunk+i, &o.page.entries[i], &o.places[i]); err != nil {
			return nil, fmt.Errorf("table %v, chunk %d: %w", v.table.Name, ref.firstChunk+i, err)
		}
	}
	o.sum()
	return o, nil
}

// reenter brings a stored entry up to date.
func (v *Version) reenter(number int, e *entry, p *place) error {
	h, err := descriptor.Peek(e.encoded)
	if err != nil {
		return err
	}
	if dead := v.dead[number]; dead != nil {
		before, err := positions.Decode(e.deleted, e.rows)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		e.deleted = positions.Union(before, dead).Encode()
	}
	m := v.moved[number]
	var kept []descriptor.ExtentID
	if m.chunk != nil {
		kept = m.chunk.Extents()
		p.fresh = without(m.chunk.Extents(), m.stored)
		p.bytes = m.chunk.Bytes()
		e.encoded = m.chunk.Encoded()
	}
	for x := range h.All() {
		if m.chunk == nil {
			p.bytes += x.Range.Length
		}
		if m.chunk == nil || slices.Contains(kept, x.ExtentID) {
			p.carried = append(p.carried, x.ExtentID)
		}
	}
	return nil
}

// sum adds up what the entries have.
func (o *reopened) sum() {
	o.size, o.bytes, o.deleted, o.extents = 0, 0, 0, nil
	var fresh []descriptor.ExtentID
	for i := range o.page.entries {
		e, p := &o.page.entries[i], &o.places[i]
		o.size += e.size()
		o.bytes += p.bytes
		o.deleted += e.deletedRows()
		o.extents = append(o.extents, p.carried...)
		fresh = append(fresh, p.fresh...)
	}
	if o.page.nonce = 0; len(fresh) == 0 { // only rows or replicas less; one that lists something new is like no other
		o.page.nonce = newNonce()
	}
	o.carried = len(o.extents)
	o.extents = append(o.extents, fresh...)
}

// split makes pages of it: one, or as many as keep within the bounds, if too much is said of deleted rows for that.
func (o *reopened) split(ctx context.Context, v *Version) (made []NewPage, err error) {
	if o.size <= PageBytes || len(o.page.entries) == 1 {
		return []NewPage{o.write()}, nil
	}
	for first := 0; first < len(o.page.entries); {
		end, size := first, 0
		for end < len(o.page.entries) && (end == first || size+o.page.entries[end].size() <= PageBytes) {
			size += o.page.entries[end].size()
			end++
		}
		part := &reopened{places: o.places[first:end]}
		part.page.entries = o.page.entries[first:end]
		part.page.columns, part.page.numbers = make([]statistics.Summary, len(o.page.columns)), o.page.numbers
		part.ref.firstChunk, part.ref.FirstRow = o.ref.firstChunk+first, o.page.entries[first].firstRow
		for i := first; i < end; i++ {
			c, err := v.Chunk(ctx, o.ref.firstChunk+i)
			if err != nil {
				return nil, err
			}
			addChunk(part.page.columns, c)
		}
		part.sum()
		made = append(made, part.write())
		first = end
	}
	return made, nil
}

func (o *reopened) write() NewPage {
	data := o.page.encode()
	ref, last := o.ref, &o.page.entries[len(o.page.entries)-1]
	ref.ID, ref.Chunks, ref.Rows = pageIDOf(data), len(o.page.entries), last.firstRow+last.rows-ref.FirstRow
	ref.Bytes, ref.Deleted, ref.behind = o.bytes, o.deleted, 0
	return NewPage{Ref: ref, Data: data, Extents: o.extents, CarriedExtents: o.carried}
}
