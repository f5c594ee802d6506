package engine

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/files"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/temporary"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// COPY, except from the client (copyin.go): DuckDB reads and writes the files.

func (st *Statement) prepareCopy(ctx context.Context, head *statement.Copy) error {
	if err := files.CheckOptions(head.Options); err != nil {
		return err
	}
	if !head.Client {
		if err := head.Check(files.FormatOf(head)); err != nil {
			return err
		}
	}
	if head.From {
		return st.prepareCopyFrom(ctx, head)
	}
	return st.prepareCopyTo(ctx, head)
}

// Copy is the statement's COPY … STDIN or STDOUT, nil when it is something else.
func (st *Statement) Copy() *statement.Copy {
	if head, ok := st.parsed.Head.(*statement.Copy); ok && head.Client {
		return head
	}
	return nil
}

func (st *Statement) prepareCopyTo(ctx context.Context, head *statement.Copy) error {
	s := st.session
	v, err := s.shown(s.pinRead(ctx, false, nil))
	if err != nil {
		return err
	}
	defer v.Release()
	text := dialect.CopyQuery(head)
	version, err := v.Copied(head)
	if version != nil && err != nil {
		return err
	} else if version != nil && head.Columns == nil && cast.Generates(version.Table().Columns) {
		named := *head
		named.Columns = cast.Written(version.Table().Columns)
		text = dialect.CopyQuery(&named)
	}
	plan, err := s.planQuery(ctx, st.source(text), v)
	if err != nil {
		return st.parsed.PointAt(cast.Verbatim(text).Relocate(err, st.parsed.Text), head.Name.Name)
	}
	if head.Client {
		st.setPlan(plan)
		st.schema = plan.schema
		st.run = func(ctx context.Context, args []any) (*Rows, error) {
			rows, err := st.read(ctx, args)
			if err == nil {
				rows.tag = func(n int64) string { return fmt.Sprintf("COPY %d", n) }
			}
			return rows, err
		}
		return nil
	}
	plan.close()
	st.run = func(ctx context.Context, _ []any) (*Rows, error) {
		if format := files.FormatOf(head); format == files.FormatArrow || format == files.FormatArrowStream {
			return st.copyToArrow(ctx, head, text)
		}
		return st.copyToFile(ctx, head, text)
	}
	return nil
}

// copyToFile lets DuckDB write the file, if the session may.
func (st *Statement) copyToFile(ctx context.Context, head *statement.Copy, text string) (*Rows, error) {
	s := st.session
	v, err := s.seeRead(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	plan, err := s.planDuck(ctx, st.source(text), v)
	if err != nil {
		return nil, err
	}
	defer plan.close()
	v.Read.Begin()
	for _, t := range plan.scans {
		if err := t.Start(ctx, nil); err != nil {
			return nil, err
		}
	}
	options, err := files.WriteOptions(head)
	if err != nil {
		return nil, err
	}
	given := plan.Given
	if files.FormatOf(head) == "json" { // DuckDB writes its own text of bytes there
		if given, err = cast.BytesShown(given, plan.schema); err != nil {
			return nil, err
		}
	}
	s.yield()
	s.visible = v
	duck, err := s.conn.Prepare("COPY (" + given + "\n) TO " + duckdb.QuoteLiteral(head.File) + options)
	s.visible = nil
	if err != nil {
		return nil, files.Error(err)
	}
	defer duck.Close()
	rows, err := duck.Execute(ctx)
	if err != nil {
		return nil, v.Lease.ErrorOr(files.Error(v.Read.Blame(ctx, err)), v.Read)
	}
	defer rows.Close()
	n := temporary.Count(rows)
	if err := s.engine.trustworthy(ctx, plan.Faults, v.Read, v.Lease); err != nil {
		return nil, err
	}
	return done(fmt.Sprintf("COPY %d", n), n), nil
}

func (st *Statement) prepareCopyFrom(ctx context.Context, head *statement.Copy) error {
	s := st.session
	v, err := s.see(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	version, err := v.Copied(head)
	switch {
	case err == snapshot.ErrTemporary && head.Client && !head.Freeze():
		_, _, err = s.temporaryColumns(ctx, head, v)
	case err == snapshot.ErrTemporary:
		return sqlerror.New("0A000", "COPY of a file, or with FREEZE, into a temporary table is not supported").
			WithHint("INSERT INTO t SELECT … FROM the file works.")
	case err == nil:
		_, err = files.Columns(version.Table().Columns, head.Columns)
	}
	if err != nil {
		return st.parsed.PointAt(err, head.Name.Name)
	}
	if head.Columns == nil && version != nil && cast.Generates(version.Table().Columns) { // for the reader
		head.Columns = cast.Written(version.Table().Columns)
	}
	if head.Client {
		st.run = func(context.Context, []any) (*Rows, error) {
			return nil, sqlerror.New("08P01", "COPY FROM STDIN needs a stream of rows")
		}
		return nil
	}
	st.run = func(ctx context.Context, _ []any) (*Rows, error) {
		if format := files.FormatOf(head); format == files.FormatArrow || format == files.FormatArrowStream {
			return st.copyFromArrow(ctx, head)
		}
		return st.copyFromFile(ctx, head)
	}
	return nil
}

// copyFromFile reads the file with DuckDB, if the session may.
func (st *Statement) copyFromFile(ctx context.Context, head *statement.Copy) (*Rows, error) {
	s := st.session
	var count int64
	err := s.write(ctx, func(tx *catalog.Transaction, v *snapshot.View) error {
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
		s.yield()
		from, err := files.Call(head, schema, columns)
		if err != nil {
			return err
		}
		if err := files.Check(ctx, s.conn, s.engine.config.Files, head, from, columns); err != nil {
			return err
		}
		src, err := cast.Query("SELECT * FROM "+from, schema, columns)
		if err != nil {
			return err
		}
		duck, err := s.conn.Prepare(src.Text)
		if err != nil {
			return files.Error(dialect.InFile(head.File, err))
		}
		defer duck.Close()
		culprit := func(err error) error {
			if err == nil || isEnd(err) {
				return err
			}
			return files.Error((&files.Reading{File: head.File, Call: from, Schema: schema, Columns: columns}).CulpritApart(ctx, s.culpritConnection, err))
		}
		rows, err := duck.Execute(ctx)
		if err != nil {
			return culprit(err)
		}
		defer rows.Close()
		read := s.engine.sourceFile(head.File, true, columns, func(file string) (string, error) {
			absolute := *head
			absolute.File = file
			return files.Call(&absolute, schema, columns)
		})
		count, err = s.engine.upkeep.Store(ctx, tx, version.Table().Name, s.settings.Zone(), func(context.Context) (arrow.RecordBatch, error) { return rows.Next() }, nil, read.Origin)
		return culprit(err)
	})
	if err != nil {
		return nil, err
	}
	return done(fmt.Sprintf("COPY %d", count), count), nil
}
