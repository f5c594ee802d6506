package engine_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	processes "os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/testfabric"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// Tests about processes that die need processes: this binary is its own child, in one of several roles.

const (
	roleVariable      = "CSMSQL_TEST_ROLE"
	argumentsVariable = "CSMSQL_TEST_ARGUMENTS"
)

// roles of a child: each reads its arguments, talks to the parent in lines, and returns what went wrong.
var roles = map[string]func(c *childSide) error{
	"crash":     crashRole,
	"member":    memberRole,
	"node":      nodeRole,
	"borrower":  borrowerRole,
	"victim":    victimRole,
	"taken":     takenRole,
	"memory":    memoryRole,
	"temporary": temporaryRole,
	"stranger":  strangerRole,
	"reload":    reloadRole,
	"worker":    workerRole,
	"sequence":  sequenceRole,
	"notes":     noteRole,
}

func TestMain(m *testing.M) {
	engine.SetDefaultFabric(testfabric.FromEnvironment())
	if role := os.Getenv(roleVariable); role != "" {
		runRole(role)
	}
	testsuite.Vary(chunk.ExtentsVariable, "4096", "4096", "65536", "0") // chunks of many extents, of some, of as few as can be
	testsuite.SetFlags(4)                                               // most of these tests wait: for sessions and leases to end, for children to come up
	os.Exit(m.Run())
}

// childSide is the child's end of the conversation.
type childSide struct {
	arguments string
	in        *bufio.Scanner
	out       sync.Mutex
}

func runRole(role string) {
	c := &childSide{arguments: os.Getenv(argumentsVariable), in: bufio.NewScanner(os.Stdin)}
	if err := roles[role](c); err != nil {
		c.say("failed %s", strings.ReplaceAll(err.Error(), "\n", " ⏎ "))
		os.Exit(1)
	}
	os.Exit(0)
}

func (c *childSide) decode(into any) error { return json.Unmarshal([]byte(c.arguments), into) }

// say sends the parent a line: one write, so that a kill leaves all of it or nothing.
func (c *childSide) say(format string, args ...any) {
	c.out.Lock()
	defer c.out.Unlock()
	fmt.Fprintf(os.Stdout, "%s\n", fmt.Sprintf(format, args...))
}

// hear waits for a line of the parent; false when the parent hung up.
func (c *childSide) hear() (string, bool) {
	if !c.in.Scan() {
		return "", false
	}
	return c.in.Text(), true
}

// child is the parent's end.
type child struct {
	t       testing.TB
	process *processes.Cmd
	lines   chan string
	stderr  transcript
	tell    func(string)
	over    bool
}

// transcript is written by one goroutine and read by another.
type transcript struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// apart runs the test that calls it in a process of its own, where variable has value: what is read once in a process'
// life, and what a process has for all that ran in it before. It reports whether this is that process, where the test
// goes on.
func apart(t *testing.T, variable, value string) bool {
	t.Helper()
	if os.Getenv(variable) == value {
		return true
	}
	again := processes.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), variable+"="+value)
	out, err := again.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "it ran there")
	return false
}

// spawn starts a child, which dies with the test at the latest.
func spawn(t testing.TB, role string, arguments any) *child {
	t.Helper()
	text, err := json.Marshal(arguments)
	require.NoError(t, err)
	c := &child{t: t, process: processes.Command(os.Args[0]), lines: make(chan string, 4096)}
	c.process.Env = append(os.Environ(), roleVariable+"="+role, argumentsVariable+"="+string(text))
	c.process.Stderr = &c.stderr
	in, err := c.process.StdinPipe()
	require.NoError(t, err)
	out, err := c.process.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.process.Start())
	c.tell = func(line string) { _, _ = fmt.Fprintln(in, line) } // a child that is gone shows when it does not answer
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	t.Cleanup(c.kill)
	return c
}

// expect waits for the next line and demands what it begins with; it returns the rest.
func (c *child) expect(prefix string) string {
	c.t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			c.wait()
			require.FailNow(c.t, "the child ended instead of saying "+prefix, "%v\n%s", c.process.ProcessState, c.stderr.String())
		}
		require.True(c.t, strings.HasPrefix(line, prefix), "want %q, the child said %q\n%s", prefix, line, c.stderr.String())
		return strings.TrimSpace(strings.TrimPrefix(line, prefix))
	case <-time.After(60 * time.Second):
		c.kill()
		require.FailNow(c.t, "the child does not say "+prefix, c.stderr.String())
	}
	return ""
}

// insist sends a borrower a command until it gives the wanted answer: on a machine that does not run it for the time of
// its lease it reports a lost lease, which is correct.
func (c *child) insist(command, prefix string) string {
	c.t.Helper()
	for end := time.Now().Add(60 * time.Second); ; {
		c.tell(command)
		line := c.expect("")
		state, _, _ := strings.Cut(strings.TrimPrefix(line, "error "), " ")
		if !strings.HasPrefix(line, "error ") || !leaseError(state) || time.Now().After(end) {
			require.True(c.t, strings.HasPrefix(line, prefix), "want %q, the child said %q\n%s", prefix, line, c.stderr.String())
			return strings.TrimSpace(strings.TrimPrefix(line, prefix))
		}
	}
}

func (c *child) signal(s syscall.Signal) { require.NoError(c.t, c.process.Process.Signal(s)) }

// kill ends the child with SIGKILL and reaps it.
func (c *child) kill() {
	if c.over {
		return
	}
	_ = c.process.Process.Signal(syscall.SIGKILL) // it may have ended by itself
	c.wait()
}

// wait reaps the child and returns what it said last.
func (c *child) wait() (rest []string) {
	for line := range c.lines {
		rest = append(rest, line)
	}
	if !c.over {
		c.over = true
		_ = c.process.Wait() // how it ended is in ProcessState
	}
	return rest
}

// killed reports whether the child ended by SIGKILL.
func (c *child) killed() bool {
	status, ok := c.process.ProcessState.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}

// workersVariable has the tests' engines run their queries in so many workers, where nothing speaks against it.
const workersVariable = "CSMSQL_TEST_WORKERS"

// workerRole is a worker of an engine in a test.
func workerRole(*childSide) error { return engine.ServeWorker() }

// withWorkers gives an engine workers, which this binary is. Its service, that they attach to, is to be served at the
// socket as soon as it is open.
func withWorkers(t testing.TB, count int) (change func(*engine.Config), serving func(*engine.Engine)) {
	t.Helper()
	dir, err := os.MkdirTemp("", "csm") // short, for the names of sockets are bounded
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	socket := dir + "/s"
	change = func(c *engine.Config) {
		c.Workers = engine.Workers{
			Count: count, Command: []string{"/proc/self/exe"}, Environment: []string{roleVariable + "=worker", duckdb.CrashingVariable + "=1"}, Socket: socket,
		}
	}
	return change, func(e *engine.Engine) {
		stop, err := serve(e, socket)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, stop()) })
	}
}
