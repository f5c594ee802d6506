package files

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/engine/compressed"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/internal/concatenation"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// ArrowOptions are a COPY's options as arrow-go's writers have them.
func ArrowOptions(head *statement.Copy) (options []ipc.Option, err error) {
	for _, o := range head.Options {
		switch o.Name {
		case "format", "encoding":
		case "compression", "codec":
			switch strings.ToLower(o.Value) {
			case "none", "uncompressed":
			case "zstd":
				options = append(options, ipc.WithZstd())
			case "lz4", "lz4_frame":
				options = append(options, ipc.WithLZ4())
			default:
				return nil, sqlerror.New("22023", "Arrow files are not compressed with %q", o.Value).WithHint("COMPRESSION may be zstd, lz4 or none, which can be read in place.")
			}
		default:
			return nil, sqlerror.New("0A000", "COPY option %q is not supported", o.Name)
		}
	}
	return options, nil
}

// What goes into a batch of a file: readers pay for each, and have to hold one.
const (
	arrowFileRows  = ingest.MorselRows
	arrowFileBytes = 16 << 20
)

// WriteArrow writes rows to their end, and with it their last check (E3).
func WriteArrow(ctx context.Context, f *os.File, schema *arrow.Schema,
	next func(context.Context) (arrow.RecordBatch, error),
	stream bool, options []ipc.Option) (err error) {
	options = append(options, ipc.WithSchema(schema))
	var w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}
	if stream {
		w = ipc.NewWriter(f, options...)
	} else if w, err = ipc.NewFileWriter(f, options...); err != nil {
		return inSystem(f.Name(), err)
	}
	g := &gathered{write: w.Write}
	defer g.drop()
	for {
		batch, err := next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			batch, err = conform.Batch(batch, schema)
		}
		if err == nil {
			err = g.add(batch)
		}
		if err != nil {
			return err
		}
	}
	if err := g.flush(); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return inSystem(f.Name(), err)
	}
	return nil
}

// gathered are batches that are to be written as one.
type gathered struct {
	write   func(arrow.RecordBatch) error
	batches []arrow.RecordBatch
	rows    int64
	bytes   int64
}

// add takes a batch over.
func (g *gathered) add(batch arrow.RecordBatch) error {
	g.batches = append(g.batches, batch)
	g.rows += batch.NumRows()
	if g.bytes += conform.Bytes(batch); g.rows < arrowFileRows && g.bytes < arrowFileBytes {
		return nil
	}
	return g.flush()
}

func (g *gathered) drop() {
	for _, b := range g.batches {
		b.Release()
	}
	g.batches, g.rows, g.bytes = nil, 0, 0
}

func (g *gathered) flush() error {
	defer g.drop()
	if len(g.batches) == 0 {
		return nil
	}
	first := g.batches[0]
	columns := make([]arrow.Array, first.NumCols())
	for i := range columns {
		parts := make([]arrow.Array, len(g.batches))
		for k, b := range g.batches {
			parts[k] = b.Column(i)
		}
		column, err := concatenation.Arrays(parts, memory.DefaultAllocator)
		if err != nil {
			return sqlerror.New("0A000", "column %q cannot be written: %v", first.ColumnName(i), err)
		}
		defer column.Release()
		columns[i] = column
	}
	whole := array.NewRecordBatch(first.Schema(), columns, g.rows)
	defer whole.Release()
	if err := g.write(whole); err != nil {
		return sqlerror.New("58030", "write an Arrow file: %v", err)
	}
	return nil
}

// The formats.
const (
	FormatArrow       = "arrow"
	FormatArrowStream = "arrows"
)

// CheckArrow refuses names that promise what is not done.
func CheckArrow(file string) error {
	if compressed.Named(file) {
		return sqlerror.New("0A000", "Arrow files are not compressed as a whole").WithHint("COMPRESSION zstd compresses what is in them; the name ends in .arrow.")
	}
	return nil
}
