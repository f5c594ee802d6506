package noderpc_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/nodepb"
)

func TestTheSocketIsItsUsersAlone(t *testing.T) {
	for _, mask := range []int{0, 0o777} {
		path := filepath.Join(t.TempDir(), "s")
		old := unix.Umask(mask)
		listener, err := noderpc.ListenUnix(path)
		unix.Umask(old)
		require.NoError(t, err)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.ModeSocket|0o600, info.Mode())
		require.NoError(t, listener.Close())
		require.NoFileExists(t, path)
	}
}

func TestListenWhereANodeServes(t *testing.T) {
	path, stop := serve(t, &fakeNode{}, noderpc.ServerOptions{})
	_, err := noderpc.ListenUnix(path)
	require.ErrorIs(t, err, noderpc.ErrAddressInUse)
	dial(t, path) // it is still there
	stop()
	listener, err := noderpc.ListenUnix(path)
	require.NoError(t, err)
	require.NoError(t, listener.Close())
}

// A program without our lock serves there.
func TestListenWhereAnotherProgramServes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	other, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer other.Close() //nolint:errcheck // a test's
	_, err = noderpc.ListenUnix(path)
	require.ErrorIs(t, err, noderpc.ErrAddressInUse)
	require.FileExists(t, path)
}

func TestListenReplacesAStaleSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	stale.SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())
	require.FileExists(t, path)
	_, err = noderpc.Dial(context.Background(), path)
	require.ErrorContains(t, err, "no node listens at "+path)
	listener, err := noderpc.ListenUnix(path)
	require.NoError(t, err)
	serveOn(t, &fakeNode{}, noderpc.ServerOptions{}, listener)
	dial(t, path)
}

func TestListenLeavesOtherFilesAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "precious")
	require.NoError(t, os.WriteFile(path, []byte("data"), 0o600))
	_, err := noderpc.ListenUnix(path)
	require.ErrorContains(t, err, "no socket")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "data", string(data))
	_, err = noderpc.ListenUnix("")
	require.Equal(t, "22023", state(t, err))
	_, err = noderpc.ListenUnix(filepath.Join(t.TempDir(), strings.Repeat("x", 107)))
	require.Equal(t, "22023", state(t, err))
	require.ErrorContains(t, err, "107")
}

// Of many that start over the same stale socket exactly one serves, and the others do not take its socket away.
func TestOneOfManyListens(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for range 20 {
		stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		require.NoError(t, err)
		stale.SetUnlinkOnClose(false)
		require.NoError(t, stale.Close())
		listeners := make(chan net.Listener, 8)
		var group errgroup.Group
		for range cap(listeners) {
			group.Go(func() error {
				l, err := noderpc.ListenUnix(path)
				if err == nil {
					listeners <- l
					return nil
				}
				if !errors.Is(err, noderpc.ErrAddressInUse) {
					return err
				}
				return nil
			})
		}
		require.NoError(t, group.Wait())
		require.Len(t, listeners, 1)
		conn, err := net.Dial("unix", path)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		require.NoError(t, (<-listeners).Close())
	}
}

func TestDialSaysWhatToDo(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().String()
	require.NoError(t, free.Close())
	for _, c := range []struct{ target, state, message, hint string }{
		{dir + "/csmsql.sock", "08001", "no node listens at " + dir + "/csmsql.sock", "csmsql serve"},
		{"csmsql-that-is-not-there.sock", "08001", "no node listens at /", "--to"},
		{dir, "08001", "is a directory", dir + "/csmsql.sock"},
		{file, "08001", "is a file", "csmsql serve"},
		{port, "08001", "no node listens at " + port, "csmsql serve"},
		{"192.0.2.1:5434", "22023", "not on this machine", "TLS"},
		{"0.0.0.0:5434", "22023", "not on this machine", "TLS"},
		{"node.example:5434", "22023", "not on this machine", "TLS"},
		{"localhost.example:5434", "22023", "not on this machine", "TLS"},
		{"host:1:2", "22023", "neither", ""},
		{"", "22023", "empty", ""},
		{"/" + strings.Repeat("x", 200), "22023", "107", "shorter"},
	} {
		_, err := noderpc.Dial(ctx, c.target)
		require.Equal(t, c.state, state(t, err), c.target)
		require.ErrorContains(t, err, c.message)
		var e *noderpc.Error
		require.ErrorAs(t, err, &e)
		require.Contains(t, e.Hint(), c.hint)
	}
}

