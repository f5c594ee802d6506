package frontend

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/wire"
	"github.com/csmsql/csmsql/wire/pgcopy"
)

// session is wire's view of an engine session.
type session struct {
	backend   *Backend
	engine    *engine.Session
	client    wire.Client
	announced map[string]string // the reported settings, with the values that the client received last
	calls     calls
	failed    wire.TxStatus // its status while a call is overdue

	timeout, idle, idleInBlock atomic.Int64 // statement_timeout and its kin, as durations; 0: none
}

var (
	_ wire.ImplicitTransaction = (*session)(nil)
	_ wire.Cursors             = (*session)(nil)
	_ wire.Failing             = (*session)(nil)
	_ wire.Hearing             = (*session)(nil)
	_ wire.Timed               = (*session)(nil)
	_ wire.Settling            = (*session)(nil)
)

// Split implements wire.Session.
func (s *session) Split(text *lex.Text) ([]*lex.Text, error) { return lex.Split(text), nil }

// Prepare implements wire.Session.
func (s *session) Prepare(ctx context.Context, text *lex.Text, declared []uint32) (wire.Statement, error) {
	return s.prepareIn(ctx, text, "", declared)
}

// prepareIn is Prepare of a text that means what a dialect says, as in engine.Session.PrepareIn.
func (s *session) prepareIn(ctx context.Context, text *lex.Text, in string,
	declared []uint32) (wire.Statement, error) {
	var st wire.Statement
	var err error
	if isPrompt(text.SQL) {
		return s.prepare(ctx, text, in, declared)
	}
	l := &leaving{session: s, sql: text.SQL, since: time.Now()}
	if s.call(ctx, l, func() { st, err = s.prepare(ctx, text, in, declared) }) {
		s.calls.after(func() {
			if st != nil {
				st.Close()
			}
		})
		return nil, context.Cause(ctx)
	}
	return st, err
}

// call has the session's caller do something that may take long, and become overdue.
func (s *session) call(ctx context.Context, l *leaving, do func()) (overdue bool) {
	failed := wire.TxIdle
	if wire.TxStatus(s.engine.Status()) != wire.TxIdle {
		failed = wire.TxFailed
	}
	s.failed = failed
	return s.calls.do(ctx, l, do)
}

// leaving is a statement whose call may be left behind.
type leaving struct {
	session *session
	sql     string
	since   time.Time
	bytes   int64            // of its arguments
	reads   bool             // its client's rows, all the time
	outcome *outcome.Outcome // nil: nothing of it could stay
}

func (l *leaving) computes() bool { return !l.reads }

// charge implements leavable: what wire has charged for the statement it gives back when it has an answer.
func (l *leaving) charge() bool { return l.session.engine.TakeAside(account.Overdue, l.kept()) == nil }

func (l *leaving) refund() { l.session.engine.Give(account.Overdue, l.kept()) }

func (l *leaving) kept() int64 { return int64(len(l.sql)) + l.bytes }

func (l *leaving) fail() bool { return l.outcome == nil || l.outcome.Fail() }

func (l *leaving) put(reason error) (gone func()) {
	over := l.session.engine.LeaveBehind(l.sql, l.since, reason)
	return func() {
		l.refund()
		over()
	}
}

// Settle implements wire.Settling.
func (s *session) Settle(ctx context.Context) error { return s.calls.settle(ctx) }

func (s *session) prepare(ctx context.Context, text *lex.Text, in string, declared []uint32) (wire.Statement, error) {
	inner, parameters, changed, err := s.plan(ctx, text, in, declared)
	if err != nil {
		s.backend.failed.Add(1)
		return nil, err
	}
	st := &prepared{
		session: s, engine: inner, sql: text.SQL, changed: changed, parameters: parameters, since: time.Now(),
		fields: withOrigins(inner.Schema(), inner.Origins()),
	}
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

func (s *session) prepareCopyIn(ctx context.Context, st *prepared, head *statement.Copy,
	options pgcopy.Options) (wire.Statement, error) {
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
func (s *session) Status() wire.TxStatus {
	if s.calls.waits() {
		return s.failed
	}
	return wire.TxStatus(s.engine.Status())
}

// Fail implements wire.Failing.
func (s *session) Fail() { s.calls.after(s.engine.Fail) }

// Heard implements wire.Hearing.
func (s *session) Heard(most int) []wire.Notification {
	var list []wire.Notification
	for _, n := range s.engine.Heard(most) {
		list = append(list, wire.Notification(n))
	}
	return list
}

// BeginImplicit implements wire.ImplicitTransaction.
func (s *session) BeginImplicit(context.Context) error {
	s.engine.BeginImplicit()
	return nil
}

// EndImplicit implements wire.ImplicitTransaction.
func (s *session) EndImplicit(ctx context.Context, failed bool) error {
	if failed {
		s.calls.after(func() {
			_ = s.engine.EndImplicit(context.WithoutCancel(ctx), true) // rolling back does not fail
			s.report()                                                 // what was SET is taken back, too
		})
		return nil
	}
	if err := s.calls.settle(ctx); err != nil {
		return err
	}
	return s.engine.EndImplicit(ctx, false)
}

// CursorFields implements wire.Cursors.
func (s *session) CursorFields(name string) (*arrow.Schema, bool) {
	schema, ok := s.engine.CursorSchema(name)
	return schema, ok
}

// Timeout implements wire.Timed.
func (s *session) Timeout() time.Duration { return time.Duration(s.timeout.Load()) }

// Close implements wire.Session. What is overdue it does not wait for: Backend.Wait does.
func (s *session) Close() error {
	s.backend.open.Add(-1)
	s.calls.after(func() { _ = s.engine.Close() }) // it never fails
	if ended := s.calls.close(); ended != nil {
		s.backend.behind.Go(func() {
			<-ended
			if p := s.calls.problem; p != nil {
				s.backend.log.Error("recovered from a panic of a statement whose client had left", "panic", p)
			}
		})
	}
	return nil
}
