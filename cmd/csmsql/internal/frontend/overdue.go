package frontend

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// A statement that is cancelled, or has taken too long, fails soon, whether DuckDB looks or not: inside of one value of levenshtein over long
// texts, or while it plans a long one, it does not. So the connection's goroutine does not call the engine itself where that may take long:
//
//	connection ── do ──► the session's caller ──► engine
//	     │ ◄─── returned ──────────┘
//	     │ ◄─── the context ended, and graceOfCalls is over: the call is overdue, and its statement has failed
//
// What is prompt it does itself.
//
// The engine's session stays the caller's until the call returns. What has to be done with it meanwhile (close a result, roll back) waits in
// later; what the client asks next waits in Settle, for as long as that statement may take.

// graceOfCalls leaves DuckDB time to hear of an interruption.
const graceOfCalls = 50 * time.Millisecond

// calls makes a session's calls of the engine that may be left alone.
type calls struct {
	jobs     chan func() // to the caller; nil: there was none yet
	returned chan struct{}
	ended    chan struct{} // closed when the caller has ended

	mu      sync.Mutex    // guards the rest; a leaf
	overdue chan struct{} // closed when the call that is overdue has returned, and later is done; nil: none is
	later   []func()
	problem any // of a call that panicked
}

// do runs call. It returns true when the call is overdue: ctx has ended, and leave, which is asked then, says that nothing is lost. What the call
// leaves behind is to be cleared up by after.
func (c *calls) do(ctx context.Context, leave func() bool, call func()) (overdue bool) {
	if c.jobs == nil {
		c.jobs, c.returned, c.ended = make(chan func()), make(chan struct{}, 1), make(chan struct{})
		go c.serve()
	}
	c.jobs <- call
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
		if leave() && c.leave() {
			return true
		}
		<-c.returned
	}
	c.complain()
	return false
}

// leave makes the call that runs an overdue one; false: it has returned. Its token stays for do.
func (c *calls) leave() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.returned) > 0 {
		return false
	}
	c.overdue = make(chan struct{})
	return true
}

// serve is the caller.
func (c *calls) serve() {
	defer close(c.ended)
	for job := range c.jobs {
		c.try(job)
		c.mu.Lock()
		if c.overdue == nil {
			c.returned <- struct{}{} // there is room
			c.mu.Unlock()
			continue
		}
		for len(c.later) > 0 {
			next := c.later[0]
			c.later = c.later[1:]
			c.mu.Unlock()
			c.try(next)
			c.mu.Lock()
		}
		close(c.overdue)
		c.overdue = nil
		c.mu.Unlock()
	}
}

// try runs what may panic: that is the connection's, which ends by it (complain).
func (c *calls) try(job func()) {
	defer func() {
		if p := recover(); p != nil {
			p = fmt.Sprintf("%v\n%s", p, debug.Stack())
			c.mu.Lock()
			defer c.mu.Unlock()
			c.problem = p
		}
	}()
	job()
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

// waits tells whether a call is overdue.
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

// close ends the caller, when what is overdue has returned. Nothing is called afterwards.
func (c *calls) close() {
	if c.jobs != nil {
		close(c.jobs)
		<-c.ended
	}
}

func always() bool { return true }

// promptText bounds a text that is prompt.
const promptText = 128

// promptWords begin statements that nothing is planned for.
var promptWords = []string{"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "set", "reset", "show", "deallocate", "discard", "close"}

// isPrompt tells texts that cannot take long to plan, which the connection's goroutine does itself: to wake another one, and be woken by it, costs as
// much as they do. A SELECT among them calls no function and names no table or view.
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
