package frontend

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func ended() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	return ctx
}

func nothing() {}

// A call that does not return after its context is left alone: what is to be done after it waits, in its order, and so does what comes next, for
// as long as it wants to.
func TestAnOverdueCall(t *testing.T) {
	c := &calls{}
	block := make(chan struct{})
	var done []string
	note := func(what string) func() { return func() { done = append(done, what) } }
	require.True(t, c.do(ended(), always, func() { <-block }))
	require.True(t, c.waits())
	c.after(note("close"))
	c.after(func() { c.after(note("roll back")) }) // a step may say what comes after it
	require.EqualError(t, c.settle(ended()), "enough")
	require.Empty(t, done)
	close(block)
	require.NoError(t, c.settle(context.Background()))
	require.Equal(t, []string{"close", "roll back"}, done)
	require.False(t, c.waits())
	c.after(note("at once"))
	require.False(t, c.do(context.Background(), always, note("called")))
	require.Equal(t, []string{"close", "roll back", "at once", "called"}, done)
	c.close()
}

// A call that returns is none of those, however its context is; and what must not be left is waited for.
func TestACallThatReturns(t *testing.T) {
	c := &calls{}
	defer c.close()
	require.False(t, c.do(ended(), always, nothing))
	block, asked := make(chan struct{}), false
	overdue := c.do(ended(), func() bool {
		asked = true
		close(block)
		return false
	}, func() { <-block })
	require.False(t, overdue)
	require.True(t, asked)
	require.False(t, c.waits())
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

// A panic is the connection's, as if it had made the call itself, and not the process'.
func TestAPanicInACall(t *testing.T) {
	c := &calls{}
	defer c.close()
	require.Panics(t, func() { c.do(context.Background(), always, func() { panic("call") }) })
	require.False(t, c.do(context.Background(), always, nothing))
	block := make(chan struct{})
	require.True(t, c.do(ended(), always, func() { <-block; panic("overdue") }))
	close(block)
	require.Panics(t, func() { _ = c.settle(context.Background()) })
	require.NoError(t, c.settle(context.Background()))
}

// BenchmarkCall is what the way to the caller and back costs.
func BenchmarkCall(b *testing.B) {
	c := &calls{}
	defer c.close()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	for b.Loop() {
		c.do(ctx, always, nothing)
	}
}
