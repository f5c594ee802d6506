package noderpc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

type seenTables = map[catalog.TableID]uint64

// Await brings what the node says, waits beside all other calls, and ends with its caller.
func TestAwait(t *testing.T) {
	began := make(chan seenTables, 10)
	answer := make(chan []catalog.TableID)
	node := &fakeNode{await: func(ctx context.Context, seen seenTables) ([]catalog.TableID, error) {
		began <- seen
		select {
		case changed := <-answer:
			return changed, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	path, _ := serve(t, node, noderpc.ServerOptions{MaxCalls: 1, MaxAwaits: 2})
	c := dial(t, path)
	results := make(chan []catalog.TableID)
	go func() {
		changed, err := c.Await(t.Context(), seenTables{7: 3, 9: 1})
		if err != nil {
			t.Error(err)
		}
		results <- changed
	}()
	require.Equal(t, seenTables{7: 3, 9: 1}, <-began)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := c.Await(ctx, seenTables{1: 1})
		failed <- err
	}()
	<-began
	_, err := c.Describe(t.Context())
	require.NoError(t, err, "they take no place that others need")
	_, err = c.Await(t.Context(), seenTables{1: 1})
	require.Equal(t, "53000", state(t, err), "more than are allowed")
	cancel()
	require.Equal(t, "57014", state(t, <-failed))
	answer <- []catalog.TableID{9}
	require.Equal(t, []catalog.TableID{9}, <-results)

	node.await = func(context.Context, seenTables) ([]catalog.TableID, error) { return []catalog.TableID{5}, nil }
	_, err = c.Await(t.Context(), seenTables{1: 1})
	require.ErrorIs(t, err, noderpc.ErrBadMessage, "a node says nothing of what it was not asked")
	_, err = c.Await(t.Context(), nil)
	require.Equal(t, "22023", state(t, err))
	many := seenTables{}
	for id := range 5000 {
		many[catalog.TableID(id+1)] = 1
	}
	_, err = c.Await(t.Context(), many)
	require.Equal(t, "22023", state(t, err))
}

// The end of the server does not wait for calls that wait for news.
func TestAwaitEndsWithTheServer(t *testing.T) {
	began := make(chan struct{})
	node := &fakeNode{await: func(ctx context.Context, _ seenTables) ([]catalog.TableID, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	path, stop := serve(t, node, noderpc.ServerOptions{Grace: 1 << 40})
	c := dial(t, path)
	ended := make(chan error)
	go func() {
		changed, err := c.Await(t.Context(), seenTables{1: 1})
		if len(changed) > 0 {
			err = errors.New("it has news")
		}
		ended <- err
	}()
	<-began
	stop()
	require.NoError(t, <-ended)
}
