package noderpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

const (
	// dialTimeout bounds Dial when its context does not.
	dialTimeout = 10 * time.Second
	// callTimeout bounds every call but loads and fragments when its context does not.
	callTimeout = 10 * time.Second
	startHint   = "Start a node with “csmsql serve”, or name its socket with --to."
)

// address is where a node is.
type address struct{ network, name string }

func (a address) String() string { return a.name }

// parseTarget distinguishes the path of a unix socket from host:port: what has a slash, or no colon, is a path.
func parseTarget(ctx context.Context, target string, certified bool) (address, error) {
	if path, found := strings.CutPrefix(target, "unix:"); found {
		target = path
	} else if !strings.Contains(target, "/") && strings.Contains(target, ":") {
		return parseHostPort(ctx, target, certified)
	}
	if err := checkSocketPath(target); err != nil {
		return address{}, err
	}
	return address{"unix", target}, nil
}

func parseHostPort(ctx context.Context, target string, certified bool) (address, error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil || port == "" {
		return address{}, badArgument("%q is neither the path of a node's socket nor host:port", target)
	}
	refused := &Error{
		State: stateArgument, Cause: ErrNotLoopback, Message: fmt.Sprintf("%s is not on this machine: %v", target, ErrNotLoopback),
		HintText: "Connections between machines are mutual TLS and need a certificate, which “csmsql cluster cert” makes. Name its directory with --certs, or use the node's unix socket, or 127.0.0.1.",
	}
	if certified { // whatever a name server answers, only a certificate of the cluster is trusted
		return address{"tcp", target}, nil
	}
	if host == "localhost" { // no other name is looked up: a name server's answer must not decide where plain text goes
		return localhost(ctx, target, port)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return address{}, refused
	}
	return address{"tcp", target}, nil
}

func localhost(ctx context.Context, target, port string) (address, error) {
	ips, err := net.DefaultResolver.LookupIP(ctx, "ip", "localhost")
	if err != nil {
		return address{}, &Error{State: stateNoConnect, Message: fmt.Sprintf("%s: %v", target, err), HintText: "Write 127.0.0.1 instead."}
	}
	for _, ip := range ips {
		if ip.To4() != nil && ip.IsLoopback() {
			return address{"tcp", net.JoinHostPort(ip.String(), port)}, nil
		}
	}
	return address{"tcp", net.JoinHostPort("127.0.0.1", port)}, nil
}

// dialer remembers why the last attempt failed: gRPC returns it only as text.
type dialer struct {
	address address
	last    atomic.Pointer[error]
	secure  *outgoing
}

func (d *dialer) dial(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, d.address.network, d.address.name)
	d.last.Store(&err)
	return conn, err
}

// failure explains why there is no connection, or returns nil when there was one.
func (d *dialer) failure() *Error {
	last := d.last.Load()
	if last == nil || *last == nil {
		return nil
	}
	err, at := *last, d.address.name
	if d.address.network == "unix" {
		at = absolute(at)
	}
	e := &Error{State: stateNoConnect, Cause: ErrNodeGone, Message: fmt.Sprintf("cannot connect to the node at %s: %v", at, err), HintText: startHint}
	switch info, _ := os.Stat(at); {
	case d.address.network == "unix" && info != nil && info.IsDir():
		e.Message = fmt.Sprintf("%s is a directory, not the node's socket", at)
		e.HintText = "Name the socket in it: usually " + at + "/csmsql.sock."
	case d.address.network == "unix" && info != nil && info.Mode().Type() != os.ModeSocket:
		e.Message = fmt.Sprintf("%s is a file, not the node's socket", at)
	case errors.Is(err, unix.ENOENT):
		e.Message = fmt.Sprintf("no node listens at %s: there is no such socket", at)
	case errors.Is(err, unix.ECONNREFUSED):
		e.Message = fmt.Sprintf("no node listens at %s", at)
	case errors.Is(err, unix.EACCES):
		e.Message = fmt.Sprintf("the node's socket %s may not be opened by this user", at)
		e.HintText = "Only the user who started the node may; run the command as that user."
	}
	return e
}

// DialOption changes what Dial does.
type DialOption func(*dialOptions)

type dialOptions struct {
	certificate *certificate.Credentials
	node        string
	caller      Incarnation
}

// WithTLS shows a certificate and wants one of the same authority: that of the node named, or of any node if the name
// is empty. It makes other machines than this one reachable, and concerns TCP only: a unix socket's other end is known.
func WithTLS(own *certificate.Credentials, node string) DialOption {
	return func(o *dialOptions) { o.certificate, o.node = own, node }
}

