package etcd_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/cluster/etcd"
)

// What Limits allow, etcd takes; what they do not, is refused here and not there.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := open(t, etcd.Options{Endpoints: []string{member(t).Endpoint()}, Prefix: prefix()})
	long := func(i int) string { return fmt.Sprintf("%0200d", i) }
	var most store.Transaction
	for i := range etcd.MaxOperations / 2 {
		most.Compares = append(most.Compares, store.Unchanged(long(i), 0))
		most.Puts = append(most.Puts, store.Item{Key: long(i), Value: make([]byte, etcd.MaxBytes/(etcd.MaxOperations/2)-200), Ephemeral: i%2 == 0})
	}
	_, err := s.Commit(ctx, most)
	require.NoError(t, err)
	n := 0
	_, err = s.Scan(ctx, []string{""}, func(i store.Item) error {
		n++
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, len(most.Puts), n)

	var many store.Transaction
	for i := range etcd.MaxOperations {
		many.Deletes = append(many.Deletes, long(i))
	}
	_, err = s.Commit(ctx, many)
	require.NoError(t, err)
	many.Deletes = append(many.Deletes, "one more")
	_, err = s.Commit(ctx, many)
	require.ErrorIs(t, err, store.ErrTransaction)
	_, err = s.Commit(ctx, store.Transaction{Puts: []store.Item{{Key: "a", Value: make([]byte, etcd.MaxBytes)}}})
	require.ErrorIs(t, err, store.ErrTransaction)
	require.ErrorContains(t, err, "1310721 bytes")
}

// Large transactions come to a watch in fragments, which it puts together again (S6).
func TestFragments(t *testing.T) {
	t.Parallel()
	s := open(t, etcd.Options{Endpoints: []string{member(t).Endpoint()}, Prefix: prefix()})
	first := commit(t, s, put("a", ""))
	var want []store.Change
	for i := range 6 {
		value := strings.Repeat(fmt.Sprint(i), 600<<10)
		r := commit(t, s, put("a", value), put("b", value))
		want = append(want, store.Change{Revision: r, Puts: []store.Item{
			{Key: "a", Value: []byte(value), Revision: r}, {Key: "b", Value: []byte(value), Revision: r},
		}})
	}
	watching, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var got []store.Change
	err := s.Watch(watching, []string{"a", "b"}, first, func(c store.Change) error {
		got = append(got, c)
		if len(got) == len(want) {
			cancel()
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, fmt.Sprint(want[i]) == fmt.Sprint(got[i]), "transaction %d is not as it was", i) // not printed: it is large
	}
}

// A full etcd does what takes it over its quota and says that it has no space: its answer leaves the outcome open,
// which a Get shows (S8).
func TestFull(t *testing.T) {
	t.Parallel()
	server := serve(t, etcd.ServerOptions{Directory: filepath.Join(t.TempDir(), "full"), Name: "full", ListenClient: "127.0.0.1:0", QuotaBytes: 1 << 20})
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint()}})
	var err error
	n := -1
	for err == nil && n < 100 {
		n++
		_, err = s.Commit(ctx, store.Transaction{Puts: []store.Item{{Key: fmt.Sprint(n), Value: make([]byte, 200<<10)}}})
	}
	require.ErrorIs(t, err, store.ErrUnknown)
	requireState(t, err, "08007")
	var hinted interface{ Hint() string }
	require.ErrorAs(t, err, &hinted)
	require.Contains(t, hinted.Hint(), "quota")
	_, before, err := s.Get(ctx, fmt.Sprint(n-1))
	require.NoError(t, err, "a full etcd can be read")
	require.True(t, before)
	_, err = s.Commit(ctx, store.Transaction{Deletes: []string{"0"}})
	require.NoError(t, err, "and made emptier")
	requireAlive(t, s)
}

