package noderpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/peer"

	"github.com/csmsql/csmsql/cluster/certificate"
)

// Peer is the caller. It cannot forge what a certificate or the kernel says; Incarnation is its own word, which only
// distinguishes the processes of one identity.
type Peer struct {
	// Known: the three fields below are set, by the kernel. They are over a unix socket, and are not over TCP.
	Known bool
	// Process, User and Group are numbers; Process is of the one that connected, and may have died since.
	Process     int
	User, Group uint32
	// Network is "unix" or "tcp".
	Network string
	// Address is where a TCP connection comes from.
	Address string
	// Identity is the certificate's, zero over connections without TLS.
	Identity certificate.Identity
	// Subject is all of the certificate that belongs into a log; Until is when it expires.
	Subject string
	Until   time.Time
	// Incarnation of the caller's process; zero if it said nothing.
	Incarnation Incarnation
}

// Identified reports whether the caller is known.
func (p Peer) Identified() bool { return p.Known || p.Identity != certificate.Identity{} }

// Name is what the caller is called where names are compared: it is the same for two calls only if kernel or
// certificate say that they come from the same process, or from the same node. Empty if the caller is not known.
func (p Peer) Name() string {
	switch {
	case p.Identity.Name != "":
		return p.Identity.String()
	case p.Known:
		return fmt.Sprintf("process %d of user %d", p.Process, p.User)
	}
	return ""
}

// Principal is the party that answers for the caller, also when its process is another one: the node of its
// certificate, or the machine's user. Empty if the caller is not known.
func (p Peer) Principal() string {
	if !p.Identified() {
		return ""
	}
	return p.Label()
}

// ProcessID distinguishes the processes of one peer, as they say themselves.
func (p Peer) ProcessID() string { return p.Incarnation.String() }

// Label is Name for counters: processes come and go, users stay.
func (p Peer) Label() string {
	if p.Known && p.Identity.Name == "" {
		return fmt.Sprintf("user %d", p.User)
	}
	return p.Name()
}

func (p Peer) String() string {
	switch {
	case p.Subject != "":
		return p.Subject + " at " + p.Address
	case p.Identity.Name != "":
		return p.Identity.String() + " at " + p.Address
	case p.Known:
		return p.Name()
	case p.Address != "":
		return "an unknown peer at " + p.Address
	}
	return "an unknown peer over " + p.Network
}

// LogValue implements slog.LogValuer.
func (p Peer) LogValue() slog.Value { return slog.StringValue(p.String()) }

// PeerOf returns the caller that a Node's method serves. Without a call (a test calls the method itself) it
// returns an unknown peer.
func PeerOf(ctx context.Context) Peer {
	if p, ok := peer.FromContext(ctx); ok {
		if info, ok := p.AuthInfo.(authInfo); ok {
			known := info.Peer
			known.Incarnation = callerOf(ctx)
			return known
		}
	}
	return Peer{Network: "none"}
}

type authInfo struct{ Peer }

// AuthType implements credentials.AuthInfo.
func (authInfo) AuthType() string { return "peer" }

// peerOf says what the kernel knows.
func peerOf(conn net.Conn) (Peer, error) {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return Peer{Network: conn.RemoteAddr().Network(), Address: conn.RemoteAddr().String()}, nil
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return Peer{}, fmt.Errorf("noderpc: find out the peer: %w", err)
	}
	var credential *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		credential, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return Peer{}, fmt.Errorf("noderpc: find out the peer: %w", err)
	}
	return Peer{Known: true, Process: int(credential.Pid), User: credential.Uid, Group: credential.Gid, Network: "unix"}, nil
}

// certified adds what the certificate says. Preconditions: the handshake has succeeded.
func (p Peer) certified(state tls.ConnectionState) (Peer, error) {
	who, err := certificate.Identify(state)
	if err != nil {
		return p, err
	}
	leaf := state.PeerCertificates[0]
	p.Identity, p.Subject, p.Until = who, certificate.Describe(leaf), leaf.NotAfter
	return p, nil
}
