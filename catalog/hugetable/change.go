package hugetable

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// Append returns the version with chunks after its last row. They are checked against the table's columns.
func (v *Version) Append(chunks []*chunk.Chunk) (*Version, error) {
	next := *v
	next.tail = append(v.tail[:len(v.tail):len(v.tail)], chunks...)
	next.columns = append([]statistics.Summary(nil), v.columns...)
	for i, c := range chunks {
		if err := v.fits(c); err != nil {
			return nil, fmt.Errorf("chunk %d for table %v: %w", i, v.table.Name, err)
		}
		next.rows += c.Rows()
		next.bytes += c.Bytes()
		addChunk(next.columns, c)
	}
	return &next, nil
}

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
		if nulls := c.Statistics(i).NullCount; !l.Nullable && nulls > 0 {
			return fmt.Errorf("%w: column %q, %d rows", ErrNull, l.Name, nulls)
		}
	}
	return nil
}

// Truncate returns the version without rows.
func (v *Version) Truncate() *Version {
	next := NewVersion(v.table, v.source)
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
	next := *v
	next.table.Columns = columns
	return &next, nil
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
}

// Seal returns the version as it is committed: number is its number, the tail is in pages. The pages that must be
// stored first come with it. Of the base's pages only those are written again in which a chunk was replaced or a row
// deleted, and the last one when it is not full and something follows.
func (v *Version) Seal(ctx context.Context, number uint64) (*Version, []NewPage, error) {
	next := *v
	next.number, next.tail, next.moved, next.dead, next.truncated = number, nil, nil, nil, false
	made, err := v.repage(ctx, &next)
	if err != nil || len(v.tail) == 0 {
		return &next, made, err
	}
	next.pages = next.pages[:len(next.pages):len(next.pages)]
	next.chunks = v.NumChunks()
	b, err := v.packer(ctx, &next)
	if err != nil {
		return nil, nil, err
	}
	b.made = made
	for k, c := range v.tail {
		b.add(c, v.dead[v.chunks+k])
	}
	b.flush()
	return &next, b.made, nil
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
	extents []descriptor.ExtentID
	carried int // of extents
}

// packer begins where v's full pages end and takes the last one's chunks over if it is not full.
func (v *Version) packer(ctx context.Context, next *Version) (*packer, error) {
	b := &packer{version: next}
	b.reset(v.chunks, v.rows-tailRows(v.tail))
	if len(next.pages) == 0 || next.pages[len(next.pages)-1].Chunks >= PageChunks {
		return b, nil
	}
	last := v.pages[len(v.pages)-1] // as it is stored
	open, err := v.reopen(ctx, last)
	if err != nil || open.size >= PageBytes {
		return b, err
	}
	keep := len(next.pages) - 1
	next.pages = next.pages[:keep:keep] // its own end: the base version shares the array before it
	b.first = PageRef{firstChunk: last.firstChunk, FirstRow: last.FirstRow}
	b.open, b.size, b.bytes, b.deleted = open.page, open.size, open.bytes, open.deleted
	b.extents, b.carried = open.extents, open.carried
	return b, nil
}

func tailRows(tail []*chunk.Chunk) (rows int64) {
	for _, c := range tail {
		rows += c.Rows()
	}
	return rows
}

func (b *packer) reset(firstChunk int, firstRow int64) {
	b.open = page{columns: make([]statistics.Summary, len(b.version.columns))}
	b.first = PageRef{firstChunk: firstChunk, FirstRow: firstRow}
	b.size, b.bytes, b.deleted, b.extents, b.carried = 0, 0, 0, nil, 0
}

func (b *packer) add(c *chunk.Chunk, dead *positions.Set) {
	e := entry{rows: c.Rows(), encoded: c.Encoded(), deleted: dead.Encode()}
	if len(b.open.entries) >= PageChunks || (b.size > 0 && b.size+e.size() > PageBytes) {
		b.flush()
	}
	e.firstRow = b.nextRow()
	b.open.entries = append(b.open.entries, e)
	addChunk(b.open.columns, c)
	b.size += e.size()
	b.bytes += c.Bytes()
	b.deleted += dead.Count()
	b.extents = append(b.extents, c.Extents()...)
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
	data := b.open.encode()
	ref.ID = pageIDOf(data)
	b.version.pages = append(b.version.pages, ref)
	b.made = append(b.made, NewPage{ref, data, b.extents, b.carried})
	b.reset(ref.firstChunk+ref.Chunks, end)
}