// requireAlive: a full etcd still renews sessions.
func requireAlive(t *testing.T, s *etcd.Store) {
	renewals := s.Stats().Renewals
	soon(t, "renewals go on", func() bool { return s.Stats().Renewals > renewals })
	require.NoError(t, s.Session().Check())
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	at := func(endpoints ...string) etcd.Options { return etcd.Options{Endpoints: endpoints} }
	secure := at("http://127.0.0.1:2379")
	secure.TLS = &tls.Config{}
	short := at("127.0.0.1:1")
	short.SessionTTL = time.Second
	uneven := at("127.0.0.1:1")
	uneven.SessionTTL = 2500 * time.Millisecond
	backwards := at("127.0.0.1:1")
	backwards.Timeout = -1
	for want, options := range map[string]etcd.Options{
		"no endpoint is given":  at(),
		"is not host:port":      at("127.0.0.1"),
		"not on this machine":   at("http://192.0.2.7:2379"),
		"the scheme must be":    at("ftp://127.0.0.1:2379"),
		"needs certificates":    at("https://127.0.0.1:2379"),
		"without TLS":           secure,
		"a session of 1s":       short,
		"in whole seconds":      uneven,
		"a timeout of -1ns":     backwards,
		`"192.0.2.7:1" is not `: at("127.0.0.1:1", "192.0.2.7:1"),
	} {
		_, err := etcd.Open(ctx, options)
		require.ErrorContains(t, err, want)
		requireState(t, err, "22023")
	}
}

// E1: where no member listens, or none answers, opening fails in time and says so.
func TestNoMemberThere(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	silent := listener.Addr().String() // it accepts, and says nothing
	defer func() { require.NoError(t, listener.Close()) }()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	for _, endpoint := range []string{gone.Addr().String(), silent} {
		began := time.Now()
		_, err = etcd.Open(ctx, etcd.Options{Endpoints: []string{endpoint}, Timeout: time.Second})
		require.ErrorIs(t, err, etcd.ErrUnavailable)
		require.ErrorContains(t, err, endpoint)
		requireState(t, err, "57P03")
		require.Less(t, time.Since(began), 5*time.Second)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = etcd.Open(cancelled, etcd.Options{Endpoints: []string{silent}})
	require.ErrorIs(t, err, context.Canceled)
}

// A file of which most is free becomes small by itself, without an alarm.
func TestWastefulDatabaseIsDefragmented(t *testing.T) {
	t.Parallel()
	server := serve(t, etcd.ServerOptions{
		Directory: filepath.Join(t.TempDir(), "wasteful"), Name: "wasteful", ListenClient: "127.0.0.1:0",
		Maintenance: 50 * time.Millisecond, History: 5 * time.Minute,
	})
	require.Equal(t, "5m0s", server.Retention())
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint()}})
	var last store.Revision
	for range 80 {
		last = commit(t, s, store.Item{Key: "a", Value: make([]byte, 1<<20)})
	}
	size := func() int64 {
		list, err := s.Members(ctx)
		require.NoError(t, err)
		return list[0].Bytes
	}
	require.Greater(t, size(), int64(64<<20))
	require.NoError(t, s.Compact(ctx, int64(last)))
	soon(t, "it is defragmented", func() bool { return size() < 16<<20 })
	_, there, err := s.Get(ctx, "a")
	require.NoError(t, err)
	require.True(t, there)
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// E7: a member whose database is full makes room by itself where former revisions took it. Where the catalog is that large
// it says what helps, and a larger quota does.
func TestFullDatabaseIsHealed(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	options := etcd.ServerOptions{
		Directory: filepath.Join(t.TempDir(), "healed"), Name: "healed", ListenClient: "127.0.0.1:0", QuotaBytes: 1 << 20,
		Maintenance: 50 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	server := serve(t, options)
	s, err := etcd.Open(ctx, etcd.Options{Endpoints: []string{server.Endpoint()}, SessionTTL: etcd.MinSessionTTL})
	require.NoError(t, err)
	write := func(s *etcd.Store, key string) error {
		_, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{{Key: key, Value: make([]byte, 200<<10)}}})
		return err
	}
	fill := func(key func(n int) string) {
		t.Helper()
		for n := range 100 {
			if err := write(s, key(n)); err != nil {
				requireState(t, err, "08007")
				return
			}
		}
		require.FailNow(t, "it is never full")
	}
	fill(func(int) string { return "again and again" })
	soon(t, "it has room again", func() bool { return write(s, "again and again") == nil })
	require.Contains(t, log.String(), "etcd's database was full, and has room again")

	fill(func(n int) string { return fmt.Sprint(n) })
	soon(t, "the log says what helps", func() bool { return strings.Contains(log.String(), "--etcd-quota") })
	requireState(t, write(s, "more"), "08007")
	require.NoError(t, s.Close())
	require.NoError(t, server.Close())

	options.QuotaBytes, options.Maintenance = 16<<20, time.Hour // the start itself heals it
	s = open(t, etcd.Options{Endpoints: []string{serve(t, options).Endpoint()}})
	require.NoError(t, write(s, "more"), "a larger quota helps")
	_, kept, err := s.Get(ctx, "0")
	require.NoError(t, err)
	require.True(t, kept)
}
