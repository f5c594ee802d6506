package lifetime

import (
	"context"
	"errors"
	"sync"

	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// ErrClosed is what errors.Is finds in the errors of everything that is asked of an engine after its Close began
// (57P03), or that Close ended (57P01).
var ErrClosed = errors.New("the engine is closed")

// ErrSessionClosed is the same of a session (08003).
var ErrSessionClosed = errors.New("the session is closed")

// Closing is the end of what was under way in an engine. Closed and SessionClosed refuse what comes later.
var (
	Closing       = sqlerror.New("57P01", "the statement was ended because the engine is closed").WithCause(ErrClosed)
	Closed        = sqlerror.New("57P03", "the engine is closed").WithCause(ErrClosed)
	SessionClosed = sqlerror.New("08003", "the session is closed").WithCause(ErrSessionClosed)
)

// Lifetime counts the calls that are inside of an engine, or of a session, and ends them.
type Lifetime struct {
	Context context.Context // ends when the end begins; its cause is why
	Stop    context.CancelCauseFunc
	Gone    chan struct{} // closed by the owner, when all is taken apart
	// Holder is whose the memory is that calls are granted; nil: that is said elsewhere. Set before the first call.
	Holder *custody.Holder

	mu     sync.Mutex // guards what follows; a leaf
	inside int
	ending bool
	over   bool
	left   *sync.Cond // inside is 0
}

// New is a lifetime that ends at the latest with within.
func New(within context.Context) *Lifetime {
	l := &Lifetime{Gone: make(chan struct{})}
	l.Context, l.Stop = context.WithCancelCause(within)
	l.left = sync.NewCond(&l.mu)
	return l
}

// Enter lets a call in. It may be made by one that is inside.
func (l *Lifetime) Enter() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ending || l.Context.Err() != nil { // a session's engine may be ending, and it not yet
		return l.refusal()
	}
	l.inside++
	return nil
}

// EnterToClose lets a caller in that gives something back, as long as there is something to give it back to.
func (l *Lifetime) EnterToClose() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.inside++
	return true
}

// Leave ends what Enter, or EnterToClose, began.
func (l *Lifetime) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inside--; l.inside == 0 {
		l.left.Broadcast()
	}
}

// Do lets a call in for as long as it runs, or drops it if it comes too late.
func (l *Lifetime) Do(call func()) {
	if l.Enter() == nil {
		defer l.Leave()
		call()
	}
}

// End begins the end, for a reason; false: it had begun. What is inside hears of it by its context.
func (l *Lifetime) End(why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.ending
	l.ending = true
	l.Stop(why)
	return first
}

// Await returns when no call is inside, and none will be (LT1). Preconditions: it is ending.
func (l *Lifetime) Await() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.inside > 0 {
		l.left.Wait()
	}
	l.over = true
}

// refusal is the error of a call that comes too late.
func (l *Lifetime) refusal() error {
	if errors.Is(context.Cause(l.Context), ErrClosed) {
		return Closed
	}
	return SessionClosed
}

// Within is a context that ends with ctx and with l. The caller calls done when what runs under it has ended.
func (l *Lifetime) Within(ctx context.Context) (_ context.Context, done func()) {
	if l.Holder != nil {
		ctx = custody.With(ctx, l.Holder)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.Context, func() { cancel(context.Cause(l.Context)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}

// Call is Enter and Within for a call that leaves nothing behind.
func (l *Lifetime) Call(ctx context.Context) (_ context.Context, leave func(), err error) {
	if err := l.Enter(); err != nil {
		return nil, nil, err
	}
	ctx, done := l.Within(ctx)
	return ctx, func() {
		done()
		l.Leave()
	}, nil
}

// CauseOf gives the reason for which a call was cancelled, in the place of the cancel (LT2).
func (l *Lifetime) CauseOf(err error) error {
	if err == nil || l.Context.Err() == nil {
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
	return context.Cause(l.Context)
}
