package hugetable

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// Append returns the version with chunks after its last row. They are checked against the table's columns.
func (v *Version) Append(chunks []*chunk.Chunk) (*Version, error) { return v.AppendFrom(chunks, "") }

func addChunk(columns []statistics.Summary, c *chunk.Chunk) {
	for k := range columns {
		var sketch statistics.Sketch
		if c.Sketches() != nil {
			sketch = c.Sketches()[k]
		}
		columns[k] = columns[k].Add(statistics.SummaryOf(*c.Statistics(k), sketch, c.Rows()))
	}
}

func (v *Version) fits(c *chunk.Chunk) error {
	logical, physical := v.table.Columns, c.Descriptor().Schema
	if v.display != nil { // by position is by number, then
		stored, err := numbersOf(physical)
		if err != nil {
			return err
		}
		if !slices.Equal(stored.of, v.display.numbers.of) {
			return fmt.Errorf("%w: it stores columns %s, the table has %s", ErrMismatch, stored.words(),
				v.display.numbers.words())
		}
	} else if Numbered(physical) {
		return fmt.Errorf("%w: it was written for a table that was altered", ErrMismatch)
	}
	if logical.NumFields() != physical.NumFields() {
		return fmt.Errorf("%w: it has %d columns, the table has %d", ErrMismatch, physical.NumFields(),
			logical.NumFields())
	}
	for i := range logical.NumFields() {
		l, p := logical.Field(i), physical.Field(i)
		if l.Name != p.Name || !Stores(l.Type, p.Type) {
			return fmt.Errorf("%w: column %d is %q %v, the table's is %q %v", ErrMismatch, i, p.Name, p.Type,
				l.Name, l.Type)
		}
	}
	return nil
}

// keepsNulls is ErrNull if a chunk of new rows has NULL where the table has none. Rows that are there may: NOT NULL may
// have come since they were deleted.
func (v *Version) keepsNulls(c *chunk.Chunk) error {
	for i, f := range v.table.Columns.Fields() {
		if nulls := c.Statistics(i).NullCount; !f.Nullable && nulls > 0 {
			return fmt.Errorf("%w: column %q, %d rows", ErrNull, f.Name, nulls)
		}
	}
	return nil
}

// Truncate returns the version without rows.
func (v *Version) Truncate() *Version {
	next := NewVersion(v.table, v.source)
	next.display = v.display
	next.number, next.truncated, next.numbering = v.number, true, v.numbering+1
	return next
}

// Rename returns the version under another name.
func (v *Version) Rename(name TableName) *Version {
	next := *v
	next.table.Name = name
	return &next
}

// Redeclare returns the version with other properties of its columns: their names and types stay. That its rows
// have those properties is the caller's business.
func (v *Version) Redeclare(columns *arrow.Schema) (*Version, error) {
	have := v.table.Columns
	if have.NumFields() != columns.NumFields() {
		return nil, fmt.Errorf("%w: %d columns in the place of %d", ErrMismatch, columns.NumFields(), have.NumFields())
	}
	for i, f := range have.Fields() {
		if next := columns.Field(i); next.Name != f.Name || !arrow.TypeEqual(next.Type, f.Type) {
			return nil, fmt.Errorf("%w: column %d is %q %v, the table's is %q %v", ErrMismatch, i, next.Name,
				next.Type, f.Name, f.Type)
		}
	}
	was, _ := have.Metadata().GetValue(numbersKey)
	if is, _ := columns.Metadata().GetValue(numbersKey); is != was {
		return nil, fmt.Errorf("%w: the numbers of columns are %q, they were %q", ErrMismatch, is, was)
	}
	next := *v
	next.table.Columns = columns
	var err error
	next.display, err = displayOf(columns)
	return &next, err
}

// Place returns the version with another placement.
func (v *Version) Place(placement string) *Version {
	next := *v
	next.table.Placement = placement
	return &next
}

// Replicate returns the version with another number of replicas on record; see Table.
func (v *Version) Replicate(replicas int) *Version {
	next := *v
	next.table.Replicas = replicas
	return &next
}

// NewPage is a page that a commit must store.
type NewPage struct {
	Ref  PageRef
	Data []byte
	// Extents are those of its chunks, of all replicas. The first CarriedExtents a page of the base version has too.
	Extents        []descriptor.ExtentID
	CarriedExtents int
	compressed     bool // as the store has it
}

// NewExtents are those of pages that are not carried.
func NewExtents(pages []NewPage) iter.Seq[descriptor.ExtentID] {
	return func(yield func(descriptor.ExtentID) bool) {
		for i := range pages {
			for _, id := range pages[i].Extents[pages[i].CarriedExtents:] {
				if !yield(id) {
					return
				}
			}
		}
	}
}

// Seal returns the version as it is committed: number is its number, the tail is in pages. The pages that must be
// stored first come with it. Of the base's pages only those are written again in which a chunk was replaced or a row
// deleted, and the last ones when something follows that is not less than they are.
func (v *Version) Seal(ctx context.Context, number uint64) (*Version, []NewPage, error) {
	if v.isOver() {
		v = v.Truncate()
	}
	next := *v
	next.number, next.tail, next.moved, next.dead, next.fold, next.truncated = number, nil, nil, nil, nil, false
	next.restored = false
	if v.truncated {
		next.renumbered = number
	}
	if v.truncated || len(v.tail)+len(v.dead) > 0 {
		next.changed = number
	}
	if v.fold != nil {
		if p := v.fold.purge; p != nil {
			next.remember(purge{number, p.first, p.rows, p.gone})
		}
		return &next, v.fold.made, nil
	}
	open, err := v.openPages(ctx)
	if err != nil {
		return nil, nil, err
	}
	made, err := v.repage(ctx, &next, len(v.pages)-len(open))
	if err != nil || len(v.tail) == 0 {
		return &next, made, err
	}
	next.chunks = v.NumChunks()
	b := &packer{version: &next, made: made}
	b.reset(v.chunks, v.rows-tailRows(v.tail))
	if len(open) > 0 {
		b.reset(open[0].ref.firstChunk, open[0].ref.FirstRow)
	}
	for _, o := range open {
		if err := b.take(ctx, v, o); err != nil {
			return nil, nil, err
		}
	}
	for k, c := range v.tail {
		if c, err = v.shown(c); err != nil {
			return nil, nil, err
		}
		b.add(c, v.dead[v.chunks+k])
	}
	b.flush()
	return &next, b.made, nil
}

