package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// When a chunk is full. A process that attaches to a table pays for every chunk of it, whatever lies in there, while
// pruning wants small chunks. So chunks of few bytes a row have more rows. A chunk goes on growing morsel by morsel as
// long as the next one leaves it below GrowthBytes, which two morsels of ordinary rows reach: no chunk becomes larger
// for it than those of an ordinary table are, in bytes to hold, to verify or to lose. Threads share chunks by morsels,
// not whole.
const (
	// MorselRows is what a scan thread takes at once (exec/duckdb): chunks end where morsels do.
	MorselRows = 122_880
	// RowsPerChunk is where a chunk ends, unless its rows are narrow.
	RowsPerChunk = 2 * MorselRows
	// RowsPerChunkMax is where it ends in any case.
	RowsPerChunkMax = 8 * MorselRows
	// GrowthBytes is where a chunk of more than RowsPerChunk rows ends.
	GrowthBytes = 32 << 20
	// BytesPerChunk bounds what a writer holds outside of the region, unless its target has a bound below it.
	BytesPerChunk = 256 << 20
)

// Target is where chunks go: to Space, or where Next says, or split by Hash.
type Target struct {
	Space catalog.Space
	// Next chooses for one chunk after the other, in their order; nil: Space. An error is the writer's.
	Next func(ctx context.Context) (catalog.Space, error)
	// Spread is over how many spaces Next goes round. Rows that fill fewer chunks are divided evenly (G7).
	Spread int
	// Hash puts every row where its values say; nil: Space or Next.
	Hash  *Hash
	Owner string
	// Table is which errors name.
	Table catalog.TableName
	// Replicate makes the other replicas of a chunk that was sealed, and gives the chunk that has them, too; nil: one
	// is enough. On error the chunk is as it was, and nothing else is held.
	Replicate func(ctx context.Context, c *catalog.Chunk) (*catalog.Chunk, error)
	// Discard gives back the memory of sealed chunks that will not be published.
	Discard func(chunks []*catalog.Chunk) error
	// Schema is the table's: logical types. A field that is not nullable takes no NULL (23502).
	Schema *arrow.Schema
	// Limits are those of columns of varchar(n) and the like.
	Limits []Limit
	// HoldBytes is BytesPerChunk where memory is short; 0: BytesPerChunk.
	HoldBytes int64
	// Check is asked of every chunk's rows, laid out and not yet sealed: an error is the writer's. Nil: every row is
	// right.
	Check func(ctx context.Context, rows arrow.RecordBatch) error
	// Sum adds the rows of each chunk up; nil: not needed.
	Sum *Sum
	// Intermediate takes decimals as DuckDB works them out, with more digits than their type says if need be: what is
	// written is no table's, and the next step of the query is to see the sum that a single step would have seen.
	Intermediate bool
	// Plain keeps strings out of dictionaries; for tests.
	Plain bool
}

// Writer collects batches of the target's schema into chunks. For one goroutine.
type Writer struct {
	target  Target
	pending []arrow.RecordBatch
	rows    int64
	bytes   int64
	chunks  []*catalog.Chunk
	total   int64
	over    error // why the writer takes no more rows
	limits  limits
	// wide: this column had too many distinct values for a dictionary before.
	wide []bool
	// parts are the writers of a hash's spaces; the writer itself holds no rows then.
	parts []*Writer
}

// limits are the constants above, except in tests.
type limits struct{ morsel, rows, rowsMax, growthBytes, hold int64 }

var errFinished = errors.New("the writer was finished or aborted already")

// NewWriter returns a writer that holds nothing yet. End it with Finish or Abort.
func NewWriter(target Target) *Writer {
	hold := target.HoldBytes
	if hold == 0 {
		hold = BytesPerChunk
	}
	w := &Writer{
		target: target, limits: limits{MorselRows, RowsPerChunk, RowsPerChunkMax, GrowthBytes, hold},
		wide: make([]bool, target.Schema.NumFields()),
	}
	if target.Spread > 1 {
		w.limits.rowsMax = RowsPerChunk // chunks that grow would leave some spaces without any
	}
	if target.Hash != nil {
		w.parts = target.Hash.writers(target)
	}
	return w
}

// Rows that were added.
func (w *Writer) Rows() int64 { return w.total }