func TestDialWhatIsNoNode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	other, err := net.Listen("unix", path)
	require.NoError(t, err)
	var group errgroup.Group
	group.Go(func() error {
		for {
			conn, err := other.Accept()
			if err != nil {
				return nil
			}
			_, _ = conn.Write([]byte("SSH-2.0-OpenSSH\r\n"))
			_ = conn.Close()
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, err = noderpc.Dial(ctx, path)
	require.Equal(t, "08001", state(t, err))
	require.ErrorContains(t, err, path)
	require.NoError(t, other.Close())
	require.NoError(t, group.Wait())
}

func TestDialWhatIsSilent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	other, err := net.Listen("unix", path)
	require.NoError(t, err)
	defer other.Close() //nolint:errcheck // a test's
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = noderpc.Dial(ctx, path)
	require.Equal(t, "08001", state(t, err))

	for range 20 { // a caller that cancels gets no error about the node
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Millisecond, cancel)
		_, err = noderpc.Dial(ctx, path)
		require.Equal(t, "57014", state(t, err))
		require.ErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, noderpc.ErrNodeGone)
	}
}

func TestTCP(t *testing.T) {
	ctx := context.Background()
	node := &fakeNode{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveOn(t, node, noderpc.ServerOptions{}, listener)
	c := dial(t, listener.Addr().String())
	_, err = c.Lease(ctx, holder)
	require.NoError(t, err)
	require.False(t, node.peer.Identified())
	require.Empty(t, node.peer.Name())
	require.Equal(t, "tcp", node.peer.Network)
	_, err = c.Load(ctx, loadRequest(), nil)
	require.Equal(t, "42501", state(t, err), "a caller that asks the node to read files must be known")
	require.NoError(t, c.LoadTPCH(ctx, noderpc.TPCHRequest{ScaleFactor: 1}, nil))
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	dial(t, "localhost:"+port)

	listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveOn(t, node, noderpc.ServerOptions{FilesOverTCP: true}, listener)
	_, err = dial(t, listener.Addr().String()).Load(ctx, loadRequest(), nil)
	require.NoError(t, err)
}

func TestServeRefusesToBeOpenToOthers(t *testing.T) {
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	require.NoError(t, err)
	err = noderpc.NewServer(&fakeNode{}, noderpc.ServerOptions{Log: silent()}).Serve(context.Background(), listener)
	require.ErrorIs(t, err, noderpc.ErrNotLoopback)
	_, err = listener.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

// process starts a node that can be killed.
func process(t *testing.T, path string) *exec.Cmd {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), nodeEnvironment+"="+path)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return command
}

// N4, N7: lease numbers restart in the next process; a lease of one process is none of the other.
func TestANodeIsKilledAndComesBack(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "csmsql.sock")
	node := process(t, path)
	c := dial(t, path)
	before, err := c.Lease(ctx, holder)
	require.NoError(t, err)
	_, err = c.Load(ctx, loadRequest(), func(noderpc.Progress) { _ = node.Process.Kill() })
	require.Equal(t, "08006", state(t, err))
	require.ErrorIs(t, err, noderpc.ErrNodeGone)
	require.ErrorContains(t, err, "node local ("+path+")")
	_, err = c.Renew(ctx, []catalog.LeaseID{before.ID()})
	require.ErrorIs(t, err, noderpc.ErrNodeGone)
	_ = node.Wait()

	process(t, path) // over the stale socket
	other := dial(t, path)
	after, err := other.Lease(ctx, holder)
	require.NoError(t, err)
	require.Equal(t, before.ID(), after.ID(), "or the test proves nothing")
	require.Eventually(t, func() bool { // once the connection is made again
		_, err = c.Renew(ctx, []catalog.LeaseID{before.ID()})
		return errors.Is(err, noderpc.ErrRestarted)
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, "08006", state(t, err))
	require.ErrorIs(t, c.Release(ctx, before.ID()), noderpc.ErrRestarted)
	over, err := other.Renew(ctx, []catalog.LeaseID{after.ID()})
	require.NoError(t, err)
	require.Empty(t, over, "the other's lease of the same number lives")
}

