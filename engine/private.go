package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/planned"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/engine/temporary"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/statement"
)

// temporaryNames asks DuckDB. After an error the caller must not go on: the statement would mean the table of the same
// name that all sessions share.
func (s *Session) temporaryNames(ctx context.Context) (snapshot.Temporary, error) {
	if !s.temporary {
		return nil, nil
	}
	s.yield()
	return temporary.Names(ctx, s.conn)
}

// temporaryUnlisted asks DuckDB for the names of the session's own sequences, types or macros.
func (s *Session) temporaryUnlisted(kind statement.Object) func(context.Context) (snapshot.Temporary, error) {
	return func(ctx context.Context) (snapshot.Temporary, error) {
		if !s.temporary {
			return nil, nil
		}
		s.yield()
		return temporary.Unlisted(ctx, s.conn, kind)
	}
}

// changedTemporary notes that the session has, or had, temporary objects.
func (s *Session) changedTemporary() {
	s.temporary = true
	if s.block != nil {
		s.block.temporary++
	}
}

// dropTemporary drops what the session made for itself.
func (s *Session) dropTemporary() error {
	if !s.temporary {
		return nil
	}
	s.yield()
	err := temporary.DropAll(s.conn, s.changedTemporary)
	s.temporary = err != nil
	return err
}

// preparePrivate readies a statement about temporary objects, which DuckDB keeps.
func (st *Statement) preparePrivate(ctx context.Context, head *statement.Private) error {
	st.run = func(ctx context.Context, args []any) (*Rows, error) { return st.runPrivate(ctx, args) }
	if err := temporary.Refused(head.Verb, st.parsed.Text, st.parsed.Head, st.parts != nil || st.part); err != nil {
		return err
	}
	if !slices.Contains([]string{"insert", "update", "delete", "create"}, head.Verb) ||
		!strings.Contains(st.parsed.Text, "$") && rewrite.ReturningOf(st.parsed.Head) == nil {
		return nil
	}
	return st.describePrivate(ctx)
}

// describePrivate asks DuckDB what parameters a statement about a temporary table has, and what it returns.
func (st *Statement) describePrivate(ctx context.Context) error {
	v, err := st.session.see(ctx)
	if err != nil {
		return err
	}
	defer v.Release()
	duck, err := st.privateStatement(ctx, v)
	if err != nil {
		return err
	}
	defer duck.Close()
	st.params = duck.Parameters()
	if st.returning = rewrite.ReturningOf(st.parsed.Head); st.returning == nil {
		return nil
	}
	schema, err := duck.Schema()
	if err != nil {
		return err
	}
	st.schema = planned.ClientNames(conform.Schema(schema), st.parsed.Tree, false)
	return nil
}

// privateStatement is the statement as DuckDB is given it.
func (st *Statement) privateStatement(ctx context.Context, v *snapshot.View) (*duckdb.Statement, error) {
	s := st.session
	s.yield()
	v.Reads.Everything() // DuckDB looks its names up
	if err := s.showNames(v); err != nil {
		return nil, err
	}
	text, explain, err := st.privateText(ctx, v)
	if err != nil {
		return nil, err
	}
	if err := s.describeForViews(nil, nil, v); err != nil {
		return nil, err
	}
	s.visible = v
	duck, err := s.conn.Prepare(text)
	s.visible = nil
	if err != nil {
		return nil, st.parsed.PreferSyntax(temporary.Explain(explain(err)))
	}
	return duck, nil
}

