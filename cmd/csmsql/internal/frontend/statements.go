package frontend

import (
	"context"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/wire"
	"github.com/csmsql/csmsql/wire/pgformat"
)

// SQL and the protocol have one set of names of prepared statements, as in PostgreSQL: PREPARE's are the engine's,
// Parse's are wire's, and each side asks the other through here.

// statements are those that Parse named, as the engine sees them.
type statements struct{ client wire.Client }

var (
	_ engine.ProtocolStatements = statements{}
	_ wire.Named                = (*session)(nil)
)

// Find implements engine.ProtocolStatements.
func (s statements) Find(name string) (*engine.NamedStatement, bool) {
	st, ok := s.client.Prepared(name)
	if !ok {
		return nil, false
	}
	var p *prepared
	switch st := st.(type) {
	case *prepared:
		p = st
	case *copyIn:
		p = st.prepared
	case *copyOut:
		p = st.prepared
	default:
		return &engine.NamedStatement{Name: name}, true // an empty query string
	}
	n := p.engine.Named()
	n.Name, n.Source, n.Since, n.OIDs = name, p.sql, p.since, p.parameters
	for _, oid := range p.parameters {
		name := sqlName(oid)
		if oid == pgformat.NumericOID {
			name = "" // the value says how many digits it has
		}
		n.Types = append(n.Types, name)
	}
	return n, true
}

// Forget implements engine.ProtocolStatements.
func (s statements) Forget(name string) bool { return s.client.Deallocate(name) }

// List implements engine.ProtocolStatements.
func (s statements) List() (list []*engine.NamedStatement) {
	for _, name := range s.client.PreparedNames() {
		if n, ok := s.Find(name); ok {
			list = append(list, n)
		}
	}
	return list
}

// HasNamed implements wire.Named.
func (s *session) HasNamed(name string) bool {
	_, ok := s.engine.Named(name)
	return ok
}

// PrepareNamed implements wire.Named.
func (s *session) PrepareNamed(ctx context.Context, name string) (wire.Statement, bool, error) {
	if !s.HasNamed(name) {
		return nil, false, nil
	}
	n, err := s.engine.CurrentNamed(ctx, name)
	if err != nil {
		return nil, false, err
	}
	st, err := s.prepareIn(ctx, lex.Client.Text(n.Query), engine.DialectDuckDB, n.OIDs)
	return st, err == nil, err
}

// ForgetNamed implements wire.Named.
func (s *session) ForgetNamed(name string) { s.engine.ForgetNamed(name) }
