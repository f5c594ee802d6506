package node

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/csmsql/csmsql/cluster/noderpc"
)

// door is the node's socket for its RPC. It stays open from the node's first start to its end, also while the node begins anew: then whoever comes is
// told at once what the node waits for, and what it last knew. One after the other serves there.
type door struct {
	listener net.Listener // a unix socket's
	options  noderpc.ServerOptions
	why      atomic.Pointer[noderpc.Error] // of those who are refused
}

func newDoor(listener net.Listener, options noderpc.ServerOptions) *door {
	d := &door{listener: listener, options: options}
	d.options.Refuse = d.why.Load
	d.options.Grace = refuseGrace
	return d
}

// refuseGrace is how long refusals that are being sent may take when the door is to be another's.
const refuseGrace = 100 * time.Millisecond

// refuse tells everybody why, until stop is called.
func (d *door) refuse(why *noderpc.Error) (stop func()) {
	d.why.Store(why)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = noderpc.NewServer(nil, d.options).Serve(ctx, d.open()) // whoever comes next sees the trouble, too
	}()
	return sync.OnceFunc(func() {
		end()
		<-done
	})
}

// open is the socket for one who serves there, whose Close leaves it open for the next.
func (d *door) open() net.Listener {
	if l, ok := d.listener.(interface{ SetDeadline(time.Time) error }); ok {
		_ = l.SetDeadline(time.Time{}) // one that was closed says so at Accept
	}
	return &visit{Listener: d.listener, over: make(chan struct{})}
}

func (d *door) close() error {
	err := d.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// visit is a listener that is somebody's for a while.
type visit struct {
	net.Listener
	over chan struct{}
	once sync.Once
}

// Accept implements net.Listener.
func (v *visit) Accept() (net.Conn, error) {
	conn, err := v.Listener.Accept()
	select {
	case <-v.over:
		if err == nil {
			err = conn.Close() // it dials again
		}
		return nil, errors.Join(net.ErrClosed, err)
	default:
		return conn, err
	}
}

// Close implements net.Listener.
func (v *visit) Close() (err error) {
	v.once.Do(func() {
		close(v.over)
		if l, ok := v.Listener.(interface{ SetDeadline(time.Time) error }); ok {
			err = l.SetDeadline(time.Unix(1, 0)) // wakes Accept
		}
	})
	return err
}
