package engine

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/budget"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/files"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/sequence"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// COPY … FROM STDIN: rows of text from the client, which DuckDB turns into the table's types.

// CopyRowsPerBatch is how many rows of text CopyIn gathers at most before DuckDB converts them.
const CopyRowsPerBatch = files.RowsPerBatch

// CopyIn runs a COPY … FROM STDIN: next gives one row's fields as text, nil for NULL, valid until the next call, and io.EOF at the
// end. Nothing is stored unless all rows are good. It returns the command tag. Whoever cancels ctx, or closes the session, sees to it that
// next returns.
func (st *Statement) CopyIn(ctx context.Context, next func() ([][]byte, error)) (string, error) {
	return st.CopyInLines(ctx, next, nil)
}

// CopyInLines is CopyIn of rows that stand on lines of a text: line tells on which one the row that next gave last begins. Errors name it.
func (st *Statement) CopyInLines(ctx context.Context, next func() ([][]byte, error), line func() int) (string, error) {
	s := st.session
	ctx, leave, err := s.life.Call(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	head := st.Copy()
	if head == nil || !head.From {
		return "", sqlerror.New("08P01", "this statement is not COPY … FROM STDIN")
	}
	if s.block != nil && s.block.failed {
		return "", errFailedBlock
	}
	if err := s.refuseWrite(ctx, st); err != nil {
		s.fail()
		return "", err
	}
	var count int64
	err = s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
		version, err := v.Target(head.Name)
		if err != nil {
			return err
		}
		if err := s.mayFreeze(tx, head, version.Table()); err != nil {
			return err
		}
		schema := version.Table().Columns
		columns, err := files.Columns(schema, head.Columns)
		if err != nil {
			return err
		}
		target, err := s.engine.upkeep.TargetFor(ctx, version, s.settings.Zone())
		if err != nil {
			return err
		}
		w := ingest.NewWriter(target)
		defer w.Abort()
		if err := s.copyBatches(ctx, w, version.Table().Name.Name, schema, columns, next, line); err != nil {
			return err
		}
		count = w.Rows()
		chunks, err := w.Finish(ctx)
		if err != nil || len(chunks) == 0 {
			return err
		}
		return tx.Append(version.Table().Name, chunks)
	})
	if err != nil {
		s.fail()
		return "", s.life.CauseOf(err)
	}
	return fmt.Sprintf("COPY %d", count), nil
}

func (s *Session) copyBatches(ctx context.Context, w *ingest.Writer, table string, schema *arrow.Schema, columns []string, next func() ([][]byte, error), line func() int) error {
	fields := make([]arrow.Field, len(columns))
	forms := make([]literal.Form, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c, Type: arrow.BinaryTypes.String, Nullable: true}
		forms[i] = literal.Of(schema.Field(ingest.Index(schema, c)))
	}
	text := arrow.NewSchema(fields, nil)
	count := int64(0)
	held := files.Gathering{
		Take: func(bytes int64) error { return s.Take(account.Copy, bytes) },
		Give: func(bytes int64) { s.Give(account.Copy, bytes) },
		Most: min(budget.GatherMost, s.engine.memory.Clients/files.GatherPart),
	}
	defer held.Clear()
	if line == nil {
		line = func() int { return int(count) }
	}
	for {
		first := count
		var lines files.LineMarks
		batch, err := files.Gather(text, forms, &held, next, func() int64 {
			at := int64(line())
			lines.Note(count-first-1, at)
			return at
		}, &count)
		if problem, ok := err.(*Error); ok && problem.ContextText != "" {
			problem.ContextText = "COPY " + table + ", " + problem.ContextText
		}
		if err != nil && !isEnd(err) {
			return err
		}
		if batch.NumRows() > 0 {
			s.yield()
			if failed := cast.Text(ctx, s.conn, batch, schema, columns, func(rows arrow.RecordBatch) error { return w.Add(ctx, rows) }); failed != nil {
				failed = files.TextCulprit(ctx, s.culpritConnection, table, schema, columns, batch, lines, failed)
				batch.Release()
				return files.Where(failed, count, count-first)
			}
		}
		batch.Release()
		held.Clear()
		if err != nil {
			return nil
		}
	}
}

// culpritConnection is a connection on which the session's texts mean the same, and errors do not matter.
func (s *Session) culpritConnection() (*duckdb.Connection, error) {
	conn, err := s.engine.db.Connect(nil)
	if err != nil {
		return nil, err
	}
	conn.OnSequence(sequence.Zeros)
	if err := conn.Exec("SET TimeZone = " + duckdb.QuoteLiteral(s.settings.Zone()) + "; SET search_path = " + duckdb.QuoteLiteral(pgcatalog.SessionSchema)); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
