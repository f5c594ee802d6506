package files

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// TextRows are rows of text, as COPY … FROM STDIN has them.
type TextRows struct {
	Table   string
	Schema  *arrow.Schema // the table's
	Columns []string      // of it, that the rows fill
	Next    func() ([][]byte, error)
	Line    func() int // on which the row that Next gave last begins; nil: each has one
	Held    Gathering
	// Add takes a batch of text, outside of Go's heap, which is released after it.
	Add func(batch arrow.RecordBatch) error
	// Culprit is a connection on which errors do not matter.
	Culprit func() (*duckdb.Connection, error)

	Count int64 // of rows that were read
}

// Copy hands all rows over, in batches. Errors name the first row that is wrong.
func (r *TextRows) Copy(ctx context.Context) error {
	fields := make([]arrow.Field, len(r.Columns))
	forms := make([]literal.Form, len(r.Columns))
	for i, c := range r.Columns {
		fields[i] = arrow.Field{Name: c, Type: arrow.BinaryTypes.String, Nullable: true}
		forms[i] = literal.Of(r.Schema.Field(ingest.Index(r.Schema, c)))
	}
	text := arrow.NewSchema(fields, nil)
	defer r.Held.Clear()
	line := r.Line
	if line == nil {
		line = func() int { return int(r.Count) }
	}
	for {
		first := r.Count
		var lines LineMarks
		batch, err := Gather(text, forms, &r.Held, r.Next, func() int64 {
			at := int64(line())
			lines.Note(r.Count-first-1, at)
			return at
		}, &r.Count)
		if problem, ok := err.(*sqlerror.Error); ok && problem.ContextText != "" {
			problem.ContextText = "COPY " + r.Table + ", " + problem.ContextText
		}
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		if batch.NumRows() > 0 {
			if failed := r.Add(batch); failed != nil {
				failed = TextCulprit(ctx, r.Culprit, r.Table, r.Schema, r.Columns, batch, lines, failed)
				batch.Release()
				return Where(failed, r.Count, r.Count-first)
			}
		}
		batch.Release()
		r.Held.Clear()
		if ended {
			return nil
		}
	}
}
