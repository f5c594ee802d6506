package etcd_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/catalog/store/storetest"
	"github.com/csmsql/csmsql/cluster/etcd"
)

var ctx = context.Background()

// shared is one member for all tests that do nothing to it; each has a prefix of its own.
var shared struct {
	once   sync.Once
	server *etcd.Server
	err    error
	folder string
	number atomic.Int64
}

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "10"); err != nil { // they wait for clocks, not for processors
		panic(err)
	}
	code := m.Run()
	if shared.server != nil {
		if err := shared.server.Close(); err != nil && code == 0 {
			fmt.Println("close the shared member:", err)
			code = 1
		}
	}
	_ = os.RemoveAll(shared.folder)
	os.Exit(code)
}

// member is the shared one.
func member(t testing.TB) *etcd.Server {
	shared.once.Do(func() {
		if shared.folder, shared.err = os.MkdirTemp("", "csmsql-etcd-"); shared.err == nil {
			shared.server, shared.err = etcd.Serve(ctx, etcd.ServerOptions{Directory: shared.folder, Name: "shared", ListenClient: "127.0.0.1:0"})
		}
	})
	require.NoError(t, shared.err)
	return shared.server
}

// prefix is a part of the shared member for one test.
func prefix() string { return fmt.Sprintf("test-%d/", shared.number.Add(1)) }

func open(t testing.TB, o etcd.Options) *etcd.Store {
	if o.SessionTTL == 0 {
		o.SessionTTL = etcd.MinSessionTTL
	}
	s, err := etcd.Open(ctx, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func address(s *etcd.Server) string { return strings.TrimPrefix(s.Endpoint(), "http://") }

func commit(t testing.TB, s store.Store, puts ...store.Item) store.Revision {
	revision, err := s.Commit(ctx, store.Transaction{Puts: puts})
	require.NoError(t, err)
	return revision
}

func put(key, value string) store.Item { return store.Item{Key: key, Value: []byte(value)} }

func ephemeral(key string) store.Item { return store.Item{Key: key, Ephemeral: true} }

// soon waits for what must become true and cannot be waited for otherwise.
func soon(t testing.TB, what string, is func() bool) {
	require.Eventually(t, is, 20*time.Second, 5*time.Millisecond, what)
}

// Of what lies outside of the range of what is watched, etcd sends nothing; of what lies between, all.
func TestEtcdSendsTheRangeThatIsWatched(t *testing.T) {
	s := open(t, etcd.Options{Endpoints: []string{member(t).Endpoint()}, Prefix: prefix()})
	seen, ended := make(chan string), make(chan error, 1)
	watching, stop := context.WithCancel(ctx)
	go func() {
		ended <- s.Watch(watching, []string{"m/", "d/"}, commit(t, s, put("m/0", "")), func(c store.Change) error {
			seen <- c.Puts[len(c.Puts)-1].Key
			return nil
		})
	}()
	for i := range 5 {
		commit(t, s, put("a/", "1"), put("cz", "1"), put("m0", "1"), put("n", "1"))
		last := fmt.Sprintf("m/%d", i)
		commit(t, s, put("c", "1"), put("d/", "1"), put(last, "1"), put("n", "1"))
		require.Equal(t, last, <-seen)
	}
	require.Zero(t, s.Unfollowed())
	commit(t, s, put("e", "1"), put("m/", "1"))
	require.Equal(t, "m/", <-seen)
	require.Equal(t, int64(1), s.Unfollowed(), "the watch counts")
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestConformance(t *testing.T) {
	server := member(t)
	storetest.Run(t, func(t *testing.T) storetest.World {
		p := newProxy(t, address(server))
		options := etcd.Options{Endpoints: []string{p.address()}, Prefix: prefix(), SessionTTL: etcd.MinSessionTTL}
		return storetest.World{
			Open: func() store.Store {
				s, err := etcd.Open(ctx, options)
				require.NoError(t, err)
				return s
			},
			Kill: func(s store.Store) { s.(*etcd.Store).Kill() },
			Gone: 3 * etcd.MinSessionTTL,
			Forget: func(r store.Revision) {
				s := open(t, options)
				require.NoError(t, s.Compact(ctx, int64(r)))
			},
			Disturb: p.cut,
		}
	})
}
