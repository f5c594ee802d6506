package node

import (
	"errors"
	"net"
	"os"
	"sync"
)

// door is one of the node's listeners. It stays open from the node's first start to its end, also while the node
// restarts: its socket is never removed, and no other program can take its port. One server after the other accepts
// connections from it. A client that connects between two servers waits for the next. Its goroutine ends with close.
type door struct {
	listener net.Listener
	arrivals chan arrival // unbuffered: a connection is a server's, or still the door's
	closed   chan struct{}
	closing  sync.Once
	failed   error
	accepts  sync.WaitGroup
}

type arrival struct {
	conn net.Conn
	err  error
}

func newDoor(listener net.Listener) *door {
	d := &door{listener: listener, arrivals: make(chan arrival), closed: make(chan struct{})}
	d.accepts.Go(d.accept)
	return d
}

func (d *door) accept() {
	for {
		conn, err := d.listener.Accept()
		select {
		case d.arrivals <- arrival{conn, err}: // the server logs an error, and backs off
		case <-d.closed:
			if err == nil {
				_ = conn.Close() // unread
			}
			return
		}
	}
}

// open returns the door as the listener of one server. Its Close leaves the door open for the next.
func (d *door) open() net.Listener { return &visit{door: d, over: make(chan struct{})} }

// close returns when no connection is accepted any more. Closing twice is harmless.
func (d *door) close() error {
	d.closing.Do(func() {
		close(d.closed)
		d.failed = d.listener.Close()
		d.accepts.Wait()
	})
	if errors.Is(d.failed, net.ErrClosed) || errors.Is(d.failed, os.ErrClosed) {
		return nil
	}
	return d.failed
}

// visit is the listener of one server, which uses the door for a while.
type visit struct {
	door *door
	over chan struct{}
	once sync.Once
}

// Accept implements net.Listener.
func (v *visit) Accept() (net.Conn, error) {
	select {
	case <-v.over: // also when a connection is waiting
		return nil, net.ErrClosed
	default:
	}
	select {
	case a := <-v.door.arrivals:
		return a.conn, a.err
	case <-v.over:
	case <-v.door.closed:
	}
	return nil, net.ErrClosed
}

// Addr implements net.Listener.
func (v *visit) Addr() net.Addr { return v.door.listener.Addr() }

// Close implements net.Listener.
func (v *visit) Close() error {
	v.once.Do(func() { close(v.over) })
	return nil
}
