package frontend

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/wire"
)

// prepared is a prepared statement.
type prepared struct {
	session    *session
	engine     *engine.Statement
	sql        string
	changed    rewriting // of sql
	parameters []uint32
	fields     *arrow.Schema
	since      time.Time
}

// Parameters implements wire.Statement.
func (p *prepared) Parameters() []uint32 { return p.parameters }

// Fields implements wire.Statement.
func (p *prepared) Fields() *arrow.Schema { return p.fields }

// Close implements wire.Statement.
func (p *prepared) Close() error {
	p.session.calls.after(func() { _ = p.engine.Close() }) // it never fails
	return nil
}

// Untimed implements wire.Untimed.
func (p *prepared) Untimed() bool { return p.engine.EndsBlock() }

// Execute implements wire.Statement.
func (p *prepared) Execute(ctx context.Context, args []wire.Value) (wire.Result, error) {
	s := p.session
	s.backend.executed.Add(1)
	r := &result{session: s, ctx: ctx}
	ctx = outcome.WithClock(ctx, s.client.Untime)
	if p.engine.MayBeGivenUp() && !p.engine.Prompt() {
		r.leaving = &leaving{session: s, sql: p.sql, since: time.Now(), bytes: bytesOf(args), outcome: &outcome.Outcome{}}
		ctx = outcome.With(ctx, r.leaving.outcome)
	}
	var err error
	overdue := r.call(ctx, func() {
		if r.rows, err = p.execute(ctx, args); err == nil {
			r.returnsRows = p.engine.Schema() != nil
		}
	})
	if overdue {
		r.Close()
		s.backend.failed.Add(1)
		return nil, context.Cause(ctx)
	}
	if err != nil {
		s.backend.failed.Add(1)
		return nil, err
	}
	return r, nil
}

func (p *prepared) execute(ctx context.Context, args []wire.Value) (*engine.Rows, error) {
	if err := exactNumerics(args, p.changed); err != nil {
		return nil, err
	}
	values, err := engineValues(args)
	if err != nil {
		return nil, err
	}
	rows, err := p.engine.Execute(ctx, values)
	if err != nil {
		return nil, p.changed.place(err)
	}
	if p.engine.Schema() == nil {
		p.session.after(rows.Tag())
	} else if p.engine.Sets() {
		p.session.report()
	}
	return rows, nil
}

// after does what a statement without rows means for the protocol's side of the session.
func (s *session) after(tag string) {
	switch tag {
	case "SET", "RESET", "BEGIN", "COMMIT", "ROLLBACK", "DISCARD ALL":
		s.report()
	}
}

// result streams rows to wire.
type result struct {
	session     *session
	ctx         context.Context   // of the execution
	leaving     *leaving          // nil: it is waited for
	rows        *engine.Rows      // nil: it is not known yet, and may never be
	current     arrow.RecordBatch // handed out by Next (F3)
	returnsRows bool
}

// call has the session's caller do something, if it may be left behind.
func (r *result) call(ctx context.Context, do func()) (overdue bool) {
	if r.leaving == nil {
		do()
		return false
	}
	return r.session.call(ctx, r.leaving, do)
}

// Next implements wire.Result.
func (r *result) Next(ctx context.Context) (arrow.RecordBatch, error) {
	r.drop()
	var err error
	if r.call(ctx, func() { r.current, err = r.rows.Next(ctx) }) {
		r.session.backend.failed.Add(1)
		return nil, context.Cause(ctx)
	}
	if err != nil {
		r.drop()
		if err != io.EOF {
			r.session.backend.failed.Add(1)
		}
		return nil, err
	}
	return r.current, nil
}

// Recheck implements wire.Rechecker.
func (r *result) Recheck() error {
	err := r.rows.Recheck()
	if err != nil {
		r.session.backend.failed.Add(1)
	}
	return err
}

func (r *result) drop() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

// CommandTag implements wire.Result. How many rows the client got wire knows better: a portal may have been cut off.
func (r *result) CommandTag() string {
	tag := r.rows.Tag()
	if word, _, ok := strings.Cut(tag, " "); ok && r.returnsRows && (word == "SELECT" || word == "COPY" || word == "FETCH") {
		return word
	}
	return tag
}

// Close implements wire.Result. What was cancelled may take its time to end.
func (r *result) Close() error {
	var err error
	end := func() {
		r.drop()
		if r.rows != nil {
			err = r.rows.Close()
		}
	}
	s := r.session
	switch {
	case s.calls.waits():
		s.calls.after(end)
		return nil
	case !wasEnded(r.ctx):
		end()
	case r.call(r.ctx, end):
		return nil
	}
	return err
}

// wasEnded reports whether the client, its settings or the server ended a context before what ran under it had ended.
func wasEnded(ctx context.Context) bool {
	switch context.Cause(ctx) {
	case wire.ErrCanceled, wire.ErrStatementTimeout, wire.ErrConnectionLost, wire.ErrShutdown:
		return true
	}
	return false
}
