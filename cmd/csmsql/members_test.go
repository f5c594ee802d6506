package main_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/etcd"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/place"
	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/internal/testfabric"
)

// asEtcd makes this test binary an etcd of its own in a directory: something that can be stopped and killed without a node.
const asEtcd = "CSMSQL_TEST_AS_ETCD"

func serveEtcd(directory string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	server, err := etcd.Serve(ctx, etcd.ServerOptions{Directory: directory, Name: "etcd", Log: log})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return server.Close()
}

// member is a process of a cluster, that dies and comes back. One goroutine drives it; others ask whether it should answer.
type member struct {
	name    string
	data    string
	command func() *exec.Cmd
	stalls  *stalls

	process  *exec.Cmd
	pid      atomic.Int64
	ended    chan struct{} // closed when the process has ended
	output   lastWords
	awaited  atomic.Bool  // its end is our doing
	failures func(string) // called when it ends otherwise

	mu      sync.Mutex
	stopped time.Time     // guarded by mu; since when it is under SIGSTOP, or zero
	pauses  time.Duration // guarded by mu; all former ones
}

// lastWords keeps the end of what a process says.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

const lastWordsMax = 64 << 10

func (l *lastWords) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-lastWordsMax):]
	return len(p), nil
}

func (l *lastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.Clone(l.text))
}

func (m *member) start() error {
	m.process, m.ended = m.command(), make(chan struct{})
	m.process.Stderr = &m.output
	m.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also when the test does not come to its end
	m.awaited.Store(false)
	if err := m.process.Start(); err != nil {
		return err
	}
	m.pid.Store(int64(m.process.Process.Pid))
	go func(process *exec.Cmd, ended chan struct{}) {
		defer close(ended)
		if err := process.Wait(); !m.awaited.Load() {
			m.failures(fmt.Sprintf("%s ended by itself: %v\n%s", m.name, err, m.output.String()))
		}
	}(m.process, m.ended)
	return nil
}

func (m *member) alive() bool {
	select {
	case <-m.ended:
		return false
	default:
		return true
	}
}

func (m *member) kill() {
	m.awaited.Store(true)
	_ = m.process.Process.Kill() // it may be dead
	<-m.ended
	m.pause(false)
}

func (m *member) stop() {
	m.pause(true)
	_ = m.process.Process.Signal(syscall.SIGSTOP)
}

func (m *member) goOn() {
	_ = syscall.Kill(int(m.pid.Load()), syscall.SIGCONT)
	m.pause(false)
}

func (m *member) pause(begins bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.stopped.IsZero() {
		m.pauses += time.Since(m.stopped)
	}
	if m.stopped = (time.Time{}); begins {
		m.stopped = time.Now()
	}
}

func (m *member) isStopped() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.stopped.IsZero()
}

// stoppedFor is how long it has been stopped in all.
func (m *member) stoppedFor() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped.IsZero() {
		return m.pauses
	}
	return m.pauses + time.Since(m.stopped)
}

// overdue is closed when the test has waited for as long as is patient, or the member has ended.
func (m *member) overdue() <-chan struct{} {
	over, spent := make(chan struct{}), m.stalls.stopwatch()
	go func() {
		defer close(over)
		for spent() < patience {
			select {
			case <-m.ended:
				return
			case <-time.After(stallTick):
			}
		}
	}()
	return over
}

// terminate ends it in order.
func (m *member) terminate() error {
	m.awaited.Store(true)
	lost := m.stalls.lost.Load()
	_ = m.process.Process.Signal(syscall.SIGTERM)
	select {
	case <-m.ended:
	case <-m.overdue():
		_ = m.process.Process.Kill()
		<-m.ended
		return fmt.Errorf("%s does not end after SIGTERM\n%s", m.name, m.output.String())
	}
	crowded := m.stalls.lost.Load() > lost // then statements may not have got to their end in time: it ends as if it was killed
	if state := m.process.ProcessState; !state.Success() && !(crowded && state.ExitCode() == exitKilled) {
		return fmt.Errorf("%s: %v\n%s", m.name, state, m.output.String())
	}
	return nil
}

// exitKilled is the exit status of a node whose statements do not end.
const exitKilled = 130

// members is a cluster of processes.
type members struct {
	t        *testing.T
	dir      string
	memory   string
	endpoint string  // etcd's socket
	etcd     *member // nil: the first node runs it
	nodes    []*member
	stalls   *stalls
}

// sessionTTL of the nodes: as short as etcd has it.
const sessionTTL = 2 * time.Second

