package engine

import (
	"context"
	"time"

	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/prepared"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/engine/revalidation"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// NamedStatement is a prepared statement under its name.
type NamedStatement = prepared.Statement

// ProtocolStatements are those that a session's client named itself.
type ProtocolStatements = prepared.Protocol

// Named finds a statement that PREPARE made.
func (s *Session) Named(name string) (*NamedStatement, bool) { return s.named.Made(name) }

// ForgetNamed removes a statement that PREPARE made, if there is one of the name.
func (s *Session) ForgetNamed(name string) { s.named.Forget(name) }

// CurrentNamed finds a statement that PREPARE made, or the session's client. One that PREPARE made is prepared again if
// functions that it calls, or types of what it names, are others by now, as PostgreSQL does.
func (s *Session) CurrentNamed(ctx context.Context, name string) (*NamedStatement, error) {
	n, err := s.named.Find(name)
	if err != nil {
		return nil, err
	}
	if err := n.Grounds.Check(ctx, s.pin, s.relations); !n.FromSQL || !revalidation.Changed(err) {
		return n, err
	}
	return s.named.Again(n, func(text, in string) error {
		rows, err := s.query(ctx, lex.Client.Text(text), in, nil)
		if err == nil {
			rows.Close()
		}
		return dialect.WithoutPosition(err)
	})
}

// prepareNamed is PREPARE.
func (st *Statement) prepareNamed(ctx context.Context, head *statement.Prepare) (*Rows, error) {
	s := st.session
	if err := s.named.Refuse(head.Name); err != nil {
		return nil, err
	}
	n := &NamedStatement{
		Name: head.Name, Query: head.Query, Source: st.written.Original(st.parsed.Text), FromSQL: true,
		Grounds: st.grounds, In: dialect.Name(st.postgres),
		Since: time.Now(), Declared: len(head.Types), Names: st.written.Parameters,
		Types: make([]string, len(head.Types)), OIDs: make([]uint32, len(head.Types)),
	}
	for i, t := range head.Types {
		name, oid, err := s.parameterType(t)
		if err != nil {
			return nil, err
		}
		n.Types[i], n.OIDs[i] = name, oid
	}
	err := n.Check(st.parsed.Text[:head.QueryAt], func(text string) ([]duckdb.ParameterType, bool, error) {
		planned, err := s.ProbeIn(ctx, text, DialectDuckDB)
		if err != nil {
			return nil, false, err
		}
		defer planned.Close()
		return planned.params, planned.asText(), nil
	})
	if err != nil {
		return nil, err
	}
	return done("PREPARE", 0), s.named.Add(ctx, n)
}

// parameterType is the type that PREPARE declares, as DuckDB calls it and as PostgreSQL numbers it.
func (s *Session) parameterType(declared string) (name string, oid uint32, err error) {
	name = prepared.TypeName(declared)
	s.yield()
	f, err := definition.TypeNamed(s.conn, name, declared)
	if err != nil {
		return "", 0, err
	}
	f.Type = ingest.Logical(f.Type)
	oid, _ = relation.Type(f)
	return name, oid, nil
}

// prepareExecute plans the named statement for its arguments: what is described is what it gives for them. That there is none is an
// error of running it, as in PostgreSQL.
func (st *Statement) prepareExecute(ctx context.Context, head *statement.Execute) error {
	s := st.session
	if _, err := s.named.Find(head.Name); err != nil {
		st.run = func(context.Context, []any) (*Rows, error) { return nil, err }
		return nil
	}
	text, err := s.executed(ctx, head)
	if err != nil {
		return err
	}
	inner, err := s.PrepareIn(ctx, text, DialectDuckDB)
	if err != nil {
		return dialect.WithoutPosition(err)
	}
	st.inner, st.schema, st.origins = inner, inner.schema, inner.origins
	st.run = func(ctx context.Context, args []any) (*Rows, error) {
		if len(args) > 0 {
			return nil, sqlerror.New("42P02", "there is no parameter $1")
		}
		if _, err := s.named.Find(head.Name); err != nil {
			return nil, err
		}
		rows, err := inner.Execute(ctx, nil)
		return rows, dialect.WithoutPosition(err)
	}
	return nil
}

// executed is the text of a prepared statement with the arguments in place of its parameters.
func (s *Session) executed(ctx context.Context, head *statement.Execute) (string, error) {
	n, err := s.CurrentNamed(ctx, head.Name)
	if err != nil {
		return "", err
	}
	x, err := n.Execute(head)
	if err != nil {
		return "", err
	}
	values, asked, list, err := x.Values()
	if err != nil {
		return "", err
	}
	if len(asked) > 0 {
		constants, err := s.evaluate(ctx, list)
		if err != nil {
			return "", err
		}
		for k, i := range asked {
			values[i] = constants[k]
		}
	}
	return x.Text(values)
}

// evaluate asks for the values of expressions, and writes each as a constant of its type.
func (s *Session) evaluate(ctx context.Context, expressions []string) ([]string, error) {
	rows, err := s.query(ctx, lex.Client.Text(prepared.Question(expressions)), DialectDuckDB, nil)
	if err != nil {
		return nil, dialect.WithoutPosition(err)
	}
	defer rows.Close()
	batch, err := rows.Next(ctx)
	if err != nil {
		return nil, dialect.WithoutPosition(err)
	}
	defer batch.Release()
	return prepared.Constants(batch, len(expressions))
}
