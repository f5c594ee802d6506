package noderpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"
)

// Peer is who calls, as the kernel says; nobody can claim to be another.
type Peer struct {
	// Known: the fields below are set. They are over a unix socket, and are not over TCP.
	Known bool
	// Process, User and Group are numbers; Process is of the one that connected, and may have died since.
	Process     int
	User, Group uint32
	// Network is "unix" or "tcp".
	Network string
}

func (p Peer) String() string {
	if p.Known {
		return fmt.Sprintf("process %d of user %d", p.Process, p.User)
	}
	return "somebody over " + p.Network
}

// LogValue implements slog.LogValuer.
func (p Peer) LogValue() slog.Value { return slog.StringValue(p.String()) }

// PeerOf says who made the call that a Node's method serves. Without one (a test calls the method itself) it knows
// nobody.
func PeerOf(ctx context.Context) Peer {
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(authInfo); ok {
			return info.Peer
		}
	}
	return Peer{Network: "none"}
}

type authInfo struct{ Peer }

// AuthType implements credentials.AuthInfo.
func (authInfo) AuthType() string { return "peer" }

// connections is gRPC's hook for the start of each connection: it finds out who connects, and bounds how many there are.
// Mutual TLS will take its place for connections between machines.
type connections struct {
	limit int64 // 0 on the client's side
	open  atomic.Int64
}

var errTooManyConnections = errors.New("noderpc: too many connections")

// ServerHandshake implements credentials.TransportCredentials.
func (c *connections) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if c.open.Add(1) > c.limit {
		c.open.Add(-1)
		_ = conn.Close() // the error below is what is to be told
		return nil, nil, errTooManyConnections
	}
	counted := &countedConn{Conn: conn, done: func() { c.open.Add(-1) }}
	p, err := peerOf(conn)
	if err != nil {
		_ = counted.Close() // as above
		return nil, nil, err
	}
	return counted, authInfo{p}, nil
}

// ClientHandshake implements credentials.TransportCredentials.
func (c *connections) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, authInfo{Peer{Network: conn.RemoteAddr().Network()}}, nil
}

// Info implements credentials.TransportCredentials.
func (c *connections) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "peer"}
}

// Clone implements credentials.TransportCredentials; all clones count together.
func (c *connections) Clone() credentials.TransportCredentials { return c }

// OverrideServerName implements credentials.TransportCredentials; there are no names without TLS.
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

func peerOf(conn net.Conn) (Peer, error) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{Network: conn.RemoteAddr().Network()}, nil
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("noderpc: who connects: %w", err)
	}
	var credential *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		credential, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return Peer{}, fmt.Errorf("noderpc: who connects: %w", err)
	}
	return Peer{Known: true, Process: int(credential.Pid), User: credential.Uid, Group: credential.Gid, Network: "unix"}, nil
}
