package engine

import (
	"context"
	"time"

	"github.com/csmsql/csmsql/engine/history"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/engine/overdue"
	"github.com/csmsql/csmsql/sql/statement"
)

// A statement ends soon after its context: because the user cancelled it, or because it has taken longer than statement_timeout.

// hurried is ctx with an end by the session's statement_timeout, for callers in the same process. A server keeps the time itself, because in
// the protocol it begins with a message.
func (s *Session) hurried(ctx context.Context) (context.Context, context.CancelFunc) {
	return outcome.Within(ctx, s.Timeout("statement_timeout"))
}

// hurried is the session's, but none of a COMMIT's time counts.
func (st *Statement) hurried(ctx context.Context) (context.Context, context.CancelFunc) {
	if st.EndsBlock() {
		return ctx, func() {}
	}
	return st.session.hurried(ctx)
}

// EndsBlock tells whether the statement is COMMIT or ROLLBACK, which statement_timeout does not bound.
func (st *Statement) EndsBlock() bool { return statement.EndsBlock(st.parsed.Head) }

// MayBeGivenUp tells whether the statement leaves nothing behind when its Outcome is to fail, outside of a transaction block, and inside of one
// when that fails: it reads, writes tables, or makes a cursor or a prepared statement. Others change the session, or end a block.
func (st *Statement) MayBeGivenUp() bool {
	if _, runs := st.parsed.Head.(*statement.Execute); runs {
		return st.inner != nil && st.inner.MayBeGivenUp()
	}
	_, declares := st.parsed.Head.(*statement.Declare)
	return statement.MayBeGivenUp(st.parsed.Head) && (declares || !st.Sets())
}

// Prompt tells whether an execution of the statement asks DuckDB for nothing, unless it is to be planned anew: Arrow's
// kernels look between chunks whether their context has ended, and who has rows to insert looks while he waits for others.
func (st *Statement) Prompt() bool {
	_, reads := st.parsed.Head.(*statement.Select)
	return st.plan == nil && st.constant || reads && st.plan != nil && st.plan.compute != nil
}

// Overdue are the places of such statements, for who answers clients.
func (e *Engine) Overdue() *overdue.Places { return e.overdue }

// LeaveBehind is for who answers the session's client, for such a reason, while a call of the session does not return: sql,
// which began at a time, is listed at a place that was taken before (Engine.Overdue). Other sessions' statements are
// planned without waiting for it. over is called when the call has returned; both may be called from any goroutine.
func (s *Session) LeaveBehind(sql string, since time.Time, reason error) (over func()) {
	s.turn.Abandon()
	return s.engine.overdue.Put(overdue.Statement{
		Session: s.options.ProcessID, User: s.options.User, Text: history.Shown(sql), Since: since, Reason: reason.Error(),
	})
}
