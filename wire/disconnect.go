package wire

import (
	"context"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watchDisconnects cancels the statements of clients that went away while they run. PostgreSQL's backends notice on
// their next write; an analytical query may be hours away from that.
func (s *Server) watchDisconnects(ctx context.Context) {
	ticker := time.NewTicker(disconnectCheckInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, c := range s.registry.all() {
			if c.running.busy() && hungUp(c.network) {
				c.running.interrupt(ErrConnectionLost)
			}
		}
	}
}

// hungUp looks whether the client has gone, also if it has left messages that were not read: they can be many, and
// would keep what runs, and the connection's slot, for as long as that takes.
func hungUp(network any) bool {
	socket, ok := network.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return false
	}
	gone := false
	err = raw.Control(func(descriptor uintptr) {
		look := []unix.PollFd{{Fd: int32(descriptor), Events: unix.POLLRDHUP}}
		n, err := unix.Poll(look, 0)
		gone = err == nil && n > 0
	})
	return err == nil && gone
}
