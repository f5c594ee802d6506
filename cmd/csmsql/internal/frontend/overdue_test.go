package frontend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/engine/overdue"
)

func ended() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	return ctx
}

func nothing() {}

// left is a leavable that may be left behind when may says so; nil: always. It notes what is done with it.
type left struct {
	places *overdue.Places
	may    func() bool
	broke  bool // there is no memory
	noted  []string
}

func (l *left) charge() bool {
	if !l.broke {
		l.noted = append(l.noted, "charged")
	}
	return !l.broke
}

func (l *left) computes() bool { return true }
func (l *left) refund()        { l.noted = append(l.noted, "refunded") }
func (l *left) fail() bool     { return l.may == nil || l.may() }

func (l *left) put(reason error) func() {
	l.noted = append(l.noted, reason.Error())
	gone := l.places.Put(overdue.Statement{Reason: reason.Error()})
	return func() {
		l.refund()
		gone()
	}
}

func newCalls(places int) (*calls, *left) {
	p := overdue.New(places)
	return &calls{places: p}, &left{places: p}
}

// A call that does not return after the end of its context is left behind: what is to be done after it waits, in its
// order, and so does what comes next, for as long as it may.
func TestAnOverdueCall(t *testing.T) {
	c, l := newCalls(1)
	block := make(chan struct{})
	var done []string
	note := func(what string) func() { return func() { done = append(done, what) } }
	require.True(t, c.do(ended(), l, func() { <-block }))
	require.True(t, c.waits())
	require.Len(t, l.places.List(), 1)
	c.after(note("close"))
	c.after(func() { c.after(note("roll back")) }) // a step may say what comes after it
	require.EqualError(t, c.settle(ended()), "enough")
	require.Empty(t, done)
	close(block)
	require.NoError(t, c.settle(context.Background()))
	require.Equal(t, []string{"close", "roll back"}, done)
	require.Equal(t, []string{"charged", "enough", "refunded"}, l.noted)
	require.Equal(t, overdue.Usage{Most: 1, Total: 1}, l.places.Usage())
	require.False(t, c.waits())
	c.after(note("at once"))
	require.False(t, c.do(context.Background(), l, note("called")))
	require.Equal(t, []string{"close", "roll back", "at once", "called"}, done)
	c.close()
}

// A call that returns is not left behind, whether its context has ended or not; and a call that must not be left behind
// is waited for.
func TestACallThatReturns(t *testing.T) {
	c, l := newCalls(1)
	defer c.close()
	require.False(t, c.do(ended(), l, nothing))
	block, asked := make(chan struct{}), false
	l.may = func() bool {
		asked = true
		close(block)
		return false
	}
	require.False(t, c.do(ended(), l, func() { <-block }))
	require.True(t, asked)
	require.False(t, c.waits())
	require.Equal(t, []string{"charged", "refunded"}, l.noted)

	l.broke, l.noted, block = true, nil, make(chan struct{})
	time.AfterFunc(2*graceOfCalls, func() { close(block) })
	require.False(t, c.do(ended(), l, func() { <-block }), "there is no memory for what would stay")
	require.Empty(t, l.noted)
	require.Zero(t, l.places.Usage().Now)
	select {
	case l.places.Door() <- struct{}{}:
		l.places.Leave()
	default:
		t.Fatal("the place that was taken is not free again")
	}
}

// When there are as many overdue calls as there may be, one more waits for its call, or for a place.
func TestPlacesOfOverdueCalls(t *testing.T) {
	first, l := newCalls(1)
	second, third := &calls{places: l.places}, &calls{places: l.places}
	block := make(chan struct{})
	require.True(t, first.do(ended(), l, func() { <-block }))

	returns := make(chan struct{})
	answered := make(chan bool)
	more := func(c *calls, until chan struct{}) {
		answered <- c.do(ended(), &left{places: l.places}, func() { <-until })
	}
	go more(second, returns)
	close(returns)
	require.False(t, <-answered, "the call has returned meanwhile")

	never := make(chan struct{})
	go more(third, never)
	close(block) // now the first one's place is free
	require.True(t, <-answered)
	require.NoError(t, first.settle(context.Background()))
	require.Equal(t, overdue.Usage{Now: 1, Most: 1, Total: 2}, l.places.Usage())

	ended := third.close()
	require.NotNil(t, ended, "the client has left, and does not wait")
	close(never)
	<-ended
	require.Zero(t, l.places.Usage().Now)
	require.Nil(t, first.close())
	require.Nil(t, second.close())
}

// The thread of a call that is late gives way to all others, and no other call gets it.
func TestLateCallsGiveWay(t *testing.T) {
	c, l := newCalls(1)
	var priorities []int
	look := func() {
		now, err := priority(unix.Gettid())
		require.NoError(t, err)
		priorities = append(priorities, now)
	}
	require.False(t, c.do(context.Background(), l, look))
	block := make(chan struct{})
	require.True(t, c.do(ended(), l, func() {
		<-block
		look()
	}))
	c.after(look)
	close(block)
	require.NoError(t, c.settle(context.Background()))
	require.False(t, c.do(context.Background(), l, look))
	own := priorities[0]
	late := min(own+lateBy, background)
	require.Equal(t, []int{own, late, own, own}, priorities)

	block = make(chan struct{})
	require.True(t, c.do(ended(), l, func() {
		<-block
		look()
	}))
	left := c.close()
	close(block)
	<-left
	require.Equal(t, []int{own, late, own, own, background}, priorities)
}

func TestPromptTexts(t *testing.T) {
	for sql, prompt := range map[string]bool{
		"SELECT 1": true, " select 'a' || $1": true, "BEGIN": true, "commit;": true, "SET search_path = a": true, "": false,
		"SELECT upper('b')": false, "SELECT a FROM v": false, "TABLE v": false, "SELECT 1 UNION ALL TABLE v": false, "FROM v": false,
		"EXECUTE p": false, "EXPLAIN SELECT 1": false, "WITH x AS NOT MATERIALIZED": false, "SELECT " + strings.Repeat("1+", 100) + "1": false,
		"beginning": false, "INSERT INTO t DEFAULT VALUES": false, "COPY t TO STDOUT": false,
	} {
		require.Equal(t, prompt, isPrompt(sql), sql)
	}
}

// A panic of a call ends the connection, as one of its own goroutine would, and not the process.
func TestAPanicInACall(t *testing.T) {
	c, l := newCalls(1)
	defer c.close()
	require.Panics(t, func() { c.do(context.Background(), l, func() { panic("call") }) })
	require.False(t, c.do(context.Background(), l, nothing))
	block := make(chan struct{})
	require.True(t, c.do(ended(), l, func() { <-block; panic("overdue") }))
	close(block)
	require.Panics(t, func() { _ = c.settle(context.Background()) })
	require.NoError(t, c.settle(context.Background()))

	block = make(chan struct{})
	require.True(t, c.do(ended(), l, func() { <-block; panic("overdue") }))
	c.after(func() { panic("because of it") })
	close(block)
	func() {
		defer func() {
			problem := recover()
			require.Equal(t, "overdue", fmt.Sprint(problem), "what came first; a client is shown no more")
			require.Regexp(t, "^overdue\ngoroutine ", problem.(slog.LogValuer).LogValue().String(), "the log says where")
		}()
		_ = c.settle(context.Background())
	}()
}

// BenchmarkCall is what the way to the caller and back costs.
func BenchmarkCall(b *testing.B) {
	c, l := newCalls(1)
	defer c.close()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for b.Loop() {
		c.do(ctx, l, nothing)
	}
}
