package clienttest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// patience bounds everything that should take moments.
const patience = 90 * time.Second

// node is the csmsql that all tests talk to.
type node struct {
	binary    string
	directory string // of everything but the region
	region    string // directory of the region's file
	port      string
	command   *exec.Cmd
	output    bytes.Buffer
	ended     chan struct{} // closed when the process is gone
	asked     sync.Once     // by a test: see listens
}

// shared is started once, by TestMain.
var shared *node

func TestMain(m *testing.M) {
	code := 1
	var err error
	if shared, err = newNode(); err == nil {
		if err = shared.start(); err == nil {
			code = m.Run()
			err = shared.stop()
		}
		err = errors.Join(err, shared.clean())
	}
	if made.directory != "" {
		err = errors.Join(err, os.RemoveAll(made.directory))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "clienttest:", err)
		code = 1
	}
	os.Exit(code)
}

func newNode() (*node, error) {
	directory, err := os.MkdirTemp("", "csm")
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(filepath.Join(directory, "files"), 0o755); err != nil {
		return nil, err
	}
	return &node{directory: directory, region: directory, binary: filepath.Join(directory, "csmsql")}, nil
}

// start builds the program, serves and loads TPC-H.
func (n *node) start() error {
	if err := testsuite.BuildProgram(n.binary); err != nil {
		return err
	}
	fabric := "file"
	var room syscall.Statfs_t
	if syscall.Statfs(shmdir.Root, &room) == nil && int64(room.Bavail)*room.Bsize > 2<<30 {
		if region, err := shmdir.Make(); err == nil {
			n.region, fabric = region, "shm"
		}
	}
	// A port that was free a moment ago may be taken by now: then another one is tried.
	var err error
	for range 5 {
		if n.port, err = freePort(); err != nil {
			return err
		}
		if err = n.serve(fabric); err == nil {
			break
		}
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if out, err := exec.CommandContext(ctx, n.binary, "tpch", "load", "--sf", "0.01", "--to", n.data()).CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("tpch load: %w\n%s", err, out), n.stop())
	}
	return nil
}

// files is the one directory whose files SQL may read and write.
func (n *node) files() string { return filepath.Join(n.directory, "files") }

func (n *node) data() string { return filepath.Join(n.directory, "data") }

func freePort() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return port, listener.Close()
}

// workersVariable has the node run its queries in so many workers.
const workersVariable = "CSMSQL_TEST_WORKERS"

// serve starts the process and waits until its port answers.
func (n *node) serve(fabric string) error {
	n.output.Reset()
	n.command = exec.Command(n.binary, "serve", "--dialect", "duckdb", "--data", n.data(), "--region-dir", n.region, "--fabric", fabric, "--region", "1GiB",
		"--memory", testsuite.Memory(os.Getenv(workersVariable)), "--pg", "127.0.0.1:"+n.port, "--files", n.files(),
		"--workers", cmp.Or(os.Getenv(workersVariable), "0"))
	n.command.Stdout, n.command.Stderr = &n.output, &n.output
	if err := n.command.Start(); err != nil {
		return err
	}
	n.ended = make(chan struct{})
	go func() {
		n.command.Wait()
		close(n.ended)
	}()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		conn, err := net.Dial("tcp", "127.0.0.1:"+n.port)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-n.ended:
			return fmt.Errorf("csmsql serve ended: %s\n%s", n.command.ProcessState, n.output.String())
		case <-deadline.C:
			return errors.Join(fmt.Errorf("csmsql serve does not listen: %w", err), n.stop())
		case <-poll.C:
		}
	}
}

// stop ends the process that serve started (CL2); one that does not end in time is an error.
func (n *node) stop() error {
	n.command.Process.Signal(syscall.SIGTERM) // an error means that it is gone
	select {
	case <-n.ended:
	case <-time.After(patience):
		n.command.Process.Kill()
		<-n.ended
		return errors.New("csmsql serve did not end at SIGTERM")
	}
	if !n.command.ProcessState.Success() {
		return fmt.Errorf("csmsql serve: %s\n%s", n.command.ProcessState, n.output.String())
	}
	return nil
}

func (n *node) clean() error {
	return errors.Join(os.RemoveAll(n.directory), os.RemoveAll(n.region))
}

// dsn is how libpq's descendants connect, url how the others do.
func (n *node) dsn() string {
	return "host=127.0.0.1 port=" + n.listens() + " user=postgres dbname=csmsql"
}

func (n *node) url() string {
	return "postgres://postgres@127.0.0.1:" + n.listens() + "/csmsql?sslmode=disable"
}

// listens is the node's port. A test that asks for it depends on what the node was built from and started with.
func (n *node) listens() string {
	n.asked.Do(func() {
		os.Getenv(workersVariable) // as TestMain did, before it counted
		if err := testsuite.LookAtSources(); err != nil {
			panic(err)
		}
	})
	return n.port
}
