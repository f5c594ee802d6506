package etcd_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc/peer"

	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/etcd"
)

// serve starts a member that the test closes.
func serve(t testing.TB, o etcd.ServerOptions) *etcd.Server {
	s, err := etcd.Serve(ctx, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// socketFolder is short enough for a unix socket.
func socketFolder(t testing.TB) string {
	folder, err := os.MkdirTemp("", "csmsql-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	return folder
}

// One member, a unix socket, nothing chosen: what is committed is there after a restart, and a directory has one user.
func TestOneMember(t *testing.T) {
	t.Parallel()
	folder := socketFolder(t)
	server := serve(t, etcd.ServerOptions{Directory: folder, Name: "one"})
	require.Equal(t, "unix://"+filepath.Join(folder, etcd.ClientSocket), server.Endpoint())
	require.NoError(t, server.Err())
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint()}})
	revision := commit(t, s, put("a", "1"))
	_, err := etcd.Serve(ctx, etcd.ServerOptions{Directory: folder, Name: "one"})
	require.ErrorIs(t, err, etcd.ErrInUse)
	require.ErrorContains(t, err, folder)

	watching := make(chan error, 1)
	go func() {
		watching <- s.Watch(ctx, []string{""}, revision, func(store.Change) error { return nil })
	}()
	began := time.Now()
	require.NoError(t, server.Close())
	require.Less(t, time.Since(began), 20*time.Second, "it does not wait for watches")
	<-server.Done()
	require.ErrorContains(t, server.Err(), "closed")

	server = serve(t, etcd.ServerOptions{Directory: folder, Name: "one"})
	soon(t, "the handle goes on", func() bool {
		item, ok, err := s.Get(ctx, "a")
		return err == nil && ok && item.Revision == revision
	})
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-watching, store.ErrClosed)
	require.NoError(t, server.Close())
}

// TestAPortThatWasTakenMeanwhile: a free port is looked for again if another process took it first; one that was asked
// for is not.
func TestAPortThatWasTakenMeanwhile(t *testing.T) {
	t.Parallel()
	var taken []string
	take := func(peer string) {
		if len(taken) < 2 {
			l, err := net.Listen("tcp", peer)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, l.Close()) })
		}
		taken = append(taken, peer)
	}
	o := etcd.ServerOptions{Directory: filepath.Join(t.TempDir(), "own"), Name: "late", ListenClient: "127.0.0.1:0"}
	etcd.BeforeListening(&o, take)
	server := serve(t, o)
	require.Len(t, taken, 3)
	require.Equal(t, taken[2], server.PeerAddress())

	taken = nil
	o = etcd.ServerOptions{Directory: filepath.Join(t.TempDir(), "fixed"), Name: "fixed", ListenPeer: freeAddress(t)}
	etcd.BeforeListening(&o, take)
	_, err := etcd.Serve(ctx, o)
	require.ErrorIs(t, err, unix.EADDRINUSE)
	require.Len(t, taken, 1)
}

func TestBadServerOptions(t *testing.T) {
	t.Parallel()
	base := func(change func(*etcd.ServerOptions)) etcd.ServerOptions {
		o := etcd.ServerOptions{Directory: t.TempDir(), Name: "x", ListenClient: "127.0.0.1:0"}
		change(&o)
		return o
	}
	for want, o := range map[string]etcd.ServerOptions{
		"needs a directory and a name": base(func(o *etcd.ServerOptions) { o.Name = "" }),
		"at most 100 bytes":            base(func(o *etcd.ServerOptions) { o.ListenClient = "unix:///" + strings.Repeat("x", 100) }),
		"can be reached from other":    base(func(o *etcd.ServerOptions) { o.ListenClient = "0.0.0.0:0" }),
		`"[::]:0" can be reached`:      base(func(o *etcd.ServerOptions) { o.ListenPeer = "[::]:0" }),
		"not a name":                   base(func(o *etcd.ServerOptions) { o.ListenPeer = "localhost:0" }),
		"does not have this member x":  base(func(o *etcd.ServerOptions) { o.InitialCluster = map[string]string{"y": "127.0.0.1:1"} }),
		"is not host:port":             base(func(o *etcd.ServerOptions) { o.ListenPeer = "127.0.0.1" }),
	} {
		_, err := etcd.Serve(ctx, o)
		require.ErrorContains(t, err, want)
		requireState(t, err, "22023")
	}
	_, err := etcd.Serve(ctx, base(func(o *etcd.ServerOptions) { o.ListenClient = "192.0.2.1:7"; o.TLS = &etcd.Files{} }))
	require.Error(t, err)
}

