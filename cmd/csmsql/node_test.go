package main_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/internal/testfabric"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// patience bounds everything that should take moments; the race detector on a busy machine is slow.
const patience = 60 * time.Second

// command readies csmsql as a process of its own.
func command(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0], args...)
	c.Env = append(os.Environ(), asProgram+"=1")
	return c
}

// node is a running csmsql serve.
type node struct {
	command   *exec.Cmd
	stderr    logged
	banner    string
	drained   chan struct{} // standard output has ended
	directory string        // of everything: data and region
	data      string
	region    string // directory of the region's file
	frontend  noderpc.Frontend
}

// logged is what a process says on standard error, which may be read while it runs.
type logged struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *logged) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// workspace makes directories for a node. Their names are short because sockets' names must be; the region lies in memory
// where that has room.
func workspace() (directory, region, fabric string, err error) {
	if directory, err = os.MkdirTemp("", "csm"); err != nil {
		return "", "", "", err
	}
	var room syscall.Statfs_t
	if syscall.Statfs(shmdir.Root, &room) == nil && int64(room.Bavail)*room.Bsize > 1<<30 {
		if region, err = shmdir.Make(); err == nil {
			return directory, region, string(testfabric.FromEnvironment()), nil
		}
	}
	return directory, directory, "file", nil
}

// workersVariable has nodes run their queries in so many workers.
const workersVariable = "CSMSQL_TEST_WORKERS"

// start starts a node and waits for its banner.
func start(extra ...string) (*node, error) {
	directory, region, fabric, err := workspace()
	if err != nil {
		return nil, err
	}
	n := &node{directory: directory, data: filepath.Join(directory, "data"), region: region}
	args := append([]string{
		"serve", "--data", n.data, "--region-dir", region, "--fabric", fabric, "--region", "512MiB", "--pg", "127.0.0.1:0",
		"--memory", testsuite.Memory(os.Getenv(workersVariable)), "--workers", cmp.Or(os.Getenv(workersVariable), "0"),
	}, extra...)
	if err := n.launch(args); err != nil {
		return nil, errors.Join(err, n.clean())
	}
	return n, nil
}

func (n *node) launch(args []string) error {
	n.command = command(context.Background(), args...)
	n.stderr.Reset()
	n.command.Stderr = &n.stderr
	pipe, err := n.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := n.command.Start(); err != nil {
		return err
	}
	// A node that hangs before its banner is killed, which ends its output.
	hung := time.AfterFunc(patience, func() { n.command.Process.Kill() })
	defer hung.Stop()
	lines := bufio.NewReader(pipe)
	n.banner = ""
	for blank := 0; blank < 2; { // the banner ends with its second empty line
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("the node ended before it was ready: %w\n%s", n.command.Wait(), n.stderr.String())
		}
		if n.banner += line; line == "\n" {
			blank++
		}
	}
	n.drained = make(chan struct{})
	go func() {
		defer close(n.drained)
		io.Copy(io.Discard, lines) // ends with the process
	}()
	return n.describe()
}

// describe asks the node where it is.
func (n *node) describe() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := noderpc.Dial(ctx, filepath.Join(n.data, "csmsql.sock"))
	if err != nil {
		return err
	}
	defer client.Close()
	description, err := client.Describe(ctx)
	n.frontend = description.Frontend
	return err
}

// signal sends a signal and waits for the end.
func (n *node) signal(s syscall.Signal) error {
	if err := n.command.Process.Signal(s); err != nil {
		return err
	}
	return n.wait()
}

// wait waits for the end; a process that hangs is killed and is an error.
func (n *node) wait() error {
	hung := time.AfterFunc(patience, func() { n.command.Process.Kill() })
	defer hung.Stop()
	<-n.drained
	if err := n.command.Wait(); err != nil {
		return fmt.Errorf("%w\n%s", err, n.stderr.String())
	}
	return nil
}

func (n *node) clean() error {
	return errors.Join(os.RemoveAll(n.directory), os.RemoveAll(n.region))
}

func (n *node) stop() error {
	return errors.Join(n.signal(syscall.SIGTERM), n.clean())
}

// startNode starts a node for one test.
func startNode(t *testing.T, extra ...string) *node {
	t.Helper()
	n, err := start(extra...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if n.command.ProcessState == nil {
			require.NoError(t, n.signal(syscall.SIGTERM))
		}
		require.NoError(t, n.clean())
	})
	return n
}

// sharedNode is started by the first test that wants it and stopped after the last: for tests that only add tables of
// their own.
type sharedNode struct {
	once sync.Once
	node *node
	err  error
}

var shared sharedNode

func (s *sharedNode) get(t *testing.T) *node {
	t.Helper()
	s.once.Do(func() { s.node, s.err = start("--http", "127.0.0.1:0") })
	require.NoError(t, s.err)
	return s.node
}

func (s *sharedNode) stop() error {
	if s.node == nil {
		return nil
	}
	return s.node.stop()
}

// url is how Go programs connect.
func (n *node) url() string {
	return "postgres://postgres@" + n.frontend.Address + "/csmsql?sslmode=disable"
}

// connect opens a connection for the test's life.
func (n *node) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	ctx := deadline(t)
	conn, err := pgx.Connect(ctx, n.url())
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// csmsql runs a command against the node and returns its outputs and exit code.
func (n *node) csmsql(t *testing.T, in string, args ...string) (out, errOut string, code int) {
	t.Helper()
	return run(t, in, append(args, "--to", n.data)...)
}

// run runs csmsql as a process.
func run(t *testing.T, in string, args ...string) (out, errOut string, code int) {
	t.Helper()
	c := command(deadline(t), args...)
	var stdout, stderr bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(in), &stdout, &stderr
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return stdout.String(), stderr.String(), c.ProcessState.ExitCode()
}
