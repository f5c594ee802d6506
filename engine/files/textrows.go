package files

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/textblock"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Stream is what a client sends as text.
type Stream struct {
	Next func() ([][]byte, error) // gives row by row
	Line func() int               // on which the row that Next gave last begins; nil: each has one
	// Blocks are the same rows, if the stream can be cut into blocks.
	Blocks *textblock.Source
}

// TextRows are rows of text, as COPY … FROM STDIN has them.
type TextRows struct {
	Table   string
	Schema  *arrow.Schema // the table's
	Columns []string      // of it, that the rows fill
	Stream  Stream
	Threads int // that work on blocks
	Held    Gathering
	// Add takes a batch of text, outside of Go's heap, which is released after it. Columns may be of the table's types
	// already. Keep takes batches that have all columns of the table, of its types; nil: Add does.
	Add, Keep func(batch arrow.RecordBatch) error
	// Culprit is a connection on which errors do not matter.
	Culprit func() (*duckdb.Connection, error)

	Count int64 // of rows that were read
}

// Copy hands all rows over, in batches. Errors name the first row that is wrong.
func (r *TextRows) Copy(ctx context.Context) error {
	filled := make([]arrow.Field, len(r.Columns))
	for i, c := range r.Columns {
		filled[i] = r.Schema.Field(ingest.Index(r.Schema, c))
	}
	if b := r.Stream.Blocks; b != nil && b.Columns == len(filled) { // which is not so if the table was altered
		columns := textblock.ColumnsOf(r.Table, filled)
		return columns.Each(ctx, *b, r.Held.ofBlocks(), r.Threads, func(b *textblock.Batch) error {
			r.Count += b.Rows.NumRows()
			add := r.Add
			if order := cast.Complete(b.Rows, r.Schema, r.Columns); order != nil && r.Keep != nil {
				add = func(batch arrow.RecordBatch) error {
					rows := duckdb.Project(batch, order)
					defer rows.Release()
					return r.Keep(rows)
				}
			}
			return r.add(ctx, b.Rows, b.Line, add)
		})
	}
	return r.gatherAll(ctx, filled)
}

// gatherAll is Copy row by row.
func (r *TextRows) gatherAll(ctx context.Context, filled []arrow.Field) error {
	fields := make([]arrow.Field, len(filled))
	forms := make([]literal.Form, len(filled))
	for i, f := range filled {
		fields[i] = arrow.Field{Name: r.Columns[i], Type: arrow.BinaryTypes.String, Nullable: true}
		forms[i] = literal.Of(f)
	}
	text := arrow.NewSchema(fields, nil)
	defer r.Held.Clear()
	line := r.Stream.Line
	if line == nil {
		line = func() int { return int(r.Count) }
	}
	for {
		first := r.Count
		var lines LineMarks
		batch, err := Gather(text, forms, &r.Held, r.Stream.Next, func() int64 {
			at := int64(line())
			lines.Note(r.Count-first-1, at)
			return at
		}, &r.Count)
		ended := errors.Is(err, io.EOF)
		if batch != nil {
			failed := r.add(ctx, batch, lines.of, r.Add)
			batch.Release()
			if failed != nil {
				return failed
			}
		}
		if problem, ok := err.(*sqlerror.Error); ok && problem.ContextText != "" {
			problem.ContextText = "COPY " + r.Table + ", " + problem.ContextText
		}
		if err != nil && !ended {
			return err
		}
		r.Held.Clear()
		if ended {
			return nil
		}
	}
}

// add hands a batch over, whose last row is the last one that was counted.
func (r *TextRows) add(ctx context.Context, batch arrow.RecordBatch, line func(row int64) int64,
	add func(batch arrow.RecordBatch) error) error {
	if batch.NumRows() == 0 {
		return nil
	}
	failed := add(batch)
	if failed == nil {
		return nil
	}
	failed = TextCulprit(ctx, r.Culprit, r.Table, r.Schema, r.Columns, batch, line, failed)
	return Where(failed, r.Count, batch.NumRows())
}
