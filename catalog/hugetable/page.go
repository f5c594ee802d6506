package hugetable

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// A page is full at either limit. The byte limit keeps a page below what etcd takes as one value (1.5 MiB); a single
// descriptor above it makes a page of its own.
const (
	PageChunks = 256
	PageBytes  = 512 << 10
)

// pageFormat is the number that a page carries: the second if a row of one of its chunks is deleted. A program that
// does not know of that would show the row.
const pageFormat, pageFormatDeleted = 1, 2

// PageID names a page by its content: the xxh3-128 of its bytes. A page that was altered is therefore not found.
type PageID [16]byte

func (id PageID) String() string { return hex.EncodeToString(id[:]) }

// ParsePageID is the inverse of String.
func ParsePageID(text string) (id PageID, err error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("%q is no page identifier", text)
	}
	return PageID(b), nil
}

func pageIDOf(data []byte) (id PageID) {
	sum := xxh3.Hash128(data)
	binary.BigEndian.PutUint64(id[:8], sum.Hi)
	binary.BigEndian.PutUint64(id[8:], sum.Lo)
	return id
}

// PageRef is what a version knows of a page without reading it.
type PageRef struct {
	ID             PageID
	Chunks         int
	FirstRow, Rows int64
	Deleted        int64 // of the rows
	Bytes          int64
	firstChunk     int
	behind         int64 // how much lower numbers its rows have than its entries say: rows before it were left out
}

// entry is one chunk of a page: its rows, its encoded descriptor, and which rows are deleted, as positions writes it.
type entry struct {
	firstRow, rows int64
	encoded        []byte
	deleted        []byte
}

func (e *entry) size() int { return len(e.encoded) + len(e.deleted) }

// deletedRows is how many of its rows are deleted. Preconditions: it was held to what positions writes.
func (e *entry) deletedRows() int64 {
	n, _ := positions.CountOf(e.deleted, e.rows)
	return n
}

// page is a page's decoded frame; the descriptors in it stay encoded.
type page struct {
	entries []entry
	columns []statistics.Summary
	numbers string // of the columns, as a chunk's schema has them; empty: 0 to n-1
	nonce   uint64 // of a page without a new extent: it must not be one that was before (H4)
}

// Field numbers of catalog.proto.
const (
	pageFieldFormat, pageFieldEntries, pageFieldColumns = 1, 2, 3
	pageFieldNonce, pageFieldNumbers                    = 4, 5
	entryFirstRow, entryRows, entryDescriptor           = 1, 2, 3
	entryDeleted                                        = 4
	summaryStatistics, summarySketch, summaryRows       = 1, 2, 3
	summaryPacked                                       = 4 // 2 is what was written before it was packed
)

func (p *page) encode() []byte {
	size, format := 64, uint64(pageFormat)
	for i := range p.entries {
		size += p.entries[i].size() + 32
		if len(p.entries[i].deleted) > 0 {
			format = pageFormatDeleted
		}
	}
	w := message.Writer{Buf: make([]byte, 0, size+len(p.columns)*64)}
	w.Uint(pageFieldFormat, format)
	for _, e := range p.entries {
		start := w.Begin(pageFieldEntries)
		w.Int(entryFirstRow, e.firstRow)
		w.Int(entryRows, e.rows)
		w.Bytes(entryDescriptor, e.encoded)
		if len(e.deleted) > 0 {
			w.Bytes(entryDeleted, e.deleted)
		}
		w.End(start)
	}
	for _, s := range p.columns {
		s.Sketch = nil // the sketches of a table are in its record, those of a page are unused
		appendSummary(&w, pageFieldColumns, &s)
	}
	w.OptionalString(pageFieldNumbers, p.numbers)
	if p.nonce != 0 {
		w.Fixed(pageFieldNonce, p.nonce)
	}
	return w.Buf
}

func appendSummary(w *message.Writer, field int, s *statistics.Summary) {
	start := w.Begin(field)
	descriptor.AppendStatistics(w, summaryStatistics, &s.Statistics)
	if s.Sketch != nil {
		w.Bytes(summaryPacked, s.Sketch.Pack())
	}
	w.Int(summaryRows, s.Rows)
	w.End(start)
}