// N4: a peer that does not use our client guesses numbers.
func TestForgedLeases(t *testing.T) {
	ctx := context.Background()
	node := &fakeNode{}
	path, _ := serve(t, node, noderpc.ServerOptions{})
	lease, err := dial(t, path).Lease(ctx, holder)
	require.NoError(t, err)

	conn, err := grpc.NewClient("unix:"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer conn.Close() //nolint:errcheck // a test's
	rpc := nodepb.NewNodeClient(conn)
	_, err = rpc.Status(ctx, &nodepb.StatusRequest{})
	require.ErrorContains(t, err, "without the incarnation")
	hello, err := rpc.Hello(ctx, &nodepb.HelloRequest{Protocol: noderpc.ProtocolVersion})
	require.NoError(t, err)
	ctx = metadata.AppendToOutgoingContext(ctx, "csmsql-incarnation-bin", string(hello.GetIncarnation()))
	for _, key := range [][]byte{nil, {}, make([]byte, 16), make([]byte, 1000)} {
		tokens := []*nodepb.LeaseToken{{Id: uint64(lease.ID()), Key: key}, nil}
		renewed, err := rpc.Renew(ctx, &nodepb.RenewRequest{Leases: tokens})
		require.NoError(t, err)
		require.Equal(t, []uint64{uint64(lease.ID()), 0}, renewed.GetOver())
		_, err = rpc.Release(ctx, &nodepb.ReleaseRequest{Leases: tokens})
		require.ErrorContains(t, err, "over")
		require.Equal(t, 1, node.held())
	}
	_, err = rpc.Renew(ctx, &nodepb.RenewRequest{Leases: make([]*nodepb.LeaseToken, noderpc.MaxLeases+1)})
	require.Error(t, err)
	_, err = rpc.Hello(ctx, &nodepb.HelloRequest{Protocol: noderpc.ProtocolVersion + 1})
	require.ErrorContains(t, err, "protocol")

	// Requests that our client never sends.
	for _, load := range []*nodepb.LoadRequest{
		nil, {Table: "t"}, {Table: "t", Files: [][]byte{[]byte("relative")}, Mode: 1}, {Table: "t", Files: [][]byte{[]byte("/a\x00b")}, Mode: 1},
		{Table: "t", Files: [][]byte{[]byte("/a")}, Mode: 9}, {Files: [][]byte{[]byte("/a")}, Mode: 1}, {Table: strings.Repeat("t", 256), Files: [][]byte{[]byte("/a")}, Mode: 1},
		{Table: "t", Files: [][]byte{[]byte("/a")}, Mode: 1, Replicas: 33},
	} {
		stream, err := rpc.Load(ctx, load)
		require.NoError(t, err)
		_, err = stream.Recv()
		require.ErrorContains(t, err, "load: ")
	}
	_, err = rpc.Page(ctx, &nodepb.PageRequest{Id: []byte("short")})
	require.ErrorContains(t, err, "5 bytes")
}

func TestAClosedClient(t *testing.T) {
	path, _ := serve(t, &fakeNode{}, noderpc.ServerOptions{})
	c := dial(t, path)
	require.NoError(t, c.Close())
	_, err := c.Describe(context.Background())
	require.Equal(t, "08006", state(t, err))
	require.ErrorContains(t, err, "closed")
}