// lines is a log that a test reads.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A start and a stop without trouble say nothing; with trouble they do.
func TestQuiet(t *testing.T) {
	t.Parallel()
	var said lines
	log := slog.New(slog.NewTextHandler(&said, nil))
	server := serve(t, etcd.ServerOptions{Directory: filepath.Join(t.TempDir(), "own"), Name: "quiet", ListenClient: "127.0.0.1:0", Log: log})
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint()}, Log: log})
	commit(t, s, put("a", ""))
	require.NoError(t, s.Close())
	require.NoError(t, server.Close())
	require.NotContains(t, said.String(), "Running http and grpc")
	for _, line := range strings.Split(said.String(), "\n") { // a slow disk is trouble
		require.True(t, line == "" || strings.Contains(line, "slow") || strings.Contains(line, "took too long") || strings.Contains(line, "request stats"), line)
	}

	_, err := etcd.Serve(ctx, etcd.ServerOptions{Directory: t.TempDir(), Name: "loud", ListenClient: "127.0.0.1:0", ListenPeer: address(member(t)), Log: log})
	require.ErrorContains(t, err, "address already in use")
	require.Contains(t, said.String(), "level=ERROR")
}

// cluster is members that form a quorum.
type cluster struct {
	t       testing.TB
	options []etcd.ServerOptions
	members []*etcd.Server
}

// newCluster starts members at once, with elections twice as fast as usual.
func newCluster(t testing.TB, size int) *cluster {
	c := &cluster{t: t, options: make([]etcd.ServerOptions, size), members: make([]*etcd.Server, size)}
	peers := map[string]string{}
	for i := range size {
		name := fmt.Sprint("member", i)
		peers[name] = freeAddress(t)
		c.options[i] = etcd.ServerOptions{
			Directory: t.TempDir(), Name: name, ListenClient: freeAddress(t), ListenPeer: peers[name], InitialCluster: peers, Heartbeat: 50 * time.Millisecond,
		}
	}
	all := make([]int, size)
	for i := range all {
		all[i] = i
	}
	c.start(all...)
	t.Cleanup(func() {
		for _, m := range c.members {
			require.NoError(t, m.Close())
		}
	})
	return c
}

// given are the ports that freeAddress has returned.
var given sync.Map

// freeAddress is one that members can be stopped and started at: no connection gets its port, as it could get those
// that the system chooses itself.
func freeAddress(t testing.TB) string {
	for range 1000 {
		port := 15000 + rand.IntN(17000)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		if a, err := etcd.FreePort(fmt.Sprint("127.0.0.1:", port)); err == nil {
			return a
		}
	}
	require.FailNow(t, "no port between 15000 and 32000 is free")
	return ""
}

// start starts members at once, and waits until they take part.
func (c *cluster) start(which ...int) {
	var starting errgroup.Group
	for _, i := range which {
		starting.Go(func() (err error) {
			c.members[i], err = etcd.Serve(ctx, c.options[i])
			return err
		})
	}
	require.NoError(c.t, starting.Wait())
}

func (c *cluster) kill(i int) { require.NoError(c.t, c.members[i].Kill()) }

func (c *cluster) endpoints() (all []string) {
	for _, o := range c.options {
		all = append(all, o.ListenClient)
	}
	return all
}