// WithIncarnation says which process calls, if not ThisProcess: a node in a cluster has one that its membership knows.
func WithIncarnation(caller Incarnation) DialOption {
	return func(o *dialOptions) { o.caller = caller }
}

// Dial connects to a node by the path of its unix socket, or by host:port; on other machines than this one only with a
// certificate (WithTLS). The client belongs to the node's present process: when that ends, its calls fail with
// ErrNodeGone or ErrRestarted, and never mix the leases of two processes. Close it.
func Dial(ctx context.Context, target string, options ...DialOption) (*Client, error) {
	o := dialOptions{caller: thisProcess}
	for _, option := range options {
		option(&o)
	}
	where, err := parseTarget(ctx, target, o.certificate != nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	d := &dialer{address: where, secure: newOutgoing(o.certificate, o.node)}
	conn, err := grpc.NewClient("passthrough:///node", clientOptions(d)...)
	if err != nil {
		return nil, fmt.Errorf("connect to the node at %s: %w", where, err)
	}
	c := newClient(conn, "the node at "+where.name)
	c.local = where.network == "unix"
	if err := c.hello(ctx, d, o); err != nil {
		_ = conn.Close() // the error above is the one to report
		return nil, err
	}
	return c, nil
}

func clientOptions(d *dialer) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(d.secure),
		grpc.WithContextDialer(d.dial),
		grpc.WithAuthority("node"),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithInitialWindowSize(windowBytes),
		grpc.WithInitialConnWindowSize(windowBytes),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		// A cut that is over should be noticed before a lease is (Keeper).
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 2 * time.Second,
		}),
		// A little more than a server sends: the server refuses what is too large, and its error says what that is.
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(DefaultMaxMessageBytes + 4096)),
	}
}

// hello learns which process of which node it is.
func (c *Client) hello(ctx context.Context, d *dialer, o dialOptions) error {
	var there peer.Peer
	m, err := c.rpc.Hello(ctx, &nodepb.HelloRequest{Protocol: protocolVersion}, grpc.Peer(&there))
	if err != nil {
		return c.helloFailed(ctx, d, err)
	}
	if m.GetProtocol() != protocolVersion {
		return badMessage("%s speaks protocol %d, this program %d: use the same version of csmsql on both sides", c.name, m.GetProtocol(), protocolVersion)
	}
	if err := checkLabel("name", m.GetNode()); err != nil {
		return badMessage("%s: %v", c.name, err)
	}
	if len(m.GetIncarnation()) != incarnationBytes {
		return badMessage("%s has an incarnation of %d bytes", c.name, len(m.GetIncarnation()))
	}
	if info, ok := there.AuthInfo.(authInfo); ok && info.Identity.Name != "" && info.Identity.Name != m.GetNode() {
		return badMessage("%s has the certificate of node %s and says that it is node %s", c.name, info.Identity.Name, m.GetNode())
	}
	if m.GetNode() != "" {
		c.node = m.GetNode()
		c.name = fmt.Sprintf("node %s (%s)", m.GetNode(), d.address)
	}
	copy(c.incarnation[:], m.GetIncarnation())
	c.header = metadata.Pairs(incarnationHeader, string(c.incarnation[:]), callerHeader, string(o.caller[:]))
	return nil
}

func (c *Client) helloFailed(ctx context.Context, d *dialer, err error) error {
	if ctx.Err() == nil {
		if failure := d.failure(); failure != nil {
			return failure
		}
		if failure := d.secure.failure(); failure != nil {
			return notAdmitted(c.name, failure)
		}
	}
	if !errors.Is(ctx.Err(), context.Canceled) { // that time is over is the node's fault, also the caller's time
		ctx = context.WithoutCancel(ctx)
	}
	err = errorOf(ctx, c.name, "connect", err)
	var e *Error
	if errors.As(err, &e) && e.Cause == ErrNodeGone { // it accepted, and then said nothing that a node says
		e.State = stateNoConnect
		e.HintText = "What listens there may not be a csmsql node, or one of a cluster, which wants a certificate (--certs); or it is stopped. " + startHint
	}
	return err
}

// notAdmitted is about certificates.
func notAdmitted(node string, failure error) *Error {
	e := &Error{State: stateAuthorization, Message: fmt.Sprintf("connect to %s: %v", node, failure), Cause: failure}
	var hinted interface{ Hint() string }
	if errors.As(failure, &hinted) {
		e.HintText = hinted.Hint()
	}
	return e
}