// newMembers readies a cluster whose nodes have more flags and variables of the environment than usual; nothing is started.
func newMembers(t *testing.T, nodes int, embedded bool, failures func(string), flags, environment []string) *members {
	dir, err := os.MkdirTemp("", "csm") // names of sockets must be short
	require.NoError(t, err)
	memory, err := shmdir.Make()
	require.NoError(t, err)
	c := &members{t: t, dir: dir, memory: memory, endpoint: filepath.Join(dir, "etcd", etcd.ClientSocket), stalls: watchStalls(t)}
	t.Cleanup(c.end)
	if embedded {
		c.endpoint = filepath.Join(dir, "n0", "etcd", etcd.ClientSocket)
	} else {
		c.etcd = &member{name: "etcd", stalls: c.stalls, failures: failures, command: func() *exec.Cmd {
			command := exec.Command(os.Args[0])
			command.Env = append(os.Environ(), asEtcd+"="+filepath.Join(dir, "etcd"))
			return command
		}}
	}
	for i := range nodes {
		name := fmt.Sprintf("n%d", i)
		data := filepath.Join(dir, name)
		args := []string{"serve", "--node", name, "--data", data, "--region-dir", memory, "--fabric", string(testfabric.FromEnvironment()), "--region", "256MiB", "--memory", "384MiB", "--pg", "off",
			"--threads", "1", "--session-ttl", sessionTTL.String(), "--log-level", "info"}
		args = append(args, flags...)
		if embedded && i == 0 {
			args = append(args, "--cluster-init")
		} else {
			args = append(args, "--etcd", "unix://"+c.endpoint)
		}
		c.nodes = append(c.nodes, &member{name: name, data: data, stalls: c.stalls, failures: failures, command: func() *exec.Cmd {
			c := command(context.Background(), args...)
			c.Env = append(c.Env, environment...)
			return c
		}})
	}
	return c
}

// end kills all processes and removes what they had.
func (c *members) end() {
	for _, m := range c.all() {
		if m.process != nil {
			m.kill()
		}
	}
	require.NoError(c.t, os.RemoveAll(c.dir))
	require.NoError(c.t, os.RemoveAll(c.memory))
}

func (c *members) all() []*member {
	if c.etcd == nil {
		return c.nodes
	}
	return append([]*member{c.etcd}, c.nodes...)
}

// heal starts what is dead, lets go on what is stopped, and waits until every node sees all of them.
func (c *members) heal() error {
	for i, m := range c.all() {
		if i == 1 && m.process == nil {
			if err := c.awaitEtcd(); err != nil { // nodes that come into the cluster for the first time do not
				return err
			}
		}
		switch {
		case m.process != nil && m.isStopped():
			m.goOn()
		case m.process == nil || !m.alive():
			if err := m.start(); err != nil {
				return err
			}
		}
	}
	return c.await()
}

// awaitEtcd waits until a server accepts connections at etcd's socket.
func (c *members) awaitEtcd() error {
	for spent := c.stalls.stopwatch(); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("unix", c.endpoint)
		if err == nil {
			return conn.Close()
		}
		if spent() > patience {
			return fmt.Errorf("etcd does not start: %w\n%s", err, c.all()[0].output.String())
		}
	}
}

func (c *members) await() error {
	spent := c.stalls.stopwatch()
	// Until none had to be waited for: what one node says holds no longer when the next one turns out to have been given up. A node that
	// was stopped for nearly as long as its session lasts is online in the records until etcd looks, which it does twice a second, and
	// says of itself that it is unsure.
	for again := true; again; {
		again = false
		for _, m := range c.nodes {
			for {
				seen, err := m.online()
				if err == nil && seen == len(c.nodes) {
					break
				}
				again = true
				if spent() > patience {
					return fmt.Errorf("%s does not come back: %d nodes are online, %v\n%s", m.name, seen, err, m.output.String())
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
	}
	return nil
}

// online is how many nodes a node knows to be online.
func (m *member) online() (seen int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := m.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	err = conn.QueryRow(ctx, "SELECT count(*) FROM csm.nodes WHERE state = 'online'").Scan(&seen)
	return seen, err
}

// connect goes by the socket in the data directory, which stays the same.
func (m *member) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, "host="+m.data+" port=5432 user=postgres dbname=csmsql sslmode=disable")
}

func (m *member) socket() string { return filepath.Join(m.data, place.SocketName) }

// used is what a node's region holds, and who holds that, as csmsql status says. A machine that is busy enough has the cluster give up a node that
// nothing was done to: it restarts, and answers then.
func (m *member) used(t *testing.T) (used int64, holders []noderpc.HolderStatus) {
	var status noderpc.Status
	ask := func() error {
		client, err := noderpc.Dial(deadline(t), m.socket())
		if err != nil {
			return err
		}
		defer client.Close() // its calls have ended
		status, err = client.Status(deadline(t))
		return err
	}
	for spent := m.stalls.stopwatch(); ; time.Sleep(50 * time.Millisecond) {
		err := ask()
		if err == nil {
			break
		}
		if spent() > patience/2 {
			require.NoError(t, err)
		}
	}
	for _, r := range status.Regions {
		if r.Node == m.name || r.Node == "" {
			used += r.Used
		}
	}
	return used, status.Holders
}

// versionsOnly is the memory of tables' versions, if there is no other holder.
func versionsOnly(holders []noderpc.HolderStatus) (bytes int64, only bool) {
	only = true
	for _, h := range holders {
		bytes += h.Bytes
		only = only && h.Holder == "versions of tables"
	}
	return bytes, only
}

// complaints are the lines that no node may ever log.
func (m *member) complaints() []string {
	var found []string
	for line := range strings.Lines(m.output.String()) {
		for _, word := range []string{"panic", "invariant", "XX001", "XX000", "checksum", "memory is unowned", "beyond its holder"} {
			if strings.Contains(line, word) {
				found = append(found, strings.TrimSpace(line))
			}
		}
	}
	return found
}