func (c *cluster) leader() int {
	for i, m := range c.members {
		if m.Leads() {
			return i
		}
	}
	require.FailNow(c.t, "no member leads")
	return 0
}

// writer commits numbers, one after the other, and knows which were acknowledged.
type writer struct {
	store        *etcd.Store
	acknowledged []store.Revision
}

// write commits the next number until it is there. An outcome that is not known is asked for.
func (w *writer) write() error {
	key := fmt.Sprintf("written/%06d", len(w.acknowledged))
	revision, err := w.store.Commit(ctx, store.Transaction{
		Compares: []store.Compare{store.Unchanged(key, 0)},
		Puts:     []store.Item{put(key, "x"), put("newest", key)},
	})
	if err != nil {
		item, ok, again := w.store.Get(ctx, key)
		if again != nil || !ok {
			return err
		}
		revision = item.Revision
	}
	w.acknowledged = append(w.acknowledged, revision)
	return nil
}

func (w *writer) writeUntil(t testing.TB, enough func() bool) {
	deadline := time.Now().Add(30 * time.Second)
	for !enough() {
		if err := w.write(); err != nil {
			require.True(t, time.Now().Before(deadline), "%v", err)
		}
	}
}

// readFromOwnMember reads from the member of a process, that does not lead, without a connection: what was acknowledged anywhere before.
func readFromOwnMember(t testing.TB, c *cluster, writer *etcd.Store) {
	own := (c.leader() + 1) % 3
	s := open(t, etcd.Options{Endpoints: c.endpoints()[own : own+1], Member: c.members[own], SessionTTL: etcd.MinSessionTTL})
	for i := range 50 {
		revision := commit(t, writer, put("read", fmt.Sprint(i)))
		item, ok, err := s.Get(ctx, "read")
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, store.Item{Key: "read", Value: []byte(fmt.Sprint(i)), Revision: revision}, item)
	}
	require.GreaterOrEqual(t, c.members[own].Reads(), int64(45), "they were not read over a connection")
	require.NoError(t, s.Close())
	_, _, err := s.Get(ctx, "read")
	require.ErrorIs(t, err, store.ErrClosed)
}

// Three members: without the leader commits go on; without two they fail, clearly and in time, and the session says what
// it knows; when they are back, everything acknowledged is there, the session has survived, and a watch has missed nothing.
func TestQuorum(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := open(t, etcd.Options{Endpoints: c.endpoints(), SessionTTL: etcd.MinSessionTTL, Timeout: 2 * time.Second})
	w := &writer{store: s}
	first := commit(t, s, ephemeral("node/a"))
	watching, cancel := context.WithCancel(ctx)
	seen, ended := make(chan store.Revision, 10000), make(chan error, 1)
	go func() {
		ended <- s.Watch(watching, []string{"written/"}, first, func(change store.Change) error {
			seen <- change.Revision
			return nil
		})
	}()
	n := 0
	w.writeUntil(t, func() bool { n++; return n > 20 })

	readFromOwnMember(t, c, s)

	lost := c.leader()
	c.kill(lost)
	before := len(w.acknowledged)
	w.writeUntil(t, func() bool { return len(w.acknowledged) >= before+20 })
	require.NoError(t, s.Session().Check(), "an election is no reason to lose a session")

	second := (lost + 1) % 3
	c.kill(second)
	for range 2 { // the first may have been sent; then etcd is known to be in trouble
		began := time.Now()
		_, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{put("a", "")}})
		require.Less(t, time.Since(began), 20*time.Second)
		require.Error(t, err)
	}
	_, err := s.Commit(ctx, store.Transaction{Puts: []store.Item{put("a", "")}})
	require.ErrorIs(t, err, etcd.ErrUnavailable)
	require.NotErrorIs(t, err, store.ErrUnknown)
	requireState(t, err, "57P03")
	require.ErrorContains(t, err, "majority")
	_, _, err = s.Get(ctx, "written/000000")
	requireState(t, err, "57P03")
	item, found, err := store.GetImmutable(ctx, s, "written/000000")
	require.NoError(t, err, "the member that is left has what it had")
	require.True(t, found)
	require.Equal(t, w.acknowledged[0], item.Revision)
	_, _, err = store.GetImmutable(ctx, s, "written/never")
	requireState(t, err, "57P03")
	soon(t, "the session is not sure any more", func() bool { return s.Session().Check() != nil })
	require.ErrorIs(t, s.Session().Check(), store.ErrSessionUnsure)

	c.start(lost, second)
	soon(t, "the session is sure again", func() bool { return s.Session().Check() == nil })
	_, alive, err := s.Get(ctx, "node/a")
	require.NoError(t, err)
	require.True(t, alive, "an outage of etcd ends no session")
	before = len(w.acknowledged)
	w.writeUntil(t, func() bool { return len(w.acknowledged) >= before+5 })
	for i, want := range w.acknowledged {
		select {
		case got := <-seen:
			require.Equal(t, want, got, "transaction %d", i)
		case <-time.After(20 * time.Second):
			require.FailNow(t, "the watch does not go on")
		}
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	for i, want := range w.acknowledged {
		item, ok, err := s.Get(ctx, fmt.Sprintf("written/%06d", i))
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, item.Revision)
	}
}

