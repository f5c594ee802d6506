package noderpc_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/receipt"
	"github.com/csmsql/csmsql/cluster/noderpc"
)

// fakeCollector answers what it is set to.
type fakeCollector struct {
	calls    atomic.Int64
	answer   noderpc.Collected
	err      error
	received noderpc.CollectRequest
}

func (f *fakeCollector) Collect(_ context.Context, r noderpc.CollectRequest) (noderpc.Collected, error) {
	f.calls.Add(1)
	f.received = r
	return f.answer, f.err
}

func collectRequest() noderpc.CollectRequest {
	return noderpc.CollectRequest{
		Table: 7, Columns: []byte("columns"), Rows: []byte("rows"), Seen: 5,
		Names:   []noderpc.TableNamed{{Schema: "", Name: "t", Path: []string{"a", "b"}}},
		Receipt: receipt.Receipt{Node: "b", Slot: 3, Since: 4, Token: "b/1/2"},
	}
}

// A node hands over rows with its own receipt, and with no other node's: that one would take rows for committed that are
// not.
func TestCollect(t *testing.T) {
	f := &fakeCollector{answer: noderpc.Collected{Revision: 9, Others: true}}
	s := serveSecured(t, noderpc.ServerOptions{Collector: f})
	b := s.dial(t, nodeCertificate(t, s.authority, "b"))
	done, err := b.Collect(t.Context(), collectRequest())
	require.NoError(t, err)
	require.Equal(t, f.answer, done)
	require.Equal(t, collectRequest(), f.received)

	other := collectRequest()
	other.Receipt.Node = "c"
	_, err = b.Collect(t.Context(), other)
	require.ErrorContains(t, err, `the receipt is of node "c"`)
	require.Equal(t, int64(1), f.calls.Load(), "it reached the collector")

	f.err = errors.New("the region is full")
	_, err = b.Collect(t.Context(), collectRequest())
	require.ErrorContains(t, err, "the region is full")
	f.err, f.answer.Revision = nil, 0
	_, err = b.Collect(t.Context(), collectRequest())
	require.ErrorIs(t, err, noderpc.ErrBadMessage, "a commit without a revision")
}

func TestCollectHasBounds(t *testing.T) {
	f := &fakeCollector{answer: noderpc.Collected{Revision: 9}}
	at, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{Collector: f})
	c := dial(t, at)
	for what, change := range map[string]func(*noderpc.CollectRequest){
		"no table":   func(r *noderpc.CollectRequest) { r.Table = 0 },
		"no rows":    func(r *noderpc.CollectRequest) { r.Rows = nil },
		"rows":       func(r *noderpc.CollectRequest) { r.Rows = make([]byte, noderpc.MaxCollectBytes+1) },
		"no columns": func(r *noderpc.CollectRequest) { r.Columns = nil },
		"names":      func(r *noderpc.CollectRequest) { r.Names = make([]noderpc.TableNamed, noderpc.MaxCollectNames+1) },
		"a name":     func(r *noderpc.CollectRequest) { r.Names[0].Name = strings.Repeat("x", 256) },
		"path":       func(r *noderpc.CollectRequest) { r.Names[0].Path = make([]string, 257) },
		"revision":   func(r *noderpc.CollectRequest) { r.Seen = -1 },
		"slot":       func(r *noderpc.CollectRequest) { r.Receipt.Slot = receipt.Slots },
		"since":      func(r *noderpc.CollectRequest) { r.Receipt.Since = -1 },
		"no node":    func(r *noderpc.CollectRequest) { r.Receipt.Node = "" },
		"no token":   func(r *noderpc.CollectRequest) { r.Receipt.Token = "" },
	} {
		r := collectRequest()
		change(&r)
		_, err := c.Collect(t.Context(), r)
		require.Error(t, err, what)
	}
	require.Zero(t, f.calls.Load())
	path := []string{"a", "b", "behind", "it"} // of a session, which others may share
	shared := collectRequest()
	shared.Names[0].Path = path[:2]
	_, err := c.Collect(t.Context(), shared)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "behind", "it"}, path, "it is only read")
	_, err = c.Collect(t.Context(), collectRequest())
	require.NoError(t, err)

	at, _ = serve(t, &fakeNode{}, noderpc.ServerOptions{})
	_, err = dial(t, at).Collect(t.Context(), collectRequest())
	require.ErrorContains(t, err, "belongs to no cluster")
}
