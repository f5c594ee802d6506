package lifetime_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// LT1: Await waits for the call that is inside, whose context has ended, and none comes in.
func TestEndWaitsForCalls(t *testing.T) {
	l := lifetime.New(t.Context())
	ctx, leave, err := l.Call(t.Context())
	require.NoError(t, err)
	require.True(t, l.End(lifetime.Closing))
	require.False(t, l.End(lifetime.SessionClosed), "it has begun to end")
	<-ctx.Done()
	require.ErrorIs(t, l.Enter(), lifetime.ErrClosed)
	require.True(t, l.EnterToClose(), "there is something to give back to")
	l.Leave()
	over := make(chan struct{})
	go func() {
		l.Await()
		close(over)
	}()
	select {
	case <-over:
		t.Fatal("over, and a call is inside")
	default:
	}
	leave()
	<-over
	require.False(t, l.EnterToClose())
}

// LT2: what the end breaks off has the end's reason; what failed by itself, and what succeeded, is as it was.
func TestCauseOf(t *testing.T) {
	l := lifetime.New(t.Context())
	require.Equal(t, context.Canceled, l.CauseOf(context.Canceled), "it has not ended")
	l.End(lifetime.SessionClosed)
	require.NoError(t, l.CauseOf(nil))
	require.Equal(t, lifetime.SessionClosed, l.CauseOf(context.Canceled))
	require.Equal(t, lifetime.SessionClosed, l.CauseOf(sqlerror.New("57014", "canceling statement")))
	failed, own := errors.New("no room"), sqlerror.New("53200", "no room")
	require.Equal(t, failed, l.CauseOf(failed))
	require.Equal(t, own, l.CauseOf(own))
}

// A session's lifetime ends with its engine's.
func TestEndsWithin(t *testing.T) {
	engine := lifetime.New(t.Context())
	session := lifetime.New(engine.Context)
	engine.End(lifetime.Closing)
	require.ErrorIs(t, session.Enter(), lifetime.ErrClosed)
}
