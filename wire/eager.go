package wire

import (
	"errors"
	"io"
	"net"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// lookFor is how long a connection looks for the client's next message before it sleeps. To sleep and to be woken takes
// a fourth of the time of a small query and its answer; a thread that looks takes a core from others.
const lookFor = 50 * time.Microsecond

// lookAfter is how often the same connection must have been the one to read before it looks.
const lookAfter = 8

// calm is which of a server's connections was the last to read, and how often in a row: one looks only while no other
// says anything.
type calm struct {
	last atomic.Pointer[eager]
	runs atomic.Int64
}

// alone notes that a connection reads, and reports whether it is the only one by now.
func (c *calm) alone(e *eager) bool {
	if c.last.Load() != e {
		c.last.Store(e)
		c.runs.Store(0)
		return false
	}
	return c.runs.Add(1) >= lookAfter
}

// eager reads from a socket. It looks for bytes for a short time before it has the runtime wait for them.
type eager struct {
	network net.Conn
	raw     syscall.RawConn // nil: it only waits
	calm    *calm
}

func newEager(network net.Conn, calm *calm) *eager {
	e := &eager{network: network, calm: calm}
	if socket, ok := network.(syscall.Conn); ok && runtime.GOMAXPROCS(0) > 1 {
		if raw, err := socket.SyscallConn(); err == nil {
			e.raw = raw
		}
	}
	return e
}

// Read implements io.Reader; errors are those of the connection, also for its deadline.
func (e *eager) Read(p []byte) (n int, err error) {
	if !e.calm.alone(e) || e.raw == nil || len(p) == 0 {
		return e.network.Read(p)
	}
	var failure error
	until := time.Now().Add(lookFor)
	err = e.raw.Read(func(descriptor uintptr) bool {
		for {
			n, failure = syscall.Read(int(descriptor), p)
			if !errors.Is(failure, syscall.EAGAIN) && !errors.Is(failure, syscall.EINTR) {
				return true
			}
			if e.calm.last.Load() != e || time.Now().After(until) {
				return false // it is called again when there is something
			}
		}
	})
	n = max(n, 0)
	switch {
	case err != nil:
		return 0, err
	case failure != nil:
		at := e.network.RemoteAddr()
		return 0, &net.OpError{Op: "read", Net: at.Network(), Addr: at, Err: failure}
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}
