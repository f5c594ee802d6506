package noderpc

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/csmsql/csmsql/cluster/certificate"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
)

// connections is gRPC's hook for the start of each connection at a server: it bounds how many there are, has mutual TLS
// done over TCP where the node has a certificate, and finds out the caller.
type connections struct {
	limit    int64
	open     atomic.Int64
	secure   credentials.TransportCredentials // nil: plain TCP, for loopback
	refusals *refusal.Counters
}

var (
	errTooManyConnections = errors.New("noderpc: too many connections")
	errNotTheServers      = errors.New("noderpc: these credentials are a server's")
)

func newConnections(limit int, own *certificate.Credentials, refusals *refusal.Counters) *connections {
	c := &connections{limit: int64(limit), refusals: refusals}
	if own != nil {
		c.secure = credentials.NewTLS(own.Server())
	}
	return c
}

// ServerHandshake implements credentials.TransportCredentials. gRPC bounds its time.
func (c *connections) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if c.open.Add(1) > c.limit {
		c.open.Add(-1)
		c.refuse(conn, certificate.Refusal{Reason: refusal.TooMany, Err: errTooManyConnections})
		_ = conn.Close() // the error below is the one to report
		return nil, nil, errTooManyConnections
	}
	counted := &countedConn{Conn: conn, done: func() { c.open.Add(-1) }}
	p, err := peerOf(conn)
	if err == nil && c.secure != nil && !p.Known {
		counted.Conn, p, err = c.shakeHands(conn, p)
	}
	if err != nil {
		_ = counted.Close() // as above
		return nil, nil, err
	}
	return counted, authInfo{p}, nil
}

// shakeHands returns the connection in any case: it is to be closed.
func (c *connections) shakeHands(conn net.Conn, p Peer) (net.Conn, Peer, error) {
	secured, info, err := c.secure.ServerHandshake(conn)
	if err == nil {
		p, err = p.certified(info.(credentials.TLSInfo).State)
	}
	if err != nil {
		c.refuse(conn, certificate.ExplainRefusal(err))
		return conn, p, err
	}
	return secured, p, nil
}

func (c *connections) refuse(conn net.Conn, r certificate.Refusal) {
	c.refusals.Connection(conn.RemoteAddr(), r)
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *connections) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errNotTheServers
}

// Info implements credentials.TransportCredentials.
func (c *connections) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "peer"}
}

// Clone implements credentials.TransportCredentials; all clones count together.
func (c *connections) Clone() credentials.TransportCredentials { return c }

// OverrideServerName implements credentials.TransportCredentials; names are the certificates'.
func (c *connections) OverrideServerName(string) error { return nil }

type countedConn struct {
	net.Conn
	once sync.Once
	done func()
}

func (c *countedConn) Close() error {
	c.once.Do(c.done)
	return c.Conn.Close()
}

// outgoing is the same hook at a client. It remembers what went wrong: gRPC returns it only as text.
type outgoing struct {
	own     *certificate.Credentials
	secure  credentials.TransportCredentials // nil: plain
	refused atomic.Pointer[error]            // why the last handshake or its first answer failed
}

func newOutgoing(own *certificate.Credentials, node string) *outgoing {
	o := &outgoing{own: own}
	if own != nil {
		o.secure = credentials.NewTLS(own.Client(node))
	}
	return o
}

// ClientHandshake implements credentials.TransportCredentials.
func (o *outgoing) ClientHandshake(ctx context.Context, authority string,
	conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	p := Peer{Network: conn.RemoteAddr().Network(), Address: conn.RemoteAddr().String()}
	if o.secure == nil || p.Network == "unix" {
		return conn, authInfo{p}, nil
	}
	secured, info, err := o.secure.ClientHandshake(ctx, authority, conn)
	if err == nil {
		p, err = p.certified(info.(credentials.TLSInfo).State)
	}
	if err != nil {
		o.refused.Store(&err)
		_ = conn.Close() // the error above is the one to report
		return nil, nil, err
	}
	return &alertedConn{Conn: secured, outgoing: o}, authInfo{p}, nil
}

// failure is why this side does not talk to the other, or the other not to this, as far as certificates are concerned.
func (o *outgoing) failure() error {
	last := o.refused.Load()
	if last == nil || o.own == nil {
		return nil
	}
	if err := o.own.ExplainAlert(*last); err != nil {
		return err
	}
	var own *certificate.Error
	if errors.As(*last, &own) {
		return own
	}
	var header tls.RecordHeaderError
	if errors.As(*last, &header) {
		return &certificate.Error{
			Kind: certificate.ErrPlainText, Message: "what answers does not speak TLS",
			HintText: "The node was started without a certificate, or another program listens there.",
		}
	}
	return nil
}

// Info implements credentials.TransportCredentials.
func (o *outgoing) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "peer"}
}

// Clone implements credentials.TransportCredentials.
func (o *outgoing) Clone() credentials.TransportCredentials { return o }

// OverrideServerName implements credentials.TransportCredentials; names are the certificates'.
func (o *outgoing) OverrideServerName(string) error { return nil }

// ServerHandshake implements credentials.TransportCredentials.
func (o *outgoing) ServerHandshake(net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errNotTheServers
}

// alertedConn hears what a server says that refuses this side's certificate: in TLS 1.3 that comes after the handshake,
// as the first answer.
type alertedConn struct {
	net.Conn
	outgoing *outgoing
}

func (c *alertedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.note(err)
	return n, err
}

// alertPatience is how long a failed write waits for the reason, which has arrived before it failed.
const alertPatience = 100 * time.Millisecond

// Write may fail because the server has refused and gone already: then what it said is still to be read, and gRPC
// would not read it any more.
func (c *alertedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil && c.SetReadDeadline(time.Now().Add(alertPatience)) == nil {
		_, alert := c.Conn.Read(make([]byte, 1))
		c.note(alert)
	}
	return n, err
}

func (c *alertedConn) note(err error) {
	if err != nil && c.outgoing.own.ExplainAlert(err) != nil {
		c.outgoing.refused.Store(&err)
	}
}
