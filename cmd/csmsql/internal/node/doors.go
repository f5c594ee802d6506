package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/place"
)

// defaultPort is where psql looks for a socket when it is given only a directory.
const defaultPort = 5432

// doors are a node's ways in. Any of them but rpc and socket may be nil.
type doors struct {
	rpc    *door // node RPC on a unix socket
	socket *door // PostgreSQL's protocol on a unix socket
	twin   *door // the same under the TCP port's number: psql -h DIR -p 5433
	tcp    *door
	http   *door
	remote *door // node RPC for other machines
}

// openDoors binds everything, or nothing.
func openDoors(o Options) (*doors, error) {
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	d := &doors{}
	if err := d.open(o); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *doors) open(o Options) (err error) {
	if d.rpc, err = doorAt(listenUnix(filepath.Join(o.Data, place.SocketName))); err != nil {
		return err
	}
	if d.socket, err = doorAt(listenUnix(postgresSocket(o.Data, defaultPort))); err != nil {
		return err
	}
	if o.PostgreSQL != Off {
		if d.tcp, err = doorAt(listenTCP("--pg", o.PostgreSQL)); err != nil {
			return err
		}
		if port := d.tcp.listener.Addr().(*net.TCPAddr).Port; port != defaultPort {
			if d.twin, err = doorAt(listenUnix(postgresSocket(o.Data, port))); err != nil {
				return err
			}
		}
	}
	if o.RPC != "" {
		if d.remote, err = doorAt(listenTCP("--rpc", o.RPC)); err != nil {
			return err
		}
	}
	if o.HTTP != "" {
		if d.http, err = doorAt(listenTCP("--http", o.HTTP)); err != nil {
			return err
		}
	}
	return nil
}

func doorAt(l net.Listener, err error) (*door, error) {
	if err != nil {
		return nil, err
	}
	return newDoor(l), nil
}

// listenUnix waits a moment for a former node that is just ending: a killed process lets its locks go only after the
// kernel has taken its gigabytes of mappings apart, and "kill, then start again" must work.
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

// present leaves out those that are not there.
func present(doors ...*door) []*door {
	return slices.DeleteFunc(doors, func(d *door) bool { return d == nil })
}

// postgres lists those that speak PostgreSQL's protocol.
func (d *doors) postgres() []*door { return present(d.socket, d.twin, d.tcp) }

// close closes them all. Closing twice is harmless.
func (d *doors) close() (err error) {
	for _, one := range append(present(d.rpc, d.remote, d.http), d.postgres()...) {
		err = errors.Join(err, one.close())
	}
	return err
}