// AddAll adds the batches that next gives, up to io.EOF, and releases them.
func (w *Writer) AddAll(ctx context.Context, next func(context.Context) (arrow.RecordBatch, error)) error {
	for {
		batch, err := next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = w.Add(ctx, batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
}

// Add takes the rows of batch, which stays the caller's; what it refers to must not change until Finish. Its columns
// must have the target's order and types, or layouts of the same types. After an error the writer holds nothing (G4)
// and every further call fails.
func (w *Writer) Add(ctx context.Context, batch arrow.RecordBatch) error {
	if w.over != nil {
		return w.over
	}
	if have, want := int(batch.NumCols()), w.target.Schema.NumFields(); have != want {
		return w.fail(sqlerror.New("42601", "a batch has %s and its table has %d", counted.Of(have, "column"), want))
	}
	if err := ctx.Err(); err != nil {
		return w.fail(err)
	}
	if codes, err := coded(batch, w.target.Schema); err != nil {
		return w.fail(err)
	} else if codes != nil {
		defer codes.Release()
		batch = codes
	}
	if len(w.target.Limits) > 0 {
		fit, err := Fit(ctx, batch, w.target.Limits)
		if err != nil {
			return w.fail(err)
		}
		defer fit.Release()
		batch = fit
	}
	if w.parts != nil {
		w.total += batch.NumRows()
		if err := w.divide(ctx, batch); err != nil {
			return w.fail(err)
		}
		return nil
	}
	for first := int64(0); first < batch.NumRows(); {
		n := min(batch.NumRows()-first, w.limits.morsel-w.rows%w.limits.morsel)
		piece := batch.NewSlice(first, first+n)
		w.pending = append(w.pending, piece)
		w.rows += n
		w.total += n
		w.bytes += batchBytes(piece)
		first += n
		if w.full() {
			if err := w.flush(ctx); err != nil {
				return w.fail(err)
			}
		}
	}
	return nil
}

// full reports whether the pending rows are to become a chunk.
func (w *Writer) full() bool {
	switch l := w.limits; {
	case w.rows >= l.rowsMax || w.bytes >= l.hold || w.rows > l.rows && w.bytes >= l.growthBytes:
		return true
	case w.rows < l.rows || w.rows%l.morsel != 0:
		return false
	default: // at the end of a morsel: would another one like those before be too much?
		return w.bytes+w.bytes*l.morsel/w.rows >= l.growthBytes
	}
}

// Finish seals what is left and hands over all chunks. The writer is over.
func (w *Writer) Finish(ctx context.Context) ([]*catalog.Chunk, error) {
	chunks, _, err := w.FinishParts(ctx)
	return chunks, err
}

// FinishParts is Finish; of a writer that splits by hash, it also says how many of the chunks, which come in the order
// of the hash's spaces, belong to each.
func (w *Writer) FinishParts(ctx context.Context) (chunks []*catalog.Chunk, counts []int, err error) {
	if w.over != nil {
		return nil, nil, w.over
	}
	for _, p := range w.parts {
		of, err := p.Finish(ctx)
		if err != nil {
			return nil, nil, w.fail(err)
		}
		w.chunks, counts = append(w.chunks, of...), append(counts, len(of))
	}
	if w.rows > 0 {
		if err := w.flushLast(ctx); err != nil {
			return nil, nil, w.fail(err)
		}
	}
	chunks = w.chunks
	w.chunks, w.over = nil, errFinished
	return chunks, counts, nil
}

// Abort gives everything back (G4). Does nothing after Finish.
func (w *Writer) Abort() error {
	if w.over == nil {
		w.over = errFinished
	}
	w.release()
	var err error
	for _, p := range w.parts {
		err = also(err, p.Abort())
	}
	chunks := w.chunks
	w.chunks = nil
	if len(chunks) == 0 {
		return err
	}
	return also(err, w.target.Discard(chunks))
}

// fail ends the writer because of err, which stays as it is unless giving back fails too.
func (w *Writer) fail(err error) error {
	w.over = err
	return also(err, w.Abort())
}

func also(err, second error) error {
	if err == nil || second == nil {
		return firstOf(err, second)
	}
	return errors.Join(err, second)
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func (w *Writer) release() {
	for _, b := range w.pending {
		b.Release()
	}
	w.pending, w.rows, w.bytes = nil, 0, 0
}

func (w *Writer) flush(ctx context.Context) error {
	defer w.release()
	space := w.target.Space
	if w.target.Next != nil {
		var err error
		if space, err = w.target.Next(ctx); err != nil {
			return err
		}
	}
	cw := catalog.NewChunkWriter(space, w.target.Owner, w.bytes+w.bytes/8+1<<16)
	batch, err := w.encode(ctx, cw)
	if err != nil {
		return also(err, cw.Abort())
	}
	defer batch.Release()
	if w.target.Check != nil {
		if err := w.target.Check(ctx, batch); err != nil {
			return also(err, cw.Abort())
		}
	}
	if s := w.target.Sum; s != nil && !s.Unknown { // as it is laid out: words of dictionaries are hashed once
		s.Unknown = s.Add(ctx, batch, w.target.Schema) != nil
	}
	chunk, err := cw.Seal(ctx, batch, catalog.SealOptions{SkipValidation: true}) // this process made every offset and code
	if err != nil {
		return err
	}
	w.chunks = append(w.chunks, chunk)
	if w.target.Replicate == nil {
		return nil
	}
	replicated, err := w.target.Replicate(ctx, chunk)
	if err == nil {
		w.chunks[len(w.chunks)-1] = replicated
	}
	return err
}

// spreadRows is how many rows a piece must have to be worth a chunk of its own.
const spreadRows = 1024

// flushLast seals the last rows, in as many chunks as there are spaces that have got none (G7).
func (w *Writer) flushLast(ctx context.Context) error {
	pieces := int64(w.target.Spread - len(w.chunks))
	if pieces = min(pieces, w.rows/spreadRows); pieces < 2 {
		return w.flush(ctx)
	}
	pending, rows, bytes := w.pending, w.rows, w.bytes
	w.pending, w.rows, w.bytes = nil, 0, 0
	defer func() {
		for _, b := range pending {
			b.Release()
		}
	}()
	first := int64(0) // of the rows
	for k := range pieces {
		end := rows * (k + 1) / pieces
		w.pending, w.rows, w.bytes = cut(pending, first, end), end-first, bytes/pieces
		if err := w.flush(ctx); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// cut gives rows [first, end) of batches as slices, which the caller releases.
func cut(batches []arrow.RecordBatch, first, end int64) (pieces []arrow.RecordBatch) {
	at := int64(0)
	for _, b := range batches {
		from, to := max(first, at)-at, min(end, at+b.NumRows())-at
		if from < to {
			pieces = append(pieces, b.NewSlice(from, to))
		}
		at += b.NumRows()
	}
	return pieces
}

// NotNull is the error about NULL in a column that takes none.
func NotNull(table catalog.TableName, column string) error {
	e := sqlerror.New("23502", "null value in column %q of relation %q violates not-null constraint",
		column, table.Name)
	e.Object = sqlerror.Object{Schema: table.Schema, Table: table.Name, Column: column}
	return e
}

// encode writes the pending batches as one, in the storage layout, with memory of cw.
func (w *Writer) encode(ctx context.Context, cw *catalog.ChunkWriter) (arrow.RecordBatch, error) {
	return w.encodeIn(ctx, cw.Allocator(), cw.Err)
}

// encodeIn is encode in memory that is full when full says so.
func (w *Writer) encodeIn(ctx context.Context, mem memory.Allocator, full func() error) (arrow.RecordBatch, error) {
	fields := w.target.Schema.Fields()
	columns := make([]arrow.Array, 0, len(fields))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for i, f := range fields {
		parts := make([]arrow.Array, len(w.pending))
		for k, b := range w.pending {
			parts[k] = b.Column(i)
		}
		column, err := w.encodeColumn(ctx, mem, i, parts)
		if full := full(); full != nil { // then the column lies elsewhere, and so will all that follow
			if column != nil {
				column.Release()
			}
			return nil, full
		}
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		columns = append(columns, column)
		fields[i].Type = column.DataType()
		if !f.Nullable && column.NullN() > 0 {
			return nil, NotNull(w.target.Table, f.Name)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(hugetable.Written(w.target.Schema, fields), columns, w.rows), nil
}

func (w *Writer) encodeColumn(ctx context.Context, mem memory.Allocator, i int,
	parts []arrow.Array) (arrow.Array, error) {
	want := w.target.Schema.Field(i).Type
	if t, ok := want.(*enumeration.Type); ok {
		want = t.StorageType()
	}
	kind := kindOf(want)
	if kind == notString || normal.IsOpaque(w.target.Schema.Field(i)) {
		return concatenate(ctx, mem, parts, want, check{anyDigits: w.target.Intermediate})
	}
	list := make([]*cells, len(parts))
	for k, p := range parts {
		c, release, err := stringCells(ctx, p, want)
		if err != nil {
			return nil, err
		}
		defer release()
		list[k] = c
	}
	if kind == text && !w.wide[i] && !w.target.Plain {
		a, err := encodeDictionary(mem, list, int(w.rows))
		if err != nil || a != nil {
			return a, err
		}
		w.wide[i] = true
	}
	return encodeViews(mem, list, int(w.rows), kind)
}

// stringCells reads an array of strings or bytes; release it when the cells are no longer needed.
func stringCells(ctx context.Context, a arrow.Array, want arrow.DataType) (*cells, func(), error) {
	if kindOf(Logical(a.DataType())) == notString {
		return nil, nil, errType(a.DataType(), want)
	}
	if c := cellsOf(a); c != nil {
		return c, func() {}, nil
	}
	plain, err := unpack(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	if c := cellsOf(plain); c != nil {
		return c, plain.Release, nil
	}
	plain.Release()
	return nil, nil, errType(a.DataType(), want)
}
