package frontend

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/engine/overdue"
)

// A statement that is cancelled, or has taken too long, fails soon, whether DuckDB checks for interruptions or not: it
// does not within one value of levenshtein over long texts, or while it plans a long statement. So the connection's
// goroutine does not call the engine itself where that may take long:
//
//	connection ── do ──► the session's caller ──► engine
//	     │ ◄─── returned ──────────┘
//	     │      the context ended, and graceOfCalls is over: the call's thread makes way for all others
//	     │ ◄─── there is a place for it (package overdue): the call is overdue, and its statement has failed
//
// Prompt calls it makes itself (isPrompt).
//
// The engine's session stays the caller's until the call returns. What has to be done with it meanwhile (close a
// result, roll back) waits in later; what the client asks next waits in Settle, for as long as that statement may take.
// A client that leaves does not wait: its connection ends, and the session stays behind at its place, and on the
// account, until the call returns.

// graceOfCalls leaves DuckDB time to notice an interruption.
const graceOfCalls = 50 * time.Millisecond

const (
	// lateBy is how much lower the priority of a late call's thread becomes: others have three times as much of the
	// processors.
	lateBy = 5
	// background is that of one whose client has left: it has what others leave.
	background = 19
)

// leavable is a call that may be left behind: its statement fails while the call goes on.
type leavable interface {
	// computes reports whether the call gets a thread of its own, whose priority can be lowered. It is false of a call
	// that waits for its client again and again, which a thread of its own would make slower.
	computes() bool
	// charge charges the memory that the call left behind keeps, which refund gives back. False: there is none.
	charge() bool
	refund()
	// fail decides that the statement has no effect. False: it is too late for that. It is called after charge, if that
	// was true.
	fail() bool
	// put lists the call at the place that was taken. gone takes it off, and refunds.
	put(reason error) (gone func())
}

// calls makes a session's calls of the engine that may be left behind.
type calls struct {
	places   *overdue.Places
	jobs     chan job // to the caller; nil: there was none yet
	returned chan struct{}
	ended    chan struct{} // closed when the caller has ended

	mu      sync.Mutex    // guards the rest; a leaf
	overdue chan struct{} // closed when the call that is overdue has returned, and later is done; nil: none is
	gone    func()        // takes that call from its place
	later   []func()
	problem any  // of a call that panicked
	thread  int  // that a call runs in
	slowed  bool // and whether that has another priority than others
}

type job struct {
	call     func()
	computes bool
}

// do runs call. It returns true when the call is overdue: ctx has ended, and nothing is lost (leavable). What the call
// leaves behind is to be cleared up by after.
func (c *calls) do(ctx context.Context, l leavable, call func()) (overdue bool) {
	if c.jobs == nil {
		c.jobs, c.returned, c.ended = make(chan job), make(chan struct{}, 1), make(chan struct{})
		go c.serve()
	}
	c.jobs <- job{call, l.computes()}
	select {
	case <-c.returned:
		c.complain()
		return false
	case <-ctx.Done():
	}
	grace := time.NewTimer(graceOfCalls)
	defer grace.Stop()
	select {
	case <-c.returned:
	case <-grace.C:
		if c.waitForPlace(ctx, l) {
			return true
		}
	}
	c.complain()
	return false
}

// waitForPlace returns when the call that runs is overdue, or has returned: false.
func (c *calls) waitForPlace(ctx context.Context, l leavable) (overdue bool) {
	c.makeWay(lateBy)
	select {
	case <-c.returned:
		return false
	case c.places.Door() <- struct{}{}:
	}
	if l.charge() {
		if c.leave(ctx, l) {
			return true
		}
		l.refund()
	}
	c.places.Leave()
	<-c.returned
	return false
}

// leave makes the running call an overdue one. False: it has returned, and its token stays for do, or its statement can
// no longer fail.
func (c *calls) leave(ctx context.Context, l leavable) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.returned) > 0 || !l.fail() {
		return false
	}
	c.overdue, c.gone = make(chan struct{}), l.put(context.Cause(ctx))
	return true
}

// makeWay lowers the priority of the thread of the call that runs.
func (c *calls) makeWay(by int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.returned) > 0 || c.thread == 0 {
		return
	}
	if now, err := priority(c.thread); err == nil && unix.Setpriority(unix.PRIO_PROCESS, c.thread, min(now+by, background)) == nil {
		c.slowed = true
	}
}

