package engine

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/definition"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/engine/prepared"
	"github.com/csmsql/csmsql/engine/relation"
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
func (s *Session) Named(name string) (*NamedStatement, bool) {
	n, ok := s.named[name]
	return n, ok
}

// ForgetNamed removes a statement that PREPARE made, if there is one of the name.
func (s *Session) ForgetNamed(name string) {
	if n, ok := s.named[name]; ok {
		s.Give(account.Statement, n.Bytes())
		delete(s.named, name)
	}
}

func (s *Session) findNamed(name string) (*NamedStatement, error) {
	if n, ok := s.named[name]; ok {
		return n, nil
	}
	if n, ok := s.options.Statements.Find(name); ok {
		return n, nil
	}
	return nil, sqlerror.New("26000", "prepared statement %q does not exist", name)
}

// namedMax bounds the statements that PREPARE makes in a session.
const namedMax = 1 << 14

// prepareNamed is PREPARE.
func (st *Statement) prepareNamed(ctx context.Context, head *statement.Prepare) (*Rows, error) {
	s := st.session
	if _, err := s.findNamed(head.Name); err == nil {
		return nil, sqlerror.New("42P05", "prepared statement %q already exists", head.Name).
			WithHint("DEALLOCATE it first, or use another name.")
	}
	if len(s.named) >= namedMax {
		return nil, sqlerror.New("53400", "too many prepared statements in this session").
			WithHint("DEALLOCATE those that are no longer needed.")
	}
	n := &NamedStatement{
		Name: head.Name, Query: head.Query, Source: cmp.Or(st.written.Users, st.parsed.Text), FromSQL: true,
		Since: time.Now(), Declared: len(head.Types),
		Names: st.written.Parameters, Functions: st.functions,
		Types: make([]string, len(head.Types)), OIDs: make([]uint32, len(head.Types)),
	}
	for i, t := range head.Types {
		name, oid, err := s.parameterType(t)
		if err != nil {
			return nil, err
		}
		n.Types[i], n.OIDs[i] = name, oid
	}
	if err := s.checkNamed(ctx, n, st.parsed.Text[:head.QueryAt]); err != nil {
		return nil, err
	}
	if err := s.Take(account.Statement, n.Bytes()); err != nil {
		return nil, err
	}
	if !outcome.Commits(ctx) {
		s.Give(account.Statement, n.Bytes())
		return nil, outcome.ErrUserRequest
	}
	if s.named == nil {
		s.named = map[string]*NamedStatement{}
	}
	s.named[n.Name] = n
	return done("PREPARE", 0), nil
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

// checkNamed plans the statement to see what is wrong with it and what types its parameters have. before is the text before it.
func (s *Session) checkNamed(ctx context.Context, n *NamedStatement, before string) error {
	given, changed, padded := n.Planned(before)
	parsed, err := statement.Parse(given)
	if err != nil {
		return dialect.InOriginal(err, changed, given, padded)
	}
	switch parsed.Head.(type) {
	case *statement.Select, *statement.Insert, *statement.Update, *statement.Delete, *statement.Merge:
	default:
		word := strings.Fields(n.Query)[0]
		e := sqlerror.New("42601", "syntax error at or near %q", word).WithHint("PREPARE takes SELECT, INSERT, UPDATE, DELETE, MERGE and VALUES.")
		e.At = utf8.RuneCountInString(before) + 1
		return e
	}
	planned, err := s.ProbeIn(ctx, given, DialectDuckDB)
	if err != nil {
		if n.Open() && prepared.AboutTypes(err) {
			return nil // its values will say of what type they are
		}
		return dialect.InOriginal(err, changed, given, padded)
	}
	defer planned.Close()
	if planned.asText() {
		return nil // it was planned as if all parameters were text
	}
	n.Deduce(planned.Parameters())
	return nil
}

// prepareExecute plans the named statement for its arguments: what is described is what it gives for them. That there is none is an
// error of running it, as in PostgreSQL.
func (st *Statement) prepareExecute(ctx context.Context, head *statement.Execute) error {
	s := st.session
	if _, err := s.findNamed(head.Name); err != nil {
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
		if _, err := s.findNamed(head.Name); err != nil {
			return nil, err
		}
		rows, err := inner.Execute(ctx, nil)
		return rows, dialect.WithoutPosition(err)
	}
	return nil
}

// executed is the text of a prepared statement with the arguments in place of its parameters.
func (s *Session) executed(ctx context.Context, head *statement.Execute) (string, error) {
	n, err := s.findNamed(head.Name)
	if err == nil {
		err = s.Unchanged(ctx, n.Functions)
	}
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

// deallocate is DEALLOCATE.
func (s *Session) deallocate(head *statement.Deallocate) (*Rows, error) {
	if head.Name == "" {
		s.forgetStatements()
		return done("DEALLOCATE ALL", 0), nil
	}
	_, ours := s.named[head.Name]
	s.ForgetNamed(head.Name)
	if !s.options.Statements.Forget(head.Name) && !ours {
		return nil, sqlerror.New("26000", "prepared statement %q does not exist", head.Name)
	}
	return done("DEALLOCATE", 0), nil
}

func (s *Session) forgetStatements() {
	for name := range s.named {
		s.ForgetNamed(name)
	}
	s.options.Statements.Forget("")
}