// openPages reads the last pages that what follows is packed with, in their order: a page as long as it is not full,
// and has no more chunks than come behind it. So a descriptor is written again only when its page at least doubles,
// which is eight times, and all pages but a few are full, however few chunks a commit brings.
func (v *Version) openPages(ctx context.Context) (open []*reopened, err error) {
	if len(v.tail) == 0 {
		return nil, nil
	}
	behind, size := len(v.tail), len(v.tail[0].Encoded()) // of the first one
	for i := len(v.pages) - 1; i >= 0; i-- {
		ref := v.pages[i]
		if ref.Chunks >= PageChunks || ref.Chunks > behind {
			break
		}
		o, err := v.reopen(ctx, ref)
		if err != nil {
			return nil, err
		}
		if o.size+size > PageBytes {
			break // full in bytes
		}
		open = slices.Insert(open, 0, o)
		behind, size = behind+ref.Chunks, o.page.entries[0].size()
	}
	return open, nil
}

// packer fills pages one after the other.
type packer struct {
	version *Version
	made    []NewPage
	open    page
	first   PageRef // where the open page begins
	size    int
	bytes   int64
	deleted int64
	carried []descriptor.ExtentID // that a page of the base version has, too
	fresh   []descriptor.ExtentID
}

func tailRows(tail []*chunk.Chunk) (rows int64) {
	for _, c := range tail {
		rows += c.Rows()
	}
	return rows
}

func (b *packer) reset(firstChunk int, firstRow int64) {
	b.open = page{columns: make([]statistics.Summary, len(b.version.columns)), numbers: b.version.pageNumbers()}
	b.first = PageRef{firstChunk: firstChunk, FirstRow: firstRow}
	b.size, b.bytes, b.deleted, b.carried, b.fresh = 0, 0, 0, nil, nil
}

// add puts a chunk behind the others that no page has yet.
func (b *packer) add(c *chunk.Chunk, dead *positions.Set) {
	e := entry{rows: c.Rows(), encoded: c.Encoded(), deleted: dead.Encode()}
	b.put(c, e, place{fresh: c.Extents(), bytes: c.Bytes()})
}

// put puts a chunk behind the others as its entry says, except its rows' numbers.
func (b *packer) put(c *chunk.Chunk, e entry, p place) {
	if !b.fits(1, e.size()) {
		b.flush()
	}
	e.firstRow = b.nextRow()
	b.open.entries = append(b.open.entries, e)
	addChunk(b.open.columns, c)
	b.note(e.size(), p)
	b.deleted += e.deletedRows()
}

func (b *packer) note(size int, p place) {
	b.size += size
	b.bytes += p.bytes
	b.carried = append(b.carried, p.carried...)
	b.fresh = append(b.fresh, p.fresh...)
}

func (b *packer) fits(chunks, size int) bool {
	return len(b.open.entries)+chunks <= PageChunks && (b.size == 0 || b.size+size <= PageBytes)
}

// take puts the chunks of a page of v behind the others: as they are, if they all fit.
func (b *packer) take(ctx context.Context, v *Version, o *reopened) error {
	if !b.fits(len(o.page.entries), o.size) {
		return b.takeEach(ctx, v, o, 0, len(o.page.entries))
	}
	lower := o.ref.FirstRow - b.nextRow() // rows before it were left out
	for _, e := range o.page.entries {
		e.firstRow -= lower
		b.open.entries = append(b.open.entries, e)
	}
	for k := range b.open.columns {
		b.open.columns[k] = b.open.columns[k].Add(o.page.columns[k])
	}
	b.note(o.size, place{carried: o.extents[:o.carried], fresh: o.extents[o.carried:], bytes: o.bytes})
	b.deleted += o.deleted
	return nil
}

// takeEach puts some of the chunks of a page of v behind the others.
func (b *packer) takeEach(ctx context.Context, v *Version, o *reopened, from, to int) error {
	for i := from; i < to; i++ {
		c, err := v.Chunk(ctx, o.ref.firstChunk+i)
		if err != nil {
			return err
		}
		b.put(c, o.page.entries[i], o.places[i])
	}
	return nil
}

func (b *packer) nextRow() int64 {
	if n := len(b.open.entries); n > 0 {
		return b.open.entries[n-1].firstRow + b.open.entries[n-1].rows
	}
	return b.first.FirstRow
}

func (b *packer) flush() {
	if len(b.open.entries) == 0 {
		return
	}
	ref, end := b.first, b.nextRow()
	ref.Chunks, ref.Rows, ref.Deleted, ref.Bytes = len(b.open.entries), end-b.first.FirstRow, b.deleted, b.bytes
	if len(b.fresh) == 0 {
		b.open.nonce = newNonce()
	}
	data := b.open.encode()
	ref.ID = pageIDOf(data)
	b.version.pages = append(b.version.pages, ref)
	b.made = append(b.made, NewPage{Ref: ref, Data: data, Extents: append(b.carried, b.fresh...), CarriedExtents: len(b.carried)})
	b.reset(ref.firstChunk+ref.Chunks, end)
}
