package outcome

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Outcome decides once what becomes of a statement that one side runs and another one gives up: it fails, whatever it
// does after, or it commits, and then it was not given up. The zero value is undecided.
type Outcome struct{ decided atomic.Int32 }

const (
	outcomeOpen int32 = iota
	outcomeCommits
	outcomeFails
)

type outcomeKey struct{}

// With is for Statement.Execute: the statement asks o before it commits.
func With(ctx context.Context, o *Outcome) context.Context {
	return context.WithValue(ctx, outcomeKey{}, o)
}

// Fail reports whether nothing of the statement will stay. False: it is being committed.
func (o *Outcome) Fail() bool {
	return o.decided.CompareAndSwap(outcomeOpen, outcomeFails) || o.decided.Load() == outcomeFails
}

// Commits decides that the statement commits, unless it was given up before.
func Commits(ctx context.Context) bool {
	o, _ := ctx.Value(outcomeKey{}).(*Outcome)
	return o == nil || o.decided.CompareAndSwap(outcomeOpen, outcomeCommits) || o.decided.Load() == outcomeCommits
}

// Errors of statements that ended with their context.
var (
	ErrTimeout     = sqlerror.New("57014", "canceling statement due to statement timeout").WithCause(context.DeadlineExceeded)
	ErrUserRequest = sqlerror.New("57014", "canceling statement due to user request").WithCause(context.Canceled)
)

// Within is ctx with an end by a timeout, 0: none, for callers in the same process; a server keeps the time itself.
// stop releases what it takes.
func Within(ctx context.Context, timeout time.Duration) (_ context.Context, stop context.CancelFunc) {
	if timeout == 0 {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	clock := time.AfterFunc(timeout, func() { cancel(ErrTimeout) })
	still := func() { clock.Stop() }
	return WithClock(ctx, still), func() {
		still()
		cancel(nil)
	}
}

type clockKey struct{}

// WithClock is for a caller that keeps a statement's time: stop is called when the statement has done its work and
// begins to commit, which takes the time that it takes, as in PostgreSQL. It may be called from any goroutine, and
// again.
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

// StopClock ends what bounds the statement's time.
func StopClock(ctx context.Context) {
	if stop, ok := ctx.Value(clockKey{}).(func()); ok {
		stop()
	}
}

// Ended returns the reason for which ctx ended, if err only says that this broke something off, here or at another
// node. An error with an SQLSTATE of its own, such as that of a commit of unknown outcome, is returned as it is.
func Ended(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, io.EOF) || ctx.Err() == nil {
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
		return ErrTimeout
	default:
		return ErrUserRequest
	}
}
