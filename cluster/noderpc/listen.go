package noderpc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/filelock"
)

// maxSocketPath is what sun_path of sockaddr_un holds, without the final zero.
const maxSocketPath = 107

// probeTimeout bounds the question whether a process serves a socket that is there.
const probeTimeout = time.Second

// ListenUnix listens on a socket that only this user (and root) can connect to. A socket that a dead node left is
// replaced; if a node serves there the error is ErrAddressInUse. The file PATH.lock beside it is held as long as the
// listener is open, so that two nodes which start at the same moment do not remove each other's socket; it stays,
// empty, because removing it would open that gap again. Close removes the socket.
func ListenUnix(path string) (net.Listener, error) {
	if err := checkSocketPath(path); err != nil {
		return nil, err
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	listener, err := listenLocked(path)
	if err != nil {
		_ = filelock.Give(lock) // the first error is the one to report
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return &unixListener{UnixListener: listener, lock: lock}, nil
}

func checkSocketPath(path string) error {
	if path == "" {
		return badArgument("the path of the node's socket is empty")
	}
	if len(path) > maxSocketPath {
		return &Error{
			State:    stateArgument,
			Message:  fmt.Sprintf("the path of the node's socket has %d bytes, the system allows %d: %s", len(path), maxSocketPath, path),
			HintText: "Choose a directory with a shorter name, or name the socket relative to the working directory.",
		}
	}
	return nil
}

// lockFile takes the lock or says that another process has it.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err = filelock.Take(file); err == nil {
		return file, nil
	}
	_ = file.Close() // nothing was written
	if errors.Is(err, filelock.ErrTaken) {
		return nil, fmt.Errorf("%w (it holds %s): stop it first, or give this node another data directory or socket", ErrAddressInUse, path)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

func listenLocked(path string) (*net.UnixListener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	// The mode is set before the socket has a name: it is never open to others, whatever the umask is.
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) { failed = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(err, failed)
	}}
	listener, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil { // a umask may have taken the owner's rights
		_ = listener.Close() // the first error is the one to report
		return nil, err
	}
	return listener.(*net.UnixListener), nil
}

// removeStale removes a socket that no process serves. It leaves alone what is not a socket.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("a file is there that is no socket; it was left alone: name another path, or move it away")
	}
	conn, err := net.DialTimeout("unix", path, probeTimeout)
	switch {
	case err == nil:
		_ = conn.Close() // only a question
		return fmt.Errorf("%w: stop it first, or give this node another data directory or socket", ErrAddressInUse)
	case errors.Is(err, unix.ECONNREFUSED):
		return os.Remove(path)
	case errors.Is(err, unix.ENOENT):
		return nil
	}
	return fmt.Errorf("cannot tell whether a node serves there: %w", err)
}

// unixListener keeps the lock as long as the socket.
type unixListener struct {
	*net.UnixListener
	lock    *os.File
	closing sync.Once
	err     error
}

// Close removes the socket, then the lock: no other process can have replaced the socket before. gRPC closes it, too;
// the second time does nothing.
func (l *unixListener) Close() error {
	l.closing.Do(func() { l.err = errors.Join(l.UnixListener.Close(), filelock.Give(l.lock)) })
	return l.err
}

// checkListener refuses what is open to other machines unless certificates decide which callers get in.
func checkListener(l net.Listener, certified bool) error {
	switch a := l.Addr().(type) {
	case *net.UnixAddr:
		return nil
	case *net.TCPAddr:
		if certified || a.IP.IsLoopback() {
			return nil
		}
	}
	return &Error{
		State: stateArgument, Cause: ErrNotLoopback,
		Message:  fmt.Sprintf("node RPC on %v would be open to other machines: %v", l.Addr(), ErrNotLoopback),
		HintText: "Listen on 127.0.0.1 or [::1], or give the node a certificate, which “csmsql cluster cert” makes.",
	}
}

// absolute makes error texts clear.
func absolute(path string) string {
	if a, err := filepath.Abs(path); err == nil {
		return a
	}
	return path
}
