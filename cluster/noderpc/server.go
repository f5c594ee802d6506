package noderpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
)

// ServerOptions bound what a server does at once. Zero values serve.
type ServerOptions struct {
	// Name is the node's name, for its callers' errors.
	Name string
	// MaxConnections at once; more are closed at once (default 1024).
	MaxConnections int
	// MaxStreams is how many calls one connection has under way (default 128); more wait in the client.
	MaxStreams int
	// MaxCalls is how many calls the node works on at once, over all connections (default 256). More wait, except
	// renewals and releases, which do not wait (N9).
	MaxCalls int
	// MaxPeerCalls is how many of these places one peer takes, over all its connections (default MaxStreams); what it
	// asks beyond that is refused (SQLSTATE 53000), so that no peer keeps the others out.
	MaxPeerCalls int
	// MaxLoads is how many loads run at once (default 4); more are refused (SQLSTATE 53000).
	MaxLoads int
	// MaxMessageBytes bounds one answer (default DefaultMaxMessageBytes); it cannot be larger, as clients take no more.
	MaxMessageBytes int
	// FilesOverTCP lets callers over plain TCP name files that the node reads. Default: only those who could open the
	// node's unix socket, or have a certificate, may: the node reads as its own user.
	FilesOverTCP bool
	// MaxFragments is how many fragments run, or keep their results, at once (default 64); more are refused (53000).
	MaxFragments int
	// MaxAwaits is how many calls wait for news of tables at once (default 1024), one of each process that follows
	// some; more are refused (53000).
	MaxAwaits int
	// MaxCallTime bounds every call but loads and fragments, whatever its caller allows (default 1 min).
	MaxCallTime time.Duration
	// FragmentTTL is how long a fragment's result stays after the last word of a caller that vanished (default 10 s).
	FragmentTTL time.Duration
	// Certificate opens the node to other machines: over TCP only holders of certificates of its authority get in. Nil:
	// TCP is for this machine alone, and its callers are unknown.
	Certificate *certificate.Credentials
	// Incarnation is this process' (default: a new one).
	Incarnation Incarnation
	// Lender lends memory to other processes; nil: none is lent.
	Lender Lender
	// Fragments runs parts of other nodes' queries; nil: it does not.
	Fragments Fragments
	// Operations is what else a node of a cluster does; nil: nothing.
	Operations Operations
	// Collector commits rows for other nodes; nil: the node does not.
	Collector Collector
	// Administration answers for the whole cluster; nil: the node belongs to none.
	Administration Administration
	// Refuse returns why no caller is answered now: every call gets the error, the first of a connection included, so
	// that no connection is made that would be useless later. Nil: all are answered. The server needs no Node then.
	Refuse func() *Error
	// Refusals counts and logs refused calls; nil: the server makes its own.
	Refusals *refusal.Counters
	// Grace is how long calls under way may go on after Serve's context ended (default 2 s); then their contexts end.
	Grace time.Duration
	// Log gets every call at level debug; nil: slog.Default().
	Log *slog.Logger
}

func (o ServerOptions) withDefaults() ServerOptions {
	for field, value := range map[*int]int{
		&o.MaxConnections: 1024, &o.MaxStreams: 128, &o.MaxCalls: 256, &o.MaxLoads: 4, &o.MaxMessageBytes: DefaultMaxMessageBytes,
		&o.MaxFragments: 64, &o.MaxAwaits: 1024,
	} {
		if *field <= 0 {
			*field = value
		}
	}
	o.MaxMessageBytes = min(o.MaxMessageBytes, DefaultMaxMessageBytes)
	if o.MaxPeerCalls <= 0 {
		o.MaxPeerCalls = o.MaxStreams
	}
	for field, value := range map[*time.Duration]time.Duration{&o.Grace: 2 * time.Second, &o.MaxCallTime: time.Minute, &o.FragmentTTL: 10 * time.Second} {
		if *field <= 0 {
			*field = value
		}
	}
	o.FragmentTTL = min(max(o.FragmentTTL, MinTTL), MaxTTL)
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Incarnation.IsZero() {
		o.Incarnation = NewIncarnation()
	}
	if o.Refusals == nil {
		o.Refusals = refusal.New(o.Log)
	}
	return o
}

