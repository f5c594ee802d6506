package noderpc_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
)

func newAuthority(t testing.TB) *certificate.Authority {
	a, err := certificate.CreateAuthority(t.TempDir(), "test")
	require.NoError(t, err)
	return a
}

// issueFor makes a certificate of the authority and loads it.
func issueFor(t testing.TB, a *certificate.Authority, role certificate.Role, name string, until time.Time) *certificate.Credentials {
	pair, err := a.Issue(certificate.Identity{Role: role, Name: name}, certificate.IssueOptions{Until: until})
	require.NoError(t, err)
	directory := t.TempDir()
	require.NoError(t, pair.Write(directory))
	c, err := certificate.Load(certificate.FilesIn(directory, role))
	require.NoError(t, err)
	return c
}

func nodeCertificate(t testing.TB, a *certificate.Authority, name string) *certificate.Credentials {
	return issueFor(t, a, certificate.RoleNode, name, time.Time{})
}

// journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// secured is a node on a TCP address that only certificates open.
type secured struct {
	authority *certificate.Authority
	node      *fakeNode
	server    *noderpc.Server
	address   string
	log       *journal
}

// serveSecured serves node "local" on every address of the machine: certificates decide which callers get in, not
// addresses.
func serveSecured(t testing.TB, options noderpc.ServerOptions) *secured {
	s := &secured{authority: newAuthority(t), node: &fakeNode{}, log: &journal{}}
	options.Certificate = nodeCertificate(t, s.authority, "local")
	options.Name, options.Log = "local", slog.New(slog.NewTextHandler(s.log, nil))
	s.server = noderpc.NewServer(s.node, options)
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(listener.Addr().String())
	require.NoError(t, err)
	s.address = net.JoinHostPort("127.0.0.1", port)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-served)
		require.Zero(t, s.node.active.Load(), "a call outlived Serve")
	})
	return s
}

