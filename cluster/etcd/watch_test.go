package etcd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/csmsql/csmsql/catalog/store"
)

func TestSpan(t *testing.T) {
	for _, of := range []struct {
		first, end string
		prefixes   []string
	}{
		{"k/", "k0", []string{""}},
		{"k/a/", "k/a0", []string{"a/"}},
		{"k/a/b", "k/abd", []string{"abc", "a/b"}},
		{"k/table", "k/tablf", []string{"table/", "table/1", "table"}},
		{"k/a", "k/z", []string{"m", "a", "y"}},
	} {
		first, end := span("k/", of.prefixes)
		require.Equal(t, [2]string{of.first, of.end}, [2]string{first, end}, "%q", of.prefixes)
	}
}

// asked is a stream that only counts requests.
type asked struct {
	etcdserverpb.Watch_WatchClient
	requests int
}

func (a *asked) Send(*etcdserverpb.WatchRequest) error {
	a.requests++
	return nil
}

// A watch that is behind asks for news; one that hears nothing for too long is restarted; one that works is left alone;
// and what it is known to have reached never runs ahead of what it applied.
func TestWatchExpects(t *testing.T) {
	now := instant(100 * time.Second)
	stream, cancelled := &asked{}, 0
	w := &watching{store: &Store{options: Options{clock: func() instant { return now }}}, position: 5, shown: 1}
	w.begun(stream, func() { cancelled++ })

	w.expect(point{5, now}, now)
	require.Equal(t, now, w.seen(), "it is there already")
	require.Zero(t, stream.requests)
	before := now
	now = now.add(time.Second)
	w.expect(point{7, now}, now)
	require.Equal(t, before, w.seen())
	require.Equal(t, 1, stream.requests)
	w.reach(6)
	require.Equal(t, before, w.seen())
	w.reach(7)
	require.Equal(t, now, w.seen())

	w.hear(true)
	late := now.add(stuckAfter + time.Second)
	w.expect(point{8, late}, late)
	require.Zero(t, cancelled, "apply works: the stream is not to blame")
	w.hear(false)
	w.expect(point{9, late}, late)
	require.Equal(t, 1, cancelled)

	for i := range 3 * maxExpected {
		w.expect(point{int64(10 + i), late.add(time.Duration(i))}, late)
	}
	require.Len(t, w.expected, maxExpected)
	w.reach(int64(10 + 3*maxExpected))
	require.Equal(t, late.add(time.Duration(3*maxExpected-1)), w.seen())
}

// E5: a message may end in the middle of a transaction, and a stream before it is whole.
func TestTakeFragments(t *testing.T) {
	event := func(key string, revision int64) *etcdserverpb.WatchResponse {
		return fragment(true, put(key, revision))
	}
	var got []store.Change
	w := &watching{store: &Store{keys: "k/", options: Options{clock: bootTime}}, prefixes: []string{"a", "b"}, position: 1}
	w.apply = func(c store.Change) error { got = append(got, c); return nil }
	w.store.living = t.Context()
	take := func(m *etcdserverpb.WatchResponse) { require.NoError(t, w.take(t.Context(), m)) }

	take(fragment(true, put("k/a", 2), put("k/b", 3)))
	require.Len(t, got, 1)
	take(event("k/a", 3))
	require.Len(t, got, 1, "the transaction may go on")
	take(event("k/c", 3))
	take(fragment(false, put("k/b1", 4)))
	require.Len(t, got, 3)
	require.Equal(t, []string{"a", "b"}, []string{got[1].Puts[0].Key, got[1].Puts[1].Key})
	require.Equal(t, int64(4), w.position)
	take(event("k/a", 5))
	require.Equal(t, int64(4), w.position, "half a transaction is none: the next stream begins with it")
}

func put(key string, revision int64) *mvccpb.Event {
	return &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: revision}}
}

func fragment(more bool, events ...*mvccpb.Event) *etcdserverpb.WatchResponse {
	return &etcdserverpb.WatchResponse{Header: &etcdserverpb.ResponseHeader{}, Fragment: more, Events: events}
}
