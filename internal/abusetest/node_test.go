package abusetest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/cgroup"
	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// patience bounds everything that should take moments.
const patience = 90 * time.Second

// beside is what the help of csmsql serve asks for beside --region and --memory.
const beside = 150 << 20

// program is built once for all tests.
var program = sync.OnceValues(func() (string, error) {
	directory, err := os.MkdirTemp("", "csm")
	if err != nil {
		return "", err
	}
	path := filepath.Join(directory, "csmsql")
	return path, testsuite.BuildProgram(path)
})

func TestMain(m *testing.M) {
	if order := os.Getenv(orderVariable); order != "" {
		attend(order)
		return
	}
	code := m.Run()
	if path, err := program(); err == nil {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}

// node is a csmsql that has exactly the memory that its help asks for.
type node struct {
	t      testing.TB
	group  *cgroup.Group
	limit  int64
	memory int64 // --memory
	target
	command *exec.Cmd
	output  said
	ended   chan struct{} // closed when the process is gone
	most    *watch
}

// said is what a process says, which may be read while it runs.
type said struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (s *said) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(data)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// start starts a node, and ends it with the test: then it must have lived, and must have given back what clients had (AB5 of doc.go).
func start(t testing.TB, memoryBytes, regionBytes int64) *node {
	binary, err := program()
	require.NoError(t, err)
	n := &node{t: t, memory: memoryBytes, limit: memoryBytes + regionBytes + beside, ended: make(chan struct{})}
	n.group, err = cgroup.Make("csmsql-abuse-"+strconv.FormatInt(time.Now().UnixNano(), 36), n.limit)
	if errors.Is(err, cgroup.ErrUnavailable) && os.Getenv(cgroup.Variable) != cgroup.Required {
		t.Skip("the tests of abuse are skipped: ", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.group.Close()) })
	directory := t.TempDir()
	region := shmdir.For(t)
	n.command = exec.Command(binary, "serve", "--data", filepath.Join(directory, "data"), "--region-dir", region, "--fabric", "shm",
		"--region", strconv.FormatInt(regionBytes, 10), "--memory", strconv.FormatInt(memoryBytes, 10), "--pg", "127.0.0.1:0")
	n.group.Confine(n.command)
	n.command.Env = append(os.Environ(), "GOMEMLIMIT=", "GOGC=")
	n.command.Stderr = &n.output
	pipe, err := n.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, n.command.Start())
	ready := make(chan string, 1)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		lines := bufio.NewScanner(pipe)
		for lines.Scan() {
			fmt.Fprintln(&n.output, lines.Text())
			if _, after, found := strings.Cut(lines.Text(), "postgres://"); found {
				_, after, _ = strings.Cut(after, "@")
				address, _, _ := strings.Cut(after, "/")
				select {
				case ready <- address:
				default:
				}
			}
		}
		io.Copy(io.Discard, pipe)
	}()
	go func() {
		<-drained
		n.command.Wait()
		close(n.ended)
	}()
	t.Cleanup(n.stop)
	select {
	case n.address = <-ready:
	case <-n.ended:
		require.FailNow(t, "the node ended", n.output.String())
	case <-time.After(patience):
		require.FailNow(t, "the node does not come up", n.output.String())
	}
	n.most = n.watch()
	return n
}

// stop ends the node, which must have lived.
func (n *node) stop() {
	n.command.Process.Signal(syscall.SIGTERM) // an error means that it is gone
	select {
	case <-n.ended:
	case <-time.After(patience):
		n.command.Process.Signal(syscall.SIGQUIT)
		time.Sleep(time.Second)
		n.command.Process.Kill()
		<-n.ended
		require.Fail(n.t, "the node did not end at SIGTERM", n.output.String())
	}
	if n.most != nil {
		n.most.end()
	}
	kills, err := n.group.Kills()
	require.NoError(n.t, err)
	require.Zero(n.t, kills, "the kernel killed the node: it had more memory than its help asks for")
	require.True(n.t, n.command.ProcessState.Success(), "%v\n%s", n.command.ProcessState, n.output.String())
	require.NotContains(n.t, n.output.String(), "recovered from a panic")
}

// alive reports whether the process still runs.
func (n *node) alive() bool {
	select {
	case <-n.ended:
		return false
	default:
		return true
	}
}

func (n *node) url() string { return "postgres://good@" + n.address + "/csmsql?sslmode=disable" }

// connect opens a connection for the test's life, of a client that behaves.
func (n *node) connect() *pgx.Conn {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, n.url())
	require.NoError(n.t, err, n.output.String())
	n.t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// watch looks at a node's memory again and again.
type watch struct {
	stop, stopped chan struct{}
	mu            sync.Mutex
	peak, own     cgroup.Usage // guarded by mu; when most was held, and when most of the node's own
}

func (n *node) watch() *watch {
	w := &watch{stop: make(chan struct{}), stopped: make(chan struct{})}
	go func() {
		defer close(w.stopped)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-w.stop:
				return
			case <-tick.C:
			}
			if u, err := n.group.Usage(); err == nil {
				w.mu.Lock()
				if u.Held() > w.peak.Held() {
					w.peak = u
				}
				if ownOf(u) > ownOf(w.own) {
					w.own = u
				}
				w.mu.Unlock()
			}
		}
	}()
	return w
}

func (w *watch) end() {
	close(w.stop)
	<-w.stopped
}

// ownOf is what a node has of its own: all but the region.
func ownOf(u cgroup.Usage) int64 { return u.Anonymous + u.Kernel }

func (w *watch) peaks() (all, own cgroup.Usage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.peak, w.own
}

// report says how much memory the node had at most.
func (n *node) report(what string) {
	peak, err := n.group.Peak()
	require.NoError(n.t, err)
	u, own := n.most.peaks()
	n.t.Logf("%s: at most %d MiB of %d held (anonymous %d, shared %d, kernel %d), memory.peak %d; of its own at most %.1f MiB of %d (anonymous %d, kernel %d)",
		what, u.Held()>>20, n.limit>>20, u.Anonymous>>20, u.Shared>>20, u.Kernel>>20, peak>>20,
		float64(ownOf(own))/(1<<20), (n.memory+beside)>>20, own.Anonymous>>20, own.Kernel>>20)
	require.LessOrEqual(n.t, ownOf(own), n.memory+beside, "the node's own memory")
}