// joinPatience bounds what changes a cluster's members: each change waits until all have been connected for five seconds, which
// takes several times as long where there is no processor for their heartbeats.
const joinPatience = 2 * time.Minute

func joiner(t testing.TB, name string) etcd.ServerOptions {
	return etcd.ServerOptions{Directory: filepath.Join(t.TempDir(), name), Name: name, ListenClient: freeAddress(t), ListenPeer: freeAddress(t), Heartbeat: 50 * time.Millisecond}
}

// A cluster of one grows; a member that joined may be started again, and leave. Directories and names are not mixed up.
func TestJoinAndLeave(t *testing.T) {
	t.Parallel()
	first := serve(t, etcd.ServerOptions{Directory: t.TempDir(), Name: "first", ListenClient: freeAddress(t), Heartbeat: 50 * time.Millisecond})
	through := etcd.Options{Endpoints: []string{first.Endpoint()}}
	s := open(t, through)
	revision := commit(t, s, put("a", "1"))
	joining, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	options := joiner(t, "second")
	second, err := etcd.Join(joining, options, through)
	require.NoError(t, err)
	own := open(t, etcd.Options{Endpoints: []string{second.Endpoint()}})
	item, ok, err := own.Get(ctx, "a")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, revision, item.Revision)
	require.NoError(t, own.Close())

	_, err = etcd.Join(joining, joiner(t, "second"), through)
	require.ErrorContains(t, err, "has a member second already")
	lost := joiner(t, "second")
	lost.ListenPeer = options.ListenPeer
	_, err = etcd.Join(joining, lost, through)
	require.ErrorContains(t, err, "take that member out")
	require.NoError(t, second.Kill())
	second, err = etcd.Join(joining, options, through) // now the two are needed for a majority
	require.NoError(t, err)
	require.NoError(t, second.Leave(joining))
	require.NoError(t, second.Close(), "closing twice is harmless")
	commit(t, s, put("a", "2"))
}

// A member that is lost with its directory is taken out by the others; one that answers is not.
func TestForget(t *testing.T) {
	t.Parallel()
	first := serve(t, etcd.ServerOptions{Directory: t.TempDir(), Name: "first", ListenClient: freeAddress(t), Heartbeat: 50 * time.Millisecond})
	through := etcd.Options{Endpoints: []string{first.Endpoint()}}
	s := open(t, through)
	joining, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	second, err := etcd.Join(joining, joiner(t, "second"), through)
	require.NoError(t, err)
	defer func() { require.NoError(t, second.Close()) }()
	third, err := etcd.Join(joining, joiner(t, "third"), through)
	require.NoError(t, err)
	found, err := s.Forget(joining, "third")
	require.True(t, found)
	require.ErrorContains(t, err, "member third of etcd answers, it is not lost")
	found, err = s.Forget(joining, "fourth")
	require.False(t, found)
	require.NoError(t, err)
	require.NoError(t, third.Kill())
	found, err = s.Forget(joining, "third")
	require.True(t, found)
	require.NoError(t, err)
	commit(t, s, put("a", "1"))
	members, err := s.Members(joining)
	require.NoError(t, err)
	require.Len(t, members, 2)
}

