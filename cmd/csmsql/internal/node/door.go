package node

import (
	"errors"
	"net"
	"os"
	"sync"
)

// door is one of the node's listeners. It is there from the node's first start to its end, also while the node begins
// anew: its socket never goes, and its port is never another program's. One after the other serves there; whoever comes
// while nobody does waits for the next. Its goroutine ends with close.
type door struct {
	listener net.Listener
	arrivals chan arrival // unbuffered: a connection is somebody's, or still the door's
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
		case d.arrivals <- arrival{conn, err}: // an error is for whoever serves to log, and to be slow about
		case <-d.closed:
			if err == nil {
				_ = conn.Close() // nobody has read from it
			}
			return
		}
	}
}

// open is the door for one who serves there, whose Close leaves it open for the next.
func (d *door) open() net.Listener { return &visit{door: d, over: make(chan struct{})} }

// close returns when nobody is let in any more. Closing twice is harmless.
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

// visit is a listener that is somebody's for a while.
type visit struct {
	door *door
	over chan struct{}
	once sync.Once
}

// Accept implements net.Listener.
func (v *visit) Accept() (net.Conn, error) {
	select {
	case <-v.over: // also when somebody is at the door
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
