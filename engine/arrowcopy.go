package engine

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/compressed"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// COPY of Arrow IPC files on the server's side, which DuckDB does not do: FORMAT arrow is a file, FORMAT arrows a stream. UUID and JSON are the
// extension types arrow.uuid and arrow.json in them.

// The formats.
const (
	formatArrow  = "arrow"
	formatArrows = "arrows"
)

// plainArrow refuses names that promise what is not done.
func plainArrow(file string) error {
	if compressed.Named(file) {
		return sqlerror.New("0A000", "Arrow files are not compressed as a whole").WithHint("COMPRESSION zstd compresses what is in them; the name ends in .arrow.")
	}
	return nil
}

// copyFromArrow reads a file's rows into the columns that the COPY fills, by position.
func (st *Statement) copyFromArrow(ctx context.Context, head *statement.Copy) (*Rows, error) {
	s := st.session
	if err := plainArrow(head.File); err != nil {
		return nil, err
	}
	for _, o := range head.Options {
		if o.Name != "format" && o.Name != "freeze" && o.Name != "encoding" {
			return nil, sqlerror.New("0A000", "COPY option %q is not supported", o.Name)
		}
	}
	var count int64
	err := s.write(ctx, func(tx *catalog.Transaction, v *visible) error {
		version, err := s.target(v, head.Name)
		if err != nil {
			return err
		}
		if err := s.mayFreeze(tx, head, version.Table()); err != nil {
			return err
		}
		schema := version.Table().Columns
		columns, err := copyColumns(schema, head.Columns)
		if err != nil {
			return err
		}
		f, err := openForSQL(s.engine.config.Files, head.File)
		if err != nil {
			return err
		}
		defer f.Close()
		file, err := openArrow(f, s.engine.memory.whole)
		if err != nil {
			return err
		}
		if have := file.schema.NumFields(); have != len(columns) {
			return sqlerror.New("22P04", "%s has %s, %d are copied", head.File, counted.Of(have, "column"), len(columns))
		}
		target, err := s.engine.upkeep.TargetFor(ctx, version, s.zone())
		if err != nil {
			return err
		}
		w := ingest.NewWriter(target)
		defer w.Abort()
		s.yield()
		read := s.engine.sourceFile(head.File, true, columns, nil)
		if err := s.addArrow(ctx, w, file, schema, columns); err != nil {
			return err
		}
		count = w.Rows()
		chunks, parts, err := w.FinishParts(ctx)
		if err != nil || len(chunks) == 0 {
			return err
		}
		return tx.AppendFrom(version.Table().Name, chunks, upkeep.LaidOut(read.Origin(count), target, parts).Encode())
	})
	if err != nil {
		return nil, err
	}
	return done(fmt.Sprintf("COPY %d", count), count), nil
}

func (s *Session) addArrow(ctx context.Context, w *ingest.Writer, file *arrowFile, schema *arrow.Schema, columns []string) error {
	add := func(rows arrow.RecordBatch) error { return w.Add(ctx, rows) }
	direct := file.fits(schema)
	rows := int64(0)
	for {
		batch, err := file.Next(ctx)
		if isEnd(err) {
			return nil
		}
		if err != nil {
			return err
		}
		if direct {
			err = add(batch)
		} else if err = cast.Batch(ctx, s.conn, batch, schema, columns, add); isBadValue(err) {
			err = s.arrowCulprit(ctx, file.name, rows, batch, schema, columns, err)
		}
		rows += batch.NumRows()
		batch.Release()
		if err != nil {
			return err
		}
	}
}

// copyToArrow writes a query's rows.
func (st *Statement) copyToArrow(ctx context.Context, head *statement.Copy, text string) (*Rows, error) {
	s := st.session
	if err := plainArrow(head.File); err != nil {
		return nil, err
	}
	options, err := arrowOptions(head)
	if err != nil {
		return nil, err
	}
	v, err := s.see(ctx)
	if err != nil {
		return nil, err
	}
	defer v.release()
	plan, err := s.planQuery(ctx, text, st.treeOf(text), v)
	if err != nil {
		return nil, err
	}
	defer plan.close()
	rows, err := plan.execute(ctx, v, nil)
	if err != nil {
		return nil, err
	}
	defer rows.close()
	err = writeForSQL(s.engine.config.Files, head.File, func(f *os.File) error {
		return writeArrow(ctx, f, rows, formatOf(head) == formatArrows, options)
	})
	if err != nil {
		return nil, err
	}
	return done(fmt.Sprintf("COPY %d", rows.count), rows.count), nil
}

func arrowOptions(head *statement.Copy) (options []ipc.Option, err error) {
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

// writeArrow writes rows to their end, and with it their last check (E3).
func writeArrow(ctx context.Context, f *os.File, rows *Rows, stream bool, options []ipc.Option) (err error) {
	options = append(options, ipc.WithSchema(rows.schema))
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
		batch, err := rows.Next(ctx)
		if isEnd(err) {
			break
		}
		if err == nil {
			batch, err = conform.Batch(batch, rows.schema)
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
		column, err := array.Concatenate(parts, memory.DefaultAllocator)
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