// etcd has room for one learner at a time: one waits for the other.
func TestTwoJoinAtOnce(t *testing.T) {
	t.Parallel()
	first := serve(t, etcd.ServerOptions{Directory: t.TempDir(), Name: "first", ListenClient: freeAddress(t), Heartbeat: 50 * time.Millisecond})
	joining, cancel := context.WithTimeout(ctx, joinPatience)
	defer cancel()
	var both errgroup.Group
	var members [2]*etcd.Server
	for i, o := range []etcd.ServerOptions{joiner(t, "second"), joiner(t, "third")} {
		both.Go(func() (err error) {
			members[i], err = etcd.Join(joining, o, etcd.Options{Endpoints: []string{first.Endpoint()}})
			return err
		})
	}
	require.NoError(t, both.Wait())
	require.NoError(t, first.Kill())
	s := open(t, etcd.Options{Endpoints: []string{members[0].Endpoint(), members[1].Endpoint()}})
	commit(t, s, put("a", "two of three have votes"))
	for _, m := range members {
		require.NoError(t, m.Close())
	}
}

// caller is what a node's own server knows of its caller.
type caller struct{}

func (caller) AuthType() string { return "a socket" }

// Without a certificate of the authority no client gets in.
func TestCertificates(t *testing.T) {
	t.Parallel()
	issue := func(hosts ...string) (files etcd.Files, credentials *certificate.Credentials) {
		folder := t.TempDir()
		authority, err := certificate.CreateAuthority(filepath.Join(folder, "ca"), "test")
		require.NoError(t, err)
		pair, err := authority.Issue(certificate.Identity{Role: certificate.RoleNode, Name: "n1"}, certificate.IssueOptions{Hosts: hosts})
		require.NoError(t, err)
		require.NoError(t, pair.Write(folder))
		f := certificate.FilesIn(folder, certificate.RoleNode)
		credentials, err = certificate.Load(f)
		require.NoError(t, err)
		return etcd.Files{Authority: f.Authority, Certificate: f.Certificate, Key: f.Key}, credentials
	}
	files, credentials := issue("127.0.0.1")
	_, foreign := issue("127.0.0.1")
	server := serve(t, etcd.ServerOptions{Directory: t.TempDir(), Name: "n1", ListenClient: "127.0.0.1:0", TLS: &files, PeerTLS: &files})
	require.Contains(t, server.Endpoint(), "https://")
	s := open(t, etcd.Options{Endpoints: []string{server.Endpoint()}, TLS: credentials.Client("")})
	revision := commit(t, s, put("a", "1"))
	here := open(t, etcd.Options{Endpoints: []string{server.Endpoint()}, TLS: credentials.Client(""), Member: server})
	before := server.Reads()
	called := peer.NewContext(ctx, &peer.Peer{AuthInfo: caller{}}) // on behalf of a call to the node, which is not the member's
	item, found, err := here.Get(called, "a")
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "1", string(item.Value))
	require.Greater(t, server.Reads(), before)
	w, cancel := context.WithCancel(ctx)
	require.ErrorIs(t, s.Watch(w, []string{""}, revision-1, func(store.Change) error { cancel(); return nil }), context.Canceled)
	cancel()
	for what, config := range map[string]*tls.Config{
		"another authority's": foreign.Client(""),
		"none":                {InsecureSkipVerify: true},
	} {
		_, err := etcd.Open(ctx, etcd.Options{Endpoints: []string{server.Endpoint()}, TLS: config, Timeout: time.Second})
		require.ErrorIs(t, err, etcd.ErrUnavailable, what)
	}
}
