package wire

import (
	"context"
	"syscall"
	"time"
)

// watchDisconnects cancels the statements of clients that went away while they run. PostgreSQL's backends notice on their
// next write; an analytical query may be hours away from that.
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

// hungUp looks at the socket without taking anything from it or waiting.
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
		var one [1]byte
		n, _, err := syscall.Recvfrom(int(descriptor), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		gone = n == 0 && err == nil || err == syscall.ECONNRESET
	})
	return err == nil && gone
}