// priority of a thread, 0 as most have, or lower: up to 19.
func priority(thread int) (int, error) {
	said, err := unix.Getpriority(unix.PRIO_PROCESS, thread)
	return 20 - said, err // that is how Linux says it
}

// serve is the caller. A thread whose priority is lower cannot have its own again without privileges: it ends, with the
// goroutine that is locked to it.
func (c *calls) serve() {
	for job := range c.jobs {
		if job.computes {
			runtime.LockOSThread()
			c.mu.Lock()
			c.thread = unix.Gettid()
			c.mu.Unlock()
		}
		c.try(job.call)
		c.mu.Lock()
		slowed, late := c.slowed, c.overdue != nil
		c.thread, c.slowed = 0, false
		if !late {
			c.returned <- struct{}{} // there is room
		}
		c.mu.Unlock()
		if slowed {
			go func() {
				c.catchUp()
				c.serve()
			}()
			return
		}
		if job.computes {
			runtime.UnlockOSThread()
		}
		c.catchUp()
	}
	close(c.ended)
}

// catchUp does what waited for the overdue call, if there was one.
func (c *calls) catchUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.overdue == nil {
		return
	}
	for len(c.later) > 0 {
		next := c.later[0]
		c.later = c.later[1:]
		c.mu.Unlock()
		c.try(next)
		c.mu.Lock()
	}
	c.gone()
	close(c.overdue)
	c.overdue, c.gone = nil, nil
}

// try runs a function that may panic. The connection's goroutine panics with the same problem later (complain).
func (c *calls) try(job func()) {
	defer func() {
		if p := recover(); p != nil {
			p = &panicked{p, debug.Stack()}
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.problem == nil { // what comes later may follow from it
				c.problem = p
			}
		}
	}()
	job()
}

// panicked is a panic of another goroutine. The client receives only the problem, the log its stack as well.
type panicked struct {
	problem any
	stack   []byte
}

func (p *panicked) String() string { return fmt.Sprint(p.problem) }

// LogValue implements slog.LogValuer.
func (p *panicked) LogValue() slog.Value {
	return slog.StringValue(fmt.Sprintf("%v\n%s", p.problem, p.stack))
}

func (c *calls) complain() {
	c.mu.Lock()
	p := c.problem
	c.problem = nil
	c.mu.Unlock()
	if p != nil {
		panic(p)
	}
}

// after does something as soon as no call is overdue: now, if none is.
func (c *calls) after(do func()) {
	c.mu.Lock()
	if c.overdue != nil {
		c.later = append(c.later, do)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	do()
}

// waits reports whether a call is overdue.
func (c *calls) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.overdue != nil
}

// settle returns when no call is overdue.
func (c *calls) settle(ctx context.Context) error {
	c.mu.Lock()
	overdue := c.overdue
	c.mu.Unlock()
	if overdue != nil {
		select {
		case <-overdue:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	c.complain()
	return nil
}

// close ends the caller. Nothing is called afterwards. If the caller waits for an overdue call, close returns a channel
// that is closed when the caller has ended; nil: it has ended.
func (c *calls) close() (ended <-chan struct{}) {
	if c.jobs == nil {
		return nil
	}
	close(c.jobs)
	if c.waits() {
		c.makeWay(background)
		return c.ended
	}
	<-c.ended
	return nil
}

// promptText bounds the length of a prompt text.
const promptText = 128

// promptWords begin statements without a plan.
var promptWords = []string{"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "set", "reset", "show", "deallocate", "discard", "close"}

// isPrompt reports whether a text cannot take long to plan. The connection's goroutine runs such texts itself: to wake
// another one, and be woken by it, costs as much as they do. A SELECT among them calls no function and names no table
// or view.
func isPrompt(sql string) bool {
	if len(sql) > promptText || strings.ContainsAny(sql, "(") {
		return false
	}
	lower := strings.ToLower(strings.TrimSpace(sql))
	word := lower
	if end := strings.IndexFunc(lower, func(r rune) bool { return r < 'a' || r > 'z' }); end >= 0 {
		word = lower[:end]
	}
	if word == "select" {
		return !strings.Contains(lower, "from") && !strings.Contains(lower, "table")
	}
	return slices.Contains(promptWords, word)
}
