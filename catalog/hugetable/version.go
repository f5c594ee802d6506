package hugetable

import (
	"context"
	"fmt"
	"iter"
	"sort"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// Version is one immutable state of a table: its chunks in row order. Safe for concurrent use.
type Version struct {
	table      Table
	number     uint64
	rows       int64 // of all chunks, deleted ones too
	deleted    int64 // of rows
	bytes      int64
	chunks     int // in pages; the tail comes on top
	pages      []PageRef
	columns    []statistics.Summary
	tail       []*chunk.Chunk // appended by a transaction and not yet in a page
	moved      map[int]moved  // put by a transaction in the place of chunks that are in pages; immutable
	fold       *fold          // done by a transaction; its pages are among pages and not yet stored
	origins    []Origin       // by chunk; never changed
	source     *Source
	ordered    bool     // a chunk has, or had, an order of its rows
	compressed bool     // as the store has it
	display    *display // how chunks come to have the table's columns; nil: they have them

	dead      map[int]*positions.Set // rows that a transaction deleted, by chunk; immutable
	truncated bool                   // by a transaction: the rows before are not this version's
	numbering uint64                 // of two versions of a table that have the same one chunks have the same numbers

	contents contents // since when; of a committed version
	restored bool     // by a transaction: to what an earlier version was

	changed    uint64  // the number of the version in which rows came or went last
	renumbered uint64  // likewise: in which rows got other numbers, except those that purges say
	purges     []purge // the later ones, by version; never changed
}

// NewVersion is the version of a table without rows, which was never altered.
func NewVersion(table Table, source *Source) *Version {
	return &Version{table: table, source: source, columns: make([]statistics.Summary, table.Columns.NumFields())}
}

// Table is what all versions share.
func (v *Version) Table() Table { return v.table }

// Version counts the commits that changed the table's rows, from 1; 0 is a table that is not committed.
func (v *Version) Version() uint64 { return v.number }

// SameRows reports whether two versions of a table have the same rows in the same order, wherever they lie, and are
// declared alike.
func (v *Version) SameRows(other *Version) bool {
	return v == other || v.committed() && other.committed() && v.changed == other.changed && v.table.same(&other.table)
}

// committed reports whether no transaction has changed the version's chunks.
func (v *Version) committed() bool {
	return len(v.tail)+len(v.moved)+len(v.dead) == 0 && v.fold == nil && !v.truncated
}

// Rows is the number of rows that live.
func (v *Version) Rows() int64 { return v.rows - v.deleted }

// StoredRows is the number of rows that the chunks have, deleted ones too: those that statistics are of.
func (v *Version) StoredRows() int64 { return v.rows }

// Bytes is the space of all chunks in their regions.
func (v *Version) Bytes() int64 { return v.bytes }

// NumChunks is the number of chunks.
func (v *Version) NumChunks() int { return v.chunks + len(v.tail) }

// Pages lists the pages; the slice is shared.
func (v *Version) Pages() []PageRef { return v.pages }

// Statistics summarises column i over all chunks, of deleted rows too. Nothing is read for it.
func (v *Version) Statistics(i int) descriptor.Statistics {
	s := v.columns[i].Statistics
	if s.Distinct > v.rows+v.rows/4 { // a sketch is not that wrong: it remembers rows that were left out
		s.Distinct = v.rows
	}
	return s
}

// Position is a chunk and where its rows lie in the version, among all that are stored.
type Position struct {
	Index    int
	FirstRow int64
	*chunk.Chunk
}

// Chunk returns the chunk number i. Its page is read and its descriptor decoded on first use and then kept for a while.
func (v *Version) Chunk(ctx context.Context, i int) (*chunk.Chunk, error) {
	p, err := v.At(ctx, i)
	return p.Chunk, err
}

// At is Chunk with the row range.
func (v *Version) At(ctx context.Context, i int) (Position, error) {
	if i < 0 || i >= v.NumChunks() {
		return Position{}, fmt.Errorf("%w: chunk %d of table %v, which has %d", ErrRange, i, v.table.Name, v.NumChunks())
	}
	if i >= v.chunks {
		return v.tailAt(i)
	}
	ref := v.pages[v.pageOf(i)]
	l, err := v.load(ctx, ref)
	if err != nil {
		return Position{}, fmt.Errorf("table %v, chunk %d: %w", v.table.Name, i, err)
	}
	return v.position(l, ref, i-ref.firstChunk, nil)
}

// pageOf is which page a chunk is in. Preconditions: it is in one.
func (v *Version) pageOf(chunk int) int {
	return sort.Search(len(v.pages), func(k int) bool { return v.pages[k].firstChunk > chunk }) - 1
}

// load is a page of the version: stored, or made by its fold.
func (v *Version) load(ctx context.Context, ref PageRef) (*loaded, error) {
	if v.fold != nil {
		if l := v.fold.pages[ref.ID]; l != nil {
			return l, nil
		}
	}
	return v.source.load(ctx, ref)
}

func (v *Version) position(l *loaded, ref PageRef, in int, d *decoder) (Position, error) {
	c := v.moved[ref.firstChunk+in].chunk
	var err error
	if c == nil {
		c, err = v.source.chunk(l, in, d)
	}
	if err == nil {
		c, err = v.shown(c)
	}
	if err != nil {
		return Position{}, fmt.Errorf("table %v, chunk %d: %w", v.table.Name, ref.firstChunk+in, err)
	}
	return Position{Index: ref.firstChunk + in, FirstRow: l.page.entries[in].firstRow - ref.behind, Chunk: c}, nil
}

func (v *Version) tailAt(i int) (Position, error) {
	first := v.rows
	for k := len(v.tail) - 1; k >= i-v.chunks; k-- {
		first -= v.tail[k].Rows()
	}
	c, err := v.shown(v.tail[i-v.chunks])
	return Position{Index: i, FirstRow: first, Chunk: c}, err
}

// Chunks visits all chunks in row order; after an error it ends. Who reads their rows leaves out those of Deleted (H6).
func (v *Version) Chunks(ctx context.Context) iter.Seq2[Position, error] {
	return func(yield func(Position, error) bool) {
		for _, ref := range v.pages {
			l, err := v.load(ctx, ref)
			if err != nil {
				yield(Position{}, fmt.Errorf("table %v: %w", v.table.Name, err))
				return
			}
			d := v.source.decoder(ref.Chunks)
			for in := range l.page.entries {
				p, err := v.position(l, ref, in, d)
				if !yield(p, err) || err != nil {
					return
				}
			}
		}
		first := v.rows
		for _, c := range v.tail {
			first -= c.Rows()
		}
		for i, c := range v.tail {
			c, err := v.shown(c)
			if !yield(Position{v.chunks + i, first, c}, err) || err != nil {
				return
			}
			first += c.Rows()
		}
	}
}

// PageExtents lists the extents of a page's chunks, of all replicas, without decoding the descriptors.
func (v *Version) PageExtents(ctx context.Context, ref PageRef) ([]descriptor.Header, error) {
	l, err := v.load(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("table %v: %w", v.table.Name, err)
	}
	list := make([]descriptor.Header, len(l.page.entries))
	for i, e := range l.page.entries {
		encoded := e.encoded
		if c := v.moved[ref.firstChunk+i].chunk; c != nil {
			encoded = c.Encoded()
		}
		if list[i], err = descriptor.Peek(encoded); err != nil {
			return nil, fmt.Errorf("table %v, chunk %d: %w", v.table.Name, ref.firstChunk+i, err)
		}
	}
	return list, nil
}

// PageDeleted counts the deleted rows of each of a page's chunks. Preconditions: the version is committed.
func (v *Version) PageDeleted(ctx context.Context, ref PageRef) ([]int64, error) {
	list := make([]int64, ref.Chunks)
	if ref.Deleted == 0 {
		return list, nil
	}
	l, err := v.load(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("table %v: %w", v.table.Name, err)
	}
	for i := range l.page.entries {
		list[i] = l.page.entries[i].deletedRows()
	}
	return list, nil
}