func (s *secured) dial(t testing.TB, own *certificate.Credentials, options ...noderpc.DialOption) *noderpc.Client {
	c, err := noderpc.Dial(context.Background(), s.address, append(options, noderpc.WithTLS(own, "local"))...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// refused sums a counter over the names that begin so.
func refused(s *noderpc.Server, name, reason string) (n uint64) {
	s.Refusals().Each(func(c coherence.Sample) {
		if c.Name == name && (c.Step == reason || reason == "") {
			n += c.Value
		}
	})
	return n
}

// N11: of another machine, its certificate names the caller.
func TestPeersAreWhoTheirCertificatesSay(t *testing.T) {
	ctx := context.Background()
	s := serveSecured(t, noderpc.ServerOptions{})
	caller := noderpc.NewIncarnation()
	c := s.dial(t, nodeCertificate(t, s.authority, "n2"), noderpc.WithIncarnation(caller))
	_, err := c.Lease(ctx, holder)
	require.NoError(t, err)
	p := s.node.peer
	require.Equal(t, certificate.Identity{Role: certificate.RoleNode, Name: "n2"}, p.Identity)
	require.Equal(t, "csmsql://node/n2", p.Name())
	require.Equal(t, caller, p.Incarnation)
	require.True(t, p.Identified())
	require.False(t, p.Known)
	require.Contains(t, p.String(), "127.0.0.1:")
	require.Equal(t, "local", c.Node())
	require.Equal(t, s.server.Incarnation(), c.Incarnation())
	_, err = c.Load(ctx, loadRequest(), nil)
	require.NoError(t, err, "a caller with a certificate is known, and may have files read")
	require.Zero(t, refused(s.server, "rpc_refused_connections_total", ""))

	tool := s.dial(t, issueFor(t, s.authority, certificate.RoleClient, "ops", time.Time{}))
	_, err = tool.Lease(ctx, holder)
	require.NoError(t, err)
	require.Equal(t, "csmsql://client/ops", s.node.peer.Name())
}

// Wrong, missing, expired, foreign: refused, logged with who and what, counted; and the caller's error says why.
func TestConnectionsThatAreRefused(t *testing.T) {
	t.Parallel() // it waits for a clock
	s := serveSecured(t, noderpc.ServerOptions{})
	soon := issueFor(t, s.authority, certificate.RoleNode, "soon", time.Now().Add(2*time.Second))
	foreign := nodeCertificate(t, newAuthority(t), "local")
	dial := func(own *certificate.Credentials, node string) error {
		c, err := noderpc.Dial(context.Background(), s.address, noderpc.WithTLS(own, node))
		if err == nil {
			err = c.Close()
		}
		return err
	}
	count := func(reason string) uint64 { return refused(s.server, "rpc_refused_connections_total", reason) }
	counted := func(reason string, before uint64) { // the client hears of it first
		require.Eventually(t, func() bool {
			return count(reason) > before && (reason == "no_tls" || strings.Contains(s.log.String(), "reason="+reason))
		}, 5*time.Second, time.Millisecond)
	}

	t.Run("foreign authority, seen by the client", func(t *testing.T) {
		err := dial(foreign, "local")
		require.ErrorIs(t, err, certificate.ErrForeign)
		require.Equal(t, "28000", state(t, err))
	})
	t.Run("wrong node", func(t *testing.T) {
		err := dial(nodeCertificate(t, s.authority, "n2"), "n3")
		require.ErrorIs(t, err, certificate.ErrWrongPeer)
		require.ErrorContains(t, err, "node local, not n3")
	})
	t.Run("expired", func(t *testing.T) {
		require.Eventually(t, func() bool { return time.Now().After(soon.Until()) }, 5*time.Second, 10*time.Millisecond)
		err := dial(soon, "local")
		require.ErrorIs(t, err, certificate.ErrExpired)
		require.Equal(t, "28000", state(t, err))
		counted("expired", 0)
		require.Contains(t, s.log.String(), "csmsql://node/soon")
		require.Contains(t, s.log.String(), "127.0.0.1:")
	})
	t.Run("no TLS", func(t *testing.T) {
		_, err := noderpc.Dial(context.Background(), s.address)
		require.Equal(t, "08001", state(t, err))
		counted("no_tls", 0)
	})
	for name, config := range map[string]*tls.Config{
		"no_certificate":    {InsecureSkipVerify: true},
		"foreign_authority": blind(foreign.Client("")),
	} {
		t.Run(name, func(t *testing.T) {
			before := count(name)
			conn, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
			require.NoError(t, err)
			defer conn.Close() //nolint:errcheck // a test's
			_, err = nodepb.NewNodeClient(conn).Hello(context.Background(), &nodepb.HelloRequest{Protocol: noderpc.ProtocolVersion})
			require.Error(t, err)
			counted(name, before)
		})
	}
	require.Zero(t, s.node.held(), "none of them reached the node")
}

// blind does not look at the server.
func blind(c *tls.Config) *tls.Config {
	c.VerifyConnection = nil
	return c
}

// A connection may be older than its certificate.
func TestACertificateExpiresDuringAConnection(t *testing.T) {
	t.Parallel() // it waits for a clock
	s := serveSecured(t, noderpc.ServerOptions{})
	soon := issueFor(t, s.authority, certificate.RoleNode, "soon", time.Now().Add(3*time.Second))
	c := s.dial(t, soon)
	require.NoError(t, c.Ping(context.Background()))
	require.Eventually(t, func() bool { return time.Now().After(soon.Until()) }, 5*time.Second, 10*time.Millisecond)
	err := c.Ping(context.Background())
	require.Equal(t, "28000", state(t, err))
	require.EqualValues(t, 1, s.server.Refusals().Calls(refusal.Expired))
}

// A client that has a certificate does not talk to a node without.
func TestANodeWithoutCertificateIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveOn(t, &fakeNode{}, noderpc.ServerOptions{}, listener)
	_, err = noderpc.Dial(context.Background(), listener.Addr().String(), noderpc.WithTLS(nodeCertificate(t, newAuthority(t), "n2"), ""))
	require.ErrorIs(t, err, certificate.ErrPlainText)
	require.Equal(t, "28000", state(t, err))
}

func TestANodeIsWhoItsCertificateSays(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	a := newAuthority(t)
	err = noderpc.NewServer(&fakeNode{}, noderpc.ServerOptions{Name: "n1", Certificate: nodeCertificate(t, a, "n2"), Log: silent()}).Serve(context.Background(), listener)
	require.ErrorIs(t, err, certificate.ErrWrongPeer)
	err = noderpc.NewServer(&fakeNode{}, noderpc.ServerOptions{
		Name: "n1", Certificate: issueFor(t, a, certificate.RoleClient, "n1", time.Time{}), Log: silent(),
	}).Serve(context.Background(), listener)
	require.ErrorIs(t, err, certificate.ErrWrongPeer, "a tool's certificate is not for serving")
}

// The unix socket of a node with a certificate needs none: the kernel names the caller.
func TestTheSocketNeedsNoCertificate(t *testing.T) {
	a := newAuthority(t)
	path, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{Certificate: nodeCertificate(t, a, "local")})
	require.NoError(t, dial(t, path).Ping(context.Background()))
	c, err := noderpc.Dial(context.Background(), path, noderpc.WithTLS(nodeCertificate(t, a, "n2"), "local"))
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

// What is for nodes only is not for tools, and none of it is for unknown callers.
func TestWhoMayCallWhat(t *testing.T) {
	ctx := context.Background()
	s := serveSecured(t, noderpc.ServerOptions{})
	tool := s.dial(t, issueFor(t, s.authority, certificate.RoleClient, "ops", time.Time{}))
	_, err := tool.Grant(ctx, noderpc.GrantRequest{Size: 1, Ticket: noderpc.NewTicket()})
	require.Equal(t, "42501", state(t, err))
	_, err = tool.RunFragment(ctx, noderpc.FragmentRequest{Query: "q"}, noderpc.FragmentOptions{})
	require.Equal(t, "42501", state(t, err))
	require.Equal(t, "0A000", state(t, tool.Drain(ctx, true)), "it may ask; this node belongs to no cluster")
	require.EqualValues(t, 2, s.server.Refusals().Calls(refusal.Role))
	require.Contains(t, s.log.String(), "csmsql://client/ops")

	_, err = s.dial(t, nodeCertificate(t, s.authority, "n2")).Grant(ctx, noderpc.GrantRequest{Size: 1, Ticket: noderpc.NewTicket()})
	require.Equal(t, "0A000", state(t, err), "it may ask; this node does not lend")

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveOn(t, &fakeNode{}, noderpc.ServerOptions{}, listener)
	unknown := dial(t, listener.Addr().String())
	require.NoError(t, unknown.Ping(ctx))
	require.Equal(t, "42501", state(t, unknown.Drain(ctx, true)))
}

// Connections beyond the bound are counted, too.
func TestTooManyConnectionsAreCounted(t *testing.T) {
	s := serveSecured(t, noderpc.ServerOptions{MaxConnections: 1})
	own := nodeCertificate(t, s.authority, "n2")
	s.dial(t, own)
	_, err := noderpc.Dial(context.Background(), s.address, noderpc.WithTLS(own, ""))
	require.Error(t, err)
	require.Eventually(t, func() bool { return refused(s.server, "rpc_refused_connections_total", "too_many") > 0 }, 5*time.Second, time.Millisecond)
}

// A node's log is not a peer's to fill.
func TestTheLogIsBounded(t *testing.T) {
	log := &journal{}
	r := refusal.New(slog.New(slog.NewTextHandler(log, nil)))
	for range 10_000 {
		r.Call(context.Background(), refusal.Forged, noderpc.Peer{}, "Free", os.ErrInvalid)
	}
	require.EqualValues(t, 10_000, r.Calls(refusal.Forged))
	require.Less(t, bytes.Count([]byte(log.String()), []byte("\n")), 200)
}

// A caller that does not say which process it is gets no memory.
func TestCallersWithoutIncarnation(t *testing.T) {
	path, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{Lender: &fakeLender{}})
	c, err := noderpc.Dial(context.Background(), path, noderpc.WithIncarnation(noderpc.Incarnation{}))
	require.NoError(t, err)
	defer c.Close() //nolint:errcheck // a test's
	_, err = c.Grant(context.Background(), noderpc.GrantRequest{Size: 1, Ticket: noderpc.NewTicket()})
	require.Equal(t, "08P01", state(t, err))

	conn, err := grpc.NewClient("unix:"+filepath.Clean(path), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // a test's
	_, err = nodepb.NewLendingClient(conn).Grant(context.Background(), &nodepb.GrantRequest{Size: 1, Ticket: 1})
	require.ErrorContains(t, err, "without the incarnation")
}
