package engine

import (
	"context"
	"errors"
	"time"

	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// A statement ends soon after its context: because the user cancelled it, or because it has taken longer than statement_timeout.

var (
	errStatementTimeout = sqlerror.New("57014", "canceling statement due to statement timeout").WithCause(context.DeadlineExceeded)
	errUserRequest      = sqlerror.New("57014", "canceling statement due to user request").WithCause(context.Canceled)
)

// hurried is ctx with an end by the session's statement_timeout, for callers in the same process. A server keeps the time itself, because in
// the protocol it begins with a message.
func (s *Session) hurried(ctx context.Context) (context.Context, context.CancelFunc) {
	timeout := s.Timeout("statement_timeout")
	if timeout == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	clock := time.AfterFunc(timeout, func() { cancel(errStatementTimeout) })
	stop := func() { clock.Stop() }
	return WithClock(ctx, stop), func() {
		stop()
		cancel(nil)
	}
}

type clockKey struct{}

// WithClock is for who keeps a statement's time: stop is called when the statement has done its work and begins to commit, which takes the time that it takes, as in
// PostgreSQL. It may be called from any goroutine, and again.
func WithClock(ctx context.Context, stop func()) context.Context {
	if outer, ok := ctx.Value(clockKey{}).(func()); ok {
		inner := stop
		stop = func() {
			outer()
			inner()
		}
	}
	return context.WithValue(ctx, clockKey{}, stop)
}

func stopClock(ctx context.Context) {
	if stop, ok := ctx.Value(clockKey{}).(func()); ok {
		stop()
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

// ended tells the reason for which ctx ended, when err is no more than what that broke off, here or at another node. What has an SQLSTATE of
// its own, as a commit has of which nobody knows whether it happened, is told as it is.
func ended(ctx context.Context, err error) error {
	if err == nil || isEnd(err) || ctx.Err() == nil {
		return err
	}
	var known interface{ SQLState() string }
	if errors.As(err, &known) && known.SQLState() != "57014" {
		return err
	}
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &known):
		return cause
	case errors.Is(cause, context.DeadlineExceeded):
		return errStatementTimeout
	default:
		return errUserRequest
	}
}