func readSummary(r message.Reader) (s statistics.Summary, err error) {
	s.NullCount = descriptor.UnknownNullCount
	for r.Next() {
		switch r.Field() {
		case summaryStatistics:
			r.Fail(descriptor.ReadStatistics(r.Sub(), &s.Statistics))
		case summarySketch:
			if b := r.Bytes(); len(b) == statistics.SketchBytes {
				s.Sketch = append(statistics.Sketch(nil), b...)
			}
		case summaryPacked:
			s.Sketch = statistics.Unpack(r.Bytes())
		case summaryRows:
			s.Rows = r.Int()
		default:
			r.Skip()
		}
	}
	return s, r.Err()
}

// decodePage checks the content against the reference (H2) and the rows' contiguity (H1).
func decodePage(data []byte, ref PageRef) (*page, error) {
	if id := pageIDOf(data); id != ref.ID {
		return nil, fmt.Errorf("%w: page %v has the content of %v", ErrCorrupt, ref.ID, id)
	}
	r := message.NewReader(data)
	p := &page{entries: make([]entry, 0, min(ref.Chunks, PageChunks))}
	var format uint64
	for r.Next() {
		switch r.Field() {
		case pageFieldFormat:
			format = r.Uint()
		case pageFieldEntries:
			e, err := readEntry(r.Sub())
			r.Fail(err)
			p.entries = append(p.entries, e)
		case pageFieldColumns:
			s, err := readSummary(r.Sub())
			r.Fail(err)
			p.columns = append(p.columns, s)
		case pageFieldNumbers:
			p.numbers = r.String()
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return nil, fmt.Errorf("%w: page %v: %w", ErrCorrupt, ref.ID, err)
	}
	if format != pageFormat && format != pageFormatDeleted {
		return nil, fmt.Errorf("%w: page %v has format %d, this program knows %d and %d", ErrCorrupt, ref.ID, format,
			pageFormat, pageFormatDeleted)
	}
	return p, p.check(ref)
}

func readEntry(r message.Reader) (e entry, err error) {
	for r.Next() {
		switch r.Field() {
		case entryFirstRow:
			e.firstRow = r.Int()
		case entryRows:
			e.rows = r.Int()
		case entryDescriptor:
			e.encoded = r.Bytes()
		case entryDeleted:
			e.deleted = r.Bytes()
		default:
			r.Skip()
		}
	}
	return e, r.Err()
}

func (p *page) check(ref PageRef) error {
	if len(p.entries) != ref.Chunks {
		return fmt.Errorf("%w: page %v has %d chunks, want %d", ErrCorrupt, ref.ID, len(p.entries), ref.Chunks)
	}
	first := ref.FirstRow + ref.behind
	next, deleted := first, int64(0)
	for i, e := range p.entries {
		if err := follows("chunk", ref.firstChunk+i, next, e.firstRow, e.rows); err != nil {
			return err
		}
		next = e.firstRow + e.rows
		n, err := positions.CountOf(e.deleted, e.rows)
		if err != nil {
			return fmt.Errorf("%w: page %v, chunk %d: %w", ErrCorrupt, ref.ID, ref.firstChunk+i, err)
		}
		deleted += n
	}
	if deleted != ref.Deleted {
		return fmt.Errorf("%w: page %v has %d deleted rows, want %d", ErrCorrupt, ref.ID, deleted, ref.Deleted)
	}
	if next != first+ref.Rows {
		return fmt.Errorf("%w: page %v ends at row %d, want %d", ErrRows, ref.ID, next, first+ref.Rows)
	}
	return nil
}

// follows checks that rows from first on continue rows up to next (H1), and names the gap or the overlap. what and
// number are for the error.
func follows(what string, number int, next, first, rows int64) error {
	switch {
	case rows < 0 || first > descriptor.MaxRows || rows > descriptor.MaxRows: // so that nothing overflows; next is not negative
		return fmt.Errorf("%w: %s %d has rows [%d, +%d)", ErrRows, what, number, first, rows)
	case first > next:
		return fmt.Errorf("%w: rows %d to %d are missing before %s %d", ErrRows, next, first-1, what, number)
	case first < next:
		return fmt.Errorf("%w: rows %d to %d are there twice, again in %s %d", ErrRows, first, next-1, what, number)
	}
	return nil
}
