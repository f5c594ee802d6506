package engine

import (
	"context"
	"errors"
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
	"github.com/csmsql/csmsql/engine/temporary"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// COPY … FROM STDIN: rows of text from the client, which DuckDB turns into the table's types.

// CopyRowsPerBatch is how many rows of text CopyIn gathers at most before DuckDB converts them.
const CopyRowsPerBatch = files.RowsPerBatch

// CopyIn runs a COPY … FROM STDIN: next returns a row's fields (nil for NULL), valid until its next call, or io.EOF.
// It stores nothing unless all rows are good and returns the command tag. A caller that cancels makes next return, too.
func (st *Statement) CopyIn(ctx context.Context, next func() ([][]byte, error)) (string, error) {
	return st.CopyInFrom(ctx, files.Stream{Next: next})
}

// CopyInFrom is CopyIn of a stream that may have lines, which errors name, and blocks, which several threads read.
func (st *Statement) CopyInFrom(ctx context.Context, stream files.Stream) (string, error) {
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
		if err == snapshot.ErrTemporary {
			count, err = s.copyTemporary(ctx, head, v, stream)
		}
		if err != nil || version == nil {
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
		keep := func(rows arrow.RecordBatch) error { return w.Add(ctx, rows) }
		rows := s.textRows(version.Table().Name.Name, schema, columns, stream, func(batch arrow.RecordBatch) error {
			return cast.Text(ctx, s.conn, batch, schema, columns, keep)
		})
		rows.Keep = keep
		if err := rows.Copy(ctx); err != nil {
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

// copyTemporary copies rows into a temporary table, which DuckDB keeps.
func (s *Session) copyTemporary(ctx context.Context, head *statement.Copy, v *snapshot.View,
	stream files.Stream) (int64, error) {
	schema, columns, err := s.temporaryColumns(ctx, head, v)
	if err != nil {
		return 0, err
	}
	s.yield()
	if err := s.beginDuck(s.block); err != nil {
		return 0, err
	}
	s.changedTemporary()
	rows := s.textRows(head.Name.Name, schema, columns, stream, func(batch arrow.RecordBatch) error {
		return temporary.Insert(ctx, s.conn, head.Name.Name, batch, schema, columns)
	})
	err = rows.Copy(ctx)
	return rows.Count, err
}

// temporaryColumns are those of a temporary table, and those that a COPY fills.
func (s *Session) temporaryColumns(ctx context.Context, head *statement.Copy,
	v *snapshot.View) (*arrow.Schema, []string, error) {
	schema, err := s.putsOut(ctx, v, "SELECT * FROM "+temporary.Qualified(head.Name.Name))
	if err != nil {
		return nil, nil, err
	}
	columns, err := files.Columns(schema, head.Columns)
	return schema, columns, err
}

// textRows are the rows of text that a client sends, as add takes them.
func (s *Session) textRows(table string, schema *arrow.Schema, columns []string, stream files.Stream,
	add func(batch arrow.RecordBatch) error) *files.TextRows {
	return &files.TextRows{
		Table: table, Schema: schema, Columns: columns, Stream: stream, Threads: s.engine.threads(),
		Held: files.Gathering{
			Account: s, Kind: account.Copy, Most: min(budget.GatherMost, s.engine.memory.Clients/files.GatherPart),
		},
		Add: func(batch arrow.RecordBatch) error {
			s.yield()
			return add(batch)
		},
		Culprit: s.culpritConnection,
	}
}

// culpritConnection is a connection on which the session's texts mean the same, and errors do not matter.
func (s *Session) culpritConnection() (*duckdb.Connection, error) {
	conn, err := s.engine.db.Connect(nil)
	if err != nil {
		return nil, err
	}
	conn.OnSequence(sequence.Zeros)
	if err := errors.Join(conn.Exec("SET TimeZone = "+duckdb.QuoteLiteral(s.settings.Zone())), conn.LookIn("")); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
