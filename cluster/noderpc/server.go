package noderpc

import (
	"context"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

// ServerOptions bound what a server does at once. Zero values serve.
type ServerOptions struct {
	// Name is the node's name, for the errors of those who connect.
	Name string
	// MaxConnections at once; more are closed at once (default 1024).
	MaxConnections int
	// MaxStreams is how many calls one connection has under way (default 128); more wait in the client.
	MaxStreams int
	// MaxCalls is how many calls the node works on at once, over all connections (default 256). More wait, but for
	// renewals and releases, which wait for nobody (N9).
	MaxCalls int
	// MaxLoads is how many loads run at once (default 4); more are refused (SQLSTATE 53000).
	MaxLoads int
	// MaxMessageBytes bounds one answer (default DefaultMaxMessageBytes); it cannot be larger, as clients take no more.
	MaxMessageBytes int
	// FilesOverTCP lets callers over TCP name files that the node reads. Default: only those who could open the node's
	// unix socket may, because over TCP it is not known who calls, and the node reads as its own user.
	FilesOverTCP bool
	// Grace is how long calls under way may go on after Serve's context ended (default 2 s); then their contexts end.
	Grace time.Duration
	// Log gets every call at level debug; nil: slog.Default().
	Log *slog.Logger
}

func (o ServerOptions) withDefaults() ServerOptions {
	for field, value := range map[*int]int{
		&o.MaxConnections: 1024, &o.MaxStreams: 128, &o.MaxCalls: 256, &o.MaxLoads: 4, &o.MaxMessageBytes: DefaultMaxMessageBytes,
	} {
		if *field <= 0 {
			*field = value
		}
	}
	o.MaxMessageBytes = min(o.MaxMessageBytes, DefaultMaxMessageBytes)
	if o.Grace <= 0 {
		o.Grace = 2 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

// Server lets other processes reach a node.
type Server struct {
	node        Node
	options     ServerOptions
	incarnation []byte  // immutable; another process of the same node has another one
	tokens      *tokens // immutable
	calls       chan struct{}
	loads       chan struct{}
	connections *connections
}

// NewServer makes a server; Serve starts it. One node has one server, or its leases would not be known at the other.
func NewServer(node Node, options ServerOptions) *Server {
	options = options.withDefaults()
	return &Server{
		node: node, options: options, incarnation: newIncarnation(), tokens: newTokens(),
		calls: make(chan struct{}, options.MaxCalls), loads: make(chan struct{}, options.MaxLoads),
		connections: &connections{limit: int64(options.MaxConnections)},
	}
}

// Times of connections. A peer that does not answer within keepaliveTime + keepaliveTimeout is taken for gone.
const (
	handshakeTimeout = 10 * time.Second
	keepaliveTime    = 10 * time.Second
	keepaliveTimeout = 5 * time.Second
	keepaliveMinimum = 5 * time.Second // a client that asks more often than this is put off
	windowBytes      = 1 << 20         // of HTTP/2 flow control: a page arrives without a stop
)

func (s *Server) newGRPC() *grpc.Server {
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
	nodepb.RegisterNodeServer(g, handlers{server: s})
	return g
}

// Serve answers until the context ends, then lets the calls under way finish for the time of Grace, ends those that have
// not, and returns nil when every one has returned (N8). It closes the listener. It may be called for several listeners.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	if err := checkListener(listener); err != nil {
		_ = listener.Close() // the error above is the one to tell
		return err
	}
	g := s.newGRPC()
	served := make(chan error, 1)
	go func() { served <- g.Serve(listener) }()
	select {
	case err := <-served:
		g.Stop()
		return err
	case <-ctx.Done():
	}
	s.stop(g)
	<-served
	return nil
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
