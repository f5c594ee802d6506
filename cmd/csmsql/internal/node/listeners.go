package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/place"
)

// defaultPort is where psql looks for a socket when it is told only a directory.
const defaultPort = 5432

// listeners are a node's ways in, beside its door. Any of them but socket may be nil.
type listeners struct {
	socket net.Listener // PostgreSQL's protocol on a unix socket
	twin   net.Listener // the same under the TCP port's number: psql -h DIR -p 5433
	tcp    net.Listener
	http   net.Listener
	remote net.Listener // node RPC for other machines
}

// listen binds everything, or nothing.
func listen(o Options) (l *listeners, err error) {
	l = &listeners{}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	if l.socket, err = listenUnix(postgresSocket(o.Data, defaultPort)); err != nil {
		return l, err
	}
	if o.PostgreSQL != Off {
		if l.tcp, err = listenTCP("--pg", o.PostgreSQL); err != nil {
			return l, err
		}
		if port := l.tcp.Addr().(*net.TCPAddr).Port; port != defaultPort {
			if l.twin, err = listenUnix(postgresSocket(o.Data, port)); err != nil {
				return l, err
			}
		}
	}
	if o.RPC != "" {
		if l.remote, err = listenTCP("--rpc", o.RPC); err != nil {
			return l, err
		}
	}
	if o.HTTP != "" {
		l.http, err = listenTCP("--http", o.HTTP)
	}
	return l, err
}

// openDoor binds the node's RPC socket.
func openDoor(o Options) (*door, error) {
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	l, err := listenUnix(filepath.Join(o.Data, place.SocketName))
	if err != nil {
		return nil, err
	}
	return newDoor(l, noderpc.ServerOptions{Name: o.Node, Log: o.Log}), nil
}

// listenUnix waits a moment for a former node that is just ending: a killed process lets its locks go only after the kernel has
// taken its gigabytes of mappings apart, and "kill, then start again" must work.
func listenUnix(path string) (net.Listener, error) {
	const patience, poll = 2 * time.Second, 20 * time.Millisecond
	for end := time.Now().Add(patience); ; time.Sleep(poll) {
		l, err := noderpc.ListenUnix(path)
		if !errors.Is(err, noderpc.ErrAddressInUse) || time.Now().After(end) {
			return l, err
		}
	}
}

func postgresSocket(dir string, port int) string {
	return filepath.Join(dir, ".s.PGSQL."+strconv.Itoa(port))
}

func listenTCP(flag, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, unix.EADDRINUSE):
		return nil, fmt.Errorf("%s: something else listens on %s; stop it or choose another port, for example %s 127.0.0.1:0 for a free one", flag, address, flag)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return l, nil
}

// all lists those that are there.
func (l *listeners) all() (list []net.Listener) {
	for _, one := range []net.Listener{l.remote, l.socket, l.twin, l.tcp, l.http} {
		if one != nil {
			list = append(list, one)
		}
	}
	return list
}

// postgres lists those that speak PostgreSQL's protocol.
func (l *listeners) postgres() (list []net.Listener) {
	for _, one := range []net.Listener{l.socket, l.twin, l.tcp} {
		if one != nil {
			list = append(list, one)
		}
	}
	return list
}

// close closes what nobody serves yet. Closing twice is harmless.
func (l *listeners) close() error {
	var failed error
	for _, one := range l.all() {
		if err := one.Close(); err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrClosed) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
