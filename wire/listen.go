package wire

import (
	"fmt"
	"net"
	"strings"
)

// CheckListen refuses to bind what other machines can reach (any address but loopback) while clients are not
// authenticated. addr is host:port as net.Listen takes it, or the path of a unix socket (with a slash or "unix:" in
// front), which file permissions protect. The error wraps ErrNotLoopback and says what to do. Invariant W1.
func CheckListen(addr string, authenticated bool) error {
	if strings.HasPrefix(addr, "/") || strings.HasPrefix(addr, "@") || strings.HasPrefix(addr, "unix:") {
		return nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("%q is not an address: want HOST:PORT, for example 127.0.0.1:5433", addr)
	}
	if authenticated || host == "localhost" {
		return nil
	}
	// A zone ("::1%lo") is no part of the address's reach. Names other than localhost are not resolved: what they mean
	// could change between this check and the bind.
	bare, _, _ := strings.Cut(host, "%")
	if ip := net.ParseIP(bare); ip != nil && ip.IsLoopback() {
		return nil
	}
	where := fmt.Sprintf("%q", host)
	if host == "" {
		where = "all of this machine's addresses"
	}
	return fmt.Errorf("%w: %q would let anybody who reaches %s in as any user; use 127.0.0.1, [::1], localhost or a unix socket",
		ErrNotLoopback, addr, where)
}