// privateText writes the statement for DuckDB, and says how errors of DuckDB's about it become errors about the user's text.
func (st *Statement) privateText(ctx context.Context, v *snapshot.View) (text string, explain func(error) error, err error) {
	s := st.session
	text, moved, err := temporary.Text(s.conn, st.parsed.Text, st.parsed.Head)
	if err != nil {
		return "", nil, err
	}
	made := edit.List(nil)
	put := func(text string) string { return text } // what DuckDB alone reads
	if head, ok := st.parsed.Head.(*statement.CreateTable); ok {
		if text, moved, err = definition.Limited(text, head); err != nil {
			return "", nil, err
		}
		if text, made, put, err = s.templates(v).Text(ctx, text, head); err != nil {
			return "", nil, err
		}
		moved = moved.Then(made)
	}
	head, isView := st.parsed.Head.(*statement.CreateView)
	if isView {
		bound, made, err := st.session.viewTexts(v).TemporaryView(ctx, head, st.parsed.Text)
		if err != nil && !dialect.IsParsers(err) { // a syntax error gets its place below
			return "", nil, err
		} else if err == nil {
			text, moved = bound, made
		}
	}
	if st.postgres {
		if text, made, err = temporary.Columns(text, st.parsed, s.describeBeside(v)); err != nil {
			return "", nil, err
		}
		moved = moved.Then(made)
	}
	explain = func(err error) error { return dialect.FromDuckDB(err, text, st.parsed.Text, moved) }
	before, query := "", text
	if head, ok := st.parsed.Head.(*statement.CreateTableAs); ok && strings.HasSuffix(text, head.Query) { // PostgreSQL has no CREATE OR REPLACE TABLE
		before, query = text[:len(text)-len(head.Query)], head.Query
	}
	words, catalogs, err := dialect.Words(st.source(query))
	if err != nil || words.Text() == query {
		return put(dialect.Operators(text)), explain, err
	}
	if catalogs {
		s.catalogViews = s.catalogViews || isView
		if err := s.describeTables(v); err != nil {
			return "", nil, err
		}
	}
	text = put(dialect.Operators(before + words.Text()))
	return text, func(err error) error { return dialect.WithoutPosition(dialect.FromDuckDB(err, text, text, nil)) }, nil
}

// runPrivate lets DuckDB run the statement if all it touches is temporary. It runs in a transaction of DuckDB's, so that what it made of rows
// that turn out not to be trustworthy (E3) can be taken back.
func (st *Statement) runPrivate(ctx context.Context, args []any) (*Rows, error) {
	s := st.session
	if s.block != nil {
		return st.runPrivateInBlock(ctx, args)
	}
	s.beginImplicit()
	rows, err := st.runPrivateInBlock(ctx, args)
	if err != nil {
		s.rollback()
		return nil, err
	}
	return rows, s.commit(ctx)
}

func (st *Statement) runPrivateInBlock(ctx context.Context, args []any) (*Rows, error) {
	s := st.session
	faults := s.engine.reader.Faults()
	v, err := s.see(ctx)
	if err != nil {
		return nil, err
	}
	defer v.Release()
	if err := st.means(v); err != nil {
		return nil, err
	}
	s.yield()
	if err := s.beginDuck(s.block); err != nil {
		return nil, err
	}
	duck, err := st.privateStatement(ctx, v)
	if err != nil {
		return nil, err
	}
	defer duck.Close()
	tag, err := temporary.Tag(duck.Kind(), st.parsed.Text, st.parsed.Head)
	if err != nil {
		return nil, err
	}
	if err := duck.Bind(args); err != nil {
		return nil, dialect.FromDuckDB(err, st.parsed.Text, st.parsed.Text, nil)
	}
	rows, err := duck.Execute(ctx)
	if err != nil {
		return nil, v.Lease.ErrorOr(dialect.FromDuckDB(v.Read.Blame(ctx, err), st.parsed.Text, st.parsed.Text, nil), v.Read)
	}
	defer rows.Close()
	s.changedTemporary()
	if st.returning != nil {
		out, err := st.privateReturned(ctx, rows, tag)
		if err != nil {
			return nil, err
		}
		if err := s.engine.trustworthy(ctx, faults, v.Read, v.Lease); err != nil {
			out.close() // nothing of it counts
			return nil, err
		}
		return out, nil
	}
	changed := temporary.Count(rows)
	marked, err := temporary.Mark(s.conn, st.parsed.Text, st.parsed.Head, v.Own)
	if s.onCommit = s.onCommit || marked; err != nil {
		return nil, err
	}
	if err := s.engine.trustworthy(ctx, faults, v.Read, v.Lease); err != nil {
		return nil, err
	}
	if strings.Contains(tag, "%d") {
		tag = fmt.Sprintf(tag, changed)
	}
	return done(tag, changed), nil
}

// privateReturned are the rows that a change of a temporary table returns.
func (st *Statement) privateReturned(ctx context.Context, rows *duckdb.Rows, tag string) (*Rows, error) {
	out := st.session.keeper()
	err := out.Drain(ctx, func(context.Context) (arrow.RecordBatch, error) { return rows.Next() })
	if err != nil {
		out.Release()
		return nil, dialect.WithoutPosition(dialect.FromDuckDB(err, st.parsed.Text, st.parsed.Text, nil))
	}
	return keptRows(out, st.schema, fmt.Sprintf(tag, out.Rows), out.Rows), nil
}
