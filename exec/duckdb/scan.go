package duckdb

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"

	"github.com/csmsql/csmsql/exec/duckdb/normal"
)

// Outside gives memory outside of Go's heap, which C may point to (D2).
var Outside = mallocator.NewMallocator()

// Scan is one occurrence of a table in one statement: what the planner knows of it and how its chunks are opened. It is
// immutable once registered, and everything it opens must stay in place until it is released.
type Scan struct {
	// Schema has the types that users see, except that decimals of up to 18 digits are decimal64. A column that is utf8
	// or binary here may be utf8_view, large_utf8, or dictionary<uint8, utf8> in a chunk, each chunk as it likes; any
	// other column has the same type in all chunks.
	Schema *arrow.Schema
	// Rows is exact; Estimate is for the optimizer (0: Rows; less: there is none): see exec/plan for how filters enter
	// it.
	Rows, Estimate int64
	// Chunks to open, 0 to Chunks-1.
	Chunks int
	// Open gives the columns of one chunk, in the order asked for, as a record batch whose buffers lie outside of Go's
	// heap. DuckDB's threads call it, several chunks at a time from different scans but one at a time from one.
	Open func(chunk int, columns []int) (arrow.RecordBatch, error)
	// Deleted says which rows of a chunk are deleted, a bit each, the first lowest in the first word; empty: none is.
	// They are not handed over, and are in no key set (D14). Nil: no row of any chunk is.
	Deleted func(chunk int) ([]uint64, error)
	// Number, if not nil, is the number of a chunk's first row. The last column of Schema, of 64 bits, then is the
	// number of each row, and not asked of Open.
	Number func(chunk int) (int64, error)
	// Domains shows columns as ENUM: all values that may occur, sorted bytewise, at most 255, none with a zero byte.
	// Only for columns that are dictionary<uint8, utf8> in every chunk.
	Domains map[int][]string
	// Filters leave out rows that do not matter, all together: see Filter. Their columns are asked of Open after those
	// that the statement reads. Estimate is what is left after them.
	Filters []Filter
	// Threads bounds the goroutines that build a key set of it; 0: one per CPU. A statement's scan goes by those of the
	// database.
	Threads int
	// Release is called once when no plan refers to the scan any longer and its owner has forgotten it; may be nil.
	Release func()
}

// builders is how many goroutines collect a key set of so many morsels.
func (s *Scan) builders() int {
	threads := s.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return int(min(int64(threads), max(int64(s.Chunks), s.Rows/morselRows+1)))
}

func (s *Scan) estimate() int64 {
	if s.Estimate != 0 {
		return max(s.Estimate, 0)
	}
	return s.Rows
}

// isString reports whether a column's bytes go through our own string loops instead of DuckDB's conversion.
func isString(f arrow.Field) bool {
	if name, marked := f.Metadata.GetValue(normal.ExtensionName); marked && name != normal.JSON {
		return false // DuckDB knows what they are
	}
	switch f.Type.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW, arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return true
	}
	return false
}

// registry names scans with numbers that may travel through SQL text and C. A scan lives while its owner or a bound
// plan refers to it. There is one per process, because C callbacks find their Go side by number alone.
type registry struct {
	mu    sync.Mutex // guards everything below; leaf lock
	next  uint64
	scans map[uint64]*registered
}

type registered struct {
	scan       *Scan
	connection *Connection // the only one that may name it in SQL
	references int
}

var scans = registry{scans: map[uint64]*registered{}}

func (r *registry) add(s *Scan, c *Connection) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	r.scans[r.next] = &registered{scan: s, connection: c, references: 1}
	return r.next
}

// hold takes a further reference for a plan of connection c.
func (r *registry) hold(number uint64, c *Connection) (*Scan, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry := r.scans[number]
	if entry == nil || entry.connection != c {
		return nil, fmt.Errorf("42P01: csm_scan(%d): no such scan in this session; the function is for the engine's own use", number)
	}
	entry.references++
	return entry.scan, nil
}

// get finds a scan that the caller already holds.
func (r *registry) get(number uint64) *Scan {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.scans[number].scan
}

func (r *registry) drop(number uint64) {
	r.mu.Lock()
	entry := r.scans[number]
	if entry == nil {
		r.mu.Unlock()
		return
	}
	entry.references--
	last := entry.references == 0
	if last {
		delete(r.scans, number)
	}
	r.mu.Unlock()
	if last && entry.scan.Release != nil {
		entry.scan.Release()
	}
}

// Register makes a scan reachable for this connection's SQL as csm_scan(number). The caller owns one reference and
// gives it back with Forget; plans that were bound meanwhile keep theirs until they are closed.
func (c *Connection) Register(s *Scan) (number uint64) { return scans.add(s, c) }

// Forget gives back the reference that Register gave.
func (c *Connection) Forget(number uint64) { scans.drop(number) }

// ScanCall is what a registered scan is called in SQL.
func ScanCall(number uint64) string { return fmt.Sprintf("csm_scan(%d)", number) }

// RegisterBatch makes a batch's rows reachable for this connection's SQL under the given columns, and says what they
// are called there. The batch lies outside of Go's heap, and stays the caller's, who calls forget before it is
// released.
func (c *Connection) RegisterBatch(columns *arrow.Schema, rows arrow.RecordBatch) (call string, forget func()) {
	number := c.Register(&Scan{
		Schema: columns, Rows: rows.NumRows(), Chunks: 1,
		Open: func(_ int, wanted []int) (arrow.RecordBatch, error) { return Project(rows, wanted), nil },
	})
	return ScanCall(number), func() { c.Forget(number) }
}

// Project is a batch of some of a batch's columns, in that order. The caller releases it.
func Project(batch arrow.RecordBatch, columns []int) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	arrays := make([]arrow.Array, len(columns))
	for i, c := range columns {
		fields[i], arrays[i] = batch.Schema().Field(c), batch.Column(c)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, batch.NumRows())
}
