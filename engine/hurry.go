package engine

import (
	"context"
	"time"

	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/sql/statement"
)

// A statement ends soon after its context: because the user cancelled it, or because it has taken longer than statement_timeout.

// hurried is ctx with an end by the session's statement_timeout, for callers in the same process. A server keeps the time itself, because in
// the protocol it begins with a message.
func (s *Session) hurried(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := s.Timeout("statement_timeout")
	if timeout == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	clock := time.AfterFunc(timeout, func() { cancel(outcome.ErrTimeout) })
	stop := func() { clock.Stop() }
	return outcome.WithClock(ctx, stop), func() {
		stop()
		cancel(nil)
	}
}

// hurried is the session's, but none of a COMMIT's time counts.
func (st *Statement) hurried(ctx context.Context) (context.Context, context.CancelFunc) {
	if st.EndsBlock() {
		return ctx, func() {}
	}
	return st.session.hurried(ctx)
}

// EndsBlock tells whether the statement is COMMIT or ROLLBACK, which statement_timeout does not bound.
func (st *Statement) EndsBlock() bool {
	switch st.parsed.Head.(type) {
	case *statement.Commit, *statement.Rollback:
		return true
	}
	return false
}

// MayBeGivenUp tells whether the statement leaves nothing behind when its Outcome is to fail, outside of a transaction block, and inside of one
// when that fails: it reads, writes tables, or makes a cursor or a prepared statement. Others change the session, or end a block.
func (st *Statement) MayBeGivenUp() bool {
	switch st.parsed.Head.(type) {
	case *statement.Select, *statement.Explain:
		return !st.Sets()
	case *statement.Insert, *statement.Update, *statement.Delete, *statement.Copy, *statement.CreateTableAs, *statement.CreateView, *statement.Fetch,
		*statement.CreateTable, *statement.AddConstraint, *statement.Declare, *statement.Prepare:
		return true
	case *statement.Execute:
		return st.inner != nil && st.inner.MayBeGivenUp()
	}
	return false
}

// Prompt tells whether an execution of the statement asks DuckDB for nothing, unless it is to be planned anew: the Arrow kernels look between
// chunks whether their context has ended.
func (st *Statement) Prompt() bool {
	_, reads := st.parsed.Head.(*statement.Select)
	return reads && st.plan != nil && st.plan.compute != nil
}
