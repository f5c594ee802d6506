package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// How an engine, or a session, ends while others use it (E6):
//
//	there ── end ──► ending: nobody comes in any more, ──── the last call has left ──► over: it is taken apart
//	                 the contexts of all calls have ended
//
// Calls are inside for as long as they run; what they leave behind (rows, cursors, statements) is the session's, and is closed when it is
// taken apart. So nothing waits for a user who has rows open and does nothing.

// ErrClosed is what errors.Is finds in the errors of everything that is asked of an engine after Close began (57P03), or that Close
// ended (57P01).
var ErrClosed = errors.New("the engine is closed")

// ErrSessionClosed is the same of a session (08003).
var ErrSessionClosed = errors.New("the session is closed")

// errClosing is the end of what was under way; errClosed refuses what comes later.
var (
	errClosing       = because(ErrClosed, sqlerror.New("57P01", "the statement was ended because the engine is closed"))
	errClosed        = because(ErrClosed, sqlerror.New("57P03", "the engine is closed"))
	errSessionClosed = because(ErrSessionClosed, sqlerror.New("08003", "the session is closed"))
)

func because(cause error, e *Error) *Error {
	e.Cause = cause
	return e
}

// lifetime counts the calls that are inside of an engine, or of a session, and ends them.
type lifetime struct {
	ctx  context.Context // ends when the end begins; its cause is why
	stop context.CancelCauseFunc
	gone chan struct{} // closed by the owner, when all is taken apart
	// holder is whose the memory is that calls are granted; nil: that is said elsewhere. Set before the first call.
	holder *custody.Holder

	mu     sync.Mutex // guards what follows; a leaf
	inside int
	ending bool
	over   bool
	left   *sync.Cond // inside is 0
}

func newLifetime(within context.Context) *lifetime {
	l := &lifetime{gone: make(chan struct{})}
	l.ctx, l.stop = context.WithCancelCause(within)
	l.left = sync.NewCond(&l.mu)
	return l
}

// enter lets a call in. It may be made by one that is inside.
func (l *lifetime) enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending || l.ctx.Err() != nil { // a session's engine may be ending, and it not yet
		return l.refusal()
	}
	l.inside++
	return nil
}

// enterToClose lets in whoever gives something back, as long as there is something to give it back to.
func (l *lifetime) enterToClose() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.inside++
	return true
}

func (l *lifetime) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside--; l.inside == 0 {
		l.left.Broadcast()
	}
}

// end begins the end, for a reason; false: it had begun. What is inside hears of it by its context.
func (l *lifetime) end(why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.ending
	l.ending = true
	l.stop(why)
	return first
}

// await returns when nobody is inside, and nobody will be. Preconditions: it is ending.
func (l *lifetime) await() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.inside > 0 {
		l.left.Wait()
	}
	l.over = true
}

// refusal is for whoever comes too late.
func (l *lifetime) refusal() error {
	if errors.Is(context.Cause(l.ctx), ErrClosed) {
		return errClosed
	}
	return errSessionClosed
}

// within is a context that ends with ctx and with l. The caller calls done when what runs under it has ended.
func (l *lifetime) within(ctx context.Context) (_ context.Context, done func()) {
	if l.holder != nil {
		ctx = custody.With(ctx, l.holder)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// call is enter and within for a call that leaves nothing behind.
func (l *lifetime) call(ctx context.Context) (_ context.Context, leave func(), err error) {
	if err := l.enter(); err != nil {
		return nil, nil, err
	}
	ctx, done := l.within(ctx)
	return ctx, func() {
		done()
		l.leave()
	}, nil
}

// told gives the reason for which a call was cancelled: the user did not do it.
func (l *lifetime) told(err error) error {
	if err == nil || l.ctx.Err() == nil {
		return err
	}
	var known interface{ SQLState() string }
	if cancelled := errors.Is(err, context.Canceled); errors.As(err, &known) {
		if known.SQLState() != "57014" {
			return err
		}
	} else if !cancelled {
		return err
	}
	return context.Cause(l.ctx)
}