// Server lets other processes reach a node.
type Server struct {
	node        Node
	options     ServerOptions
	tokens      *tokens       // immutable
	calls       chan struct{} // each of these holds as many tokens as calls of its kind are under way
	loads       chan struct{}
	fragments   chan struct{}
	awaits      chan struct{}
	shares      shares
	connections *connections
}

// NewServer makes a server; Serve starts it. One node has one server, or its leases would not be known at the other.
func NewServer(node Node, options ServerOptions) *Server {
	options = options.withDefaults()
	return &Server{
		node: node, options: options, tokens: newTokens(),
		calls: make(chan struct{}, options.MaxCalls), loads: make(chan struct{}, options.MaxLoads),
		fragments: make(chan struct{}, options.MaxFragments), awaits: make(chan struct{}, options.MaxAwaits),
		connections: newConnections(options.MaxConnections, options.Certificate, options.Refusals),
	}
}

// Incarnation is the one that clients of this server see.
func (s *Server) Incarnation() Incarnation { return s.options.Incarnation }

// Refusals counts the calls that were refused.
func (s *Server) Refusals() *refusal.Counters { return s.options.Refusals }

// Times of connections. A peer that does not answer within keepaliveTime + keepaliveTimeout is taken for gone.
const (
	handshakeTimeout = 10 * time.Second
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 5 * time.Second
	keepaliveMinimum = 5 * time.Second // a client that asks more often than this is put off
	windowBytes      = 1 << 20         // of HTTP/2 flow control: a page arrives without a stop
)

// serving is what belongs to one call of Serve.
type serving struct {
	stopping chan struct{}  // closed when it is to end
	readers  sync.WaitGroup // goroutines that receive for handlers
}

func (s *Server) newGRPC(during *serving) *grpc.Server {
	g := grpc.NewServer(
		grpc.Creds(s.connections),
		grpc.MaxConcurrentStreams(uint32(s.options.MaxStreams)),
		grpc.MaxRecvMsgSize(maxRequestBytes),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.InitialWindowSize(windowBytes),
		grpc.InitialConnWindowSize(windowBytes),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: keepaliveMinimum, PermitWithoutStream: true}),
		grpc.WaitForHandlers(true), // Stop joins them (N8)
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
	)
	nodepb.RegisterNodeServer(g, handlers{server: s, during: during})
	nodepb.RegisterLendingServer(g, lendingHandlers{server: s})
	nodepb.RegisterCoordinationServer(g, coordinationHandlers{server: s})
	nodepb.RegisterAdministrationServer(g, administrationHandlers{server: s})
	nodepb.RegisterFragmentsServer(g, fragmentHandlers{server: s, during: during})
	return g
}

// Serve answers until the context ends, then lets the calls under way finish for the time of Grace, ends those that
// have not, and returns nil when every one has returned (N8). It closes the listener. It may be called for several
// listeners.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if err := errors.Join(checkListener(listener, s.options.Certificate != nil), s.checkName()); err != nil {
		_ = listener.Close() // the error above is the one to report
		return err
	}
	during := &serving{stopping: make(chan struct{})}
	defer during.readers.Wait() // every handler has returned by then
	g := s.newGRPC(during)
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	select {
	case err := <-served:
		g.Stop()
		return err
	case <-ctx.Done():
	}
	close(during.stopping)
	s.stop(g)
	<-served
	return nil
}

// checkName sees to it that the node has the name in its certificate: its peers trust the certificate.
func (s *Server) checkName() error {
	c := s.options.Certificate
	if c == nil || c.Identity() == (certificate.Identity{Role: certificate.RoleNode, Name: s.options.Name}) {
		return nil
	}
	return &Error{
		State: stateArgument, Cause: certificate.ErrWrongPeer,
		Message:  fmt.Sprintf("the certificate is for %v, and this node is %s", c.Identity(), s.options.Name),
		HintText: "Start the node with --node " + c.Identity().Name + ", or make it a certificate of its own with “csmsql cluster cert”.",
	}
}

func (s *Server) stop(g *grpc.Server) {
	graceful := make(chan struct{})
	go func() {
		defer close(graceful)
		g.GracefulStop()
	}()
	timer := time.NewTimer(s.options.Grace)
	defer timer.Stop()
	select {
	case <-graceful:
	case <-timer.C:
		g.Stop() // makes GracefulStop return, too
		<-graceful
	}
}
