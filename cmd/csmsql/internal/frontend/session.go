package frontend

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/statement"
	"github.com/csmsql/csmsql/wire"
	"github.com/csmsql/csmsql/wire/pgcopy"
)

// session is wire's view of an engine session.
type session struct {
	backend *Backend
	engine  *engine.Session
	client  wire.Client
	told    map[string]string // the reported settings as the client knows them
	timeout time.Duration     // statement_timeout; 0: none
}

var (
	_ wire.ImplicitTransaction = (*session)(nil)
	_ wire.Cursors             = (*session)(nil)
	_ wire.Failing             = (*session)(nil)
	_ wire.Timed               = (*session)(nil)
)

// Split implements wire.Session.
func (s *session) Split(sql string) ([]string, error) { return statement.Split(sql), nil }

// Prepare implements wire.Session.
func (s *session) Prepare(ctx context.Context, sql string, declared []uint32) (wire.Statement, error) {
	inner, parameters, changed, err := s.plan(ctx, sql, declared)
	if err != nil {
		s.backend.failed.Add(1)
		return nil, err
	}
	st := &prepared{session: s, engine: inner, sql: sql, changed: changed, fields: withOrigins(inner.Schema(), inner.Origins()), parameters: parameters, since: time.Now()}
	head := inner.Copy()
	if head == nil {
		return st, nil
	}
	options, err := copyOptions(head, inner.Schema())
	if err != nil {
		inner.Close() // nothing ran yet
		return nil, err
	}
	if !head.From {
		return &copyOut{st, options}, nil
	}
	return s.prepareCopyIn(ctx, st, head, options)
}

func (s *session) prepareCopyIn(ctx context.Context, st *prepared, head *statement.Copy, options pgcopy.Options) (wire.Statement, error) {
	columns, err := s.copyTarget(ctx, head)
	if err == nil {
		options, err = columnOptions(head, columns, options)
	}
	if err != nil {
		st.engine.Close() // as above
		return nil, err
	}
	return &copyIn{prepared: st, options: options, columns: columns}, nil
}

// Status implements wire.Session.
func (s *session) Status() wire.TxStatus { return wire.TxStatus(s.engine.Status()) }

// Fail implements wire.Failing.
func (s *session) Fail() { s.engine.Fail() }

// BeginImplicit implements wire.ImplicitTransaction.
func (s *session) BeginImplicit(context.Context) error {
	s.engine.BeginImplicit()
	return nil
}

// EndImplicit implements wire.ImplicitTransaction.
func (s *session) EndImplicit(ctx context.Context, failed bool) error {
	err := s.engine.EndImplicit(ctx, failed)
	if failed {
		s.report() // what was SET is taken back, too
	}
	return err
}

// CursorFields implements wire.Cursors.
func (s *session) CursorFields(name string) (*arrow.Schema, bool) {
	schema, ok := s.engine.CursorSchema(name)
	return schema, ok
}

// Timeout implements wire.Timed.
func (s *session) Timeout() time.Duration { return s.timeout }

// Close implements wire.Session.
func (s *session) Close() error {
	s.backend.open.Add(-1)
	return s.engine.Close()
}
