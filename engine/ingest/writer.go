package ingest

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog"
)

// When a chunk is full. Rows: two scan morsels, so that a chunk is neither a burden to the catalog nor a unit too large
// to prune or to share between threads. Bytes bound what a writer holds outside of the region.
const (
	RowsPerChunk  = 2 * 122_880
	BytesPerChunk = 256 << 20
)

// Target is where chunks go.
type Target struct {
	Space catalog.Space
	Owner string
	// Discard gives back the memory of sealed chunks that nobody will publish.
	Discard func(chunks []*catalog.Chunk) error
	// Schema is the table's: logical types.
	Schema *arrow.Schema
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
	// wide: this column had too many distinct values for a dictionary before.
	wide []bool
}

// NewWriter returns a writer that holds nothing yet. End it with Finish or Abort.
func NewWriter(target Target) *Writer {
	return &Writer{target: target, wide: make([]bool, target.Schema.NumFields())}
}

// Rows that were added.
func (w *Writer) Rows() int64 { return w.total }

// Add takes the rows of batch, which stays the caller's. Its columns must have the target's names' order and types, or
// layouts of the same types.
func (w *Writer) Add(ctx context.Context, batch arrow.RecordBatch) error {
	for first := int64(0); first < batch.NumRows(); {
		n := min(batch.NumRows()-first, RowsPerChunk-w.rows)
		piece := batch.NewSlice(first, first+n)
		w.pending = append(w.pending, piece)
		w.rows += n
		w.total += n
		w.bytes += approximateBytes(batch) * n / max(batch.NumRows(), 1)
		first += n
		if w.rows >= RowsPerChunk || w.bytes >= BytesPerChunk {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func approximateBytes(batch arrow.RecordBatch) (n int64) {
	for _, c := range batch.Columns() {
		n += int64(c.Data().SizeInBytes())
	}
	return n
}

// Finish seals what is left and hands over all chunks. The writer is over.
func (w *Writer) Finish(ctx context.Context) ([]*catalog.Chunk, error) {
	if w.rows > 0 {
		if err := w.flush(ctx); err != nil {
			return nil, err
		}
	}
	chunks := w.chunks
	w.chunks = nil
	return chunks, nil
}

// Abort gives everything back (G4). Does nothing after Finish.
func (w *Writer) Abort() error {
	w.release()
	chunks := w.chunks
	w.chunks = nil
	if len(chunks) == 0 {
		return nil
	}
	return w.target.Discard(chunks)
}

func (w *Writer) release() {
	for _, b := range w.pending {
		b.Release()
	}
	w.pending, w.rows, w.bytes = nil, 0, 0
}

func (w *Writer) flush(ctx context.Context) error {
	defer w.release()
	cw := catalog.NewChunkWriter(w.target.Space, w.target.Owner, w.bytes+w.bytes/8+1<<16)
	batch, err := w.encode(cw.Allocator())
	if err == nil {
		err = cw.Err()
	}
	if err != nil {
		return errors.Join(err, cw.Abort())
	}
	defer batch.Release()
	chunk, err := cw.Seal(ctx, batch, catalog.SealOptions{SkipValidation: true}) // this process made every offset and code
	if err != nil {
		return err
	}
	w.chunks = append(w.chunks, chunk)
	return nil
}

// encode writes the pending batches as one, in the storage layout, with memory from mem.
func (w *Writer) encode(mem memory.Allocator) (arrow.RecordBatch, error) {
	fields := w.target.Schema.Fields()
	columns := make([]arrow.Array, len(fields))
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i := range fields {
		parts := make([]arrow.Array, len(w.pending))
		for k, b := range w.pending {
			parts[k] = b.Column(i)
		}
		column, err := w.encodeColumn(mem, i, parts)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", fields[i].Name, err)
		}
		columns[i] = column
		fields[i].Type = column.DataType()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, w.rows), nil
}

func (w *Writer) encodeColumn(mem memory.Allocator, i int, parts []arrow.Array) (arrow.Array, error) {
	want := w.target.Schema.Field(i).Type
	kind := kindOf(want)
	if kind == notString {
		return concatenate(mem, parts, want)
	}
	if kind == text && !w.wide[i] && !w.target.Plain {
		a, ok, err := encodeDictionary(mem, parts, int(w.rows))
		if err != nil || ok {
			return a, err
		}
		w.wide[i] = true
	}
	return encodeViews(mem, parts, int(w.rows), kind)
}

// concatenate writes parts as one array of type want.
func concatenate(mem memory.Allocator, parts []arrow.Array, want arrow.DataType) (arrow.Array, error) {
	for k, p := range parts {
		if arrow.TypeEqual(p.DataType(), want) {
			continue
		}
		converted, err := convert(p, want)
		if err != nil {
			return nil, err
		}
		defer converted.Release()
		parts[k] = converted
	}
	return array.Concatenate(parts, mem)
}
