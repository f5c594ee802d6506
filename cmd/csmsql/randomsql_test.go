package main_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// randomSQLVariable: how long TestRandomSQL asks, from when SQLsmith knows the catalog.
const randomSQLVariable = "CSMSQL_RANDOM_SQL"

// TestRandomSQL asks three nodes of a cluster what SQLsmith makes up from all tables, functions, operators and types that the catalog shows, at once:
// no node ends, none says what it may never say, and the tables are as before (SQLsmith rolls back whatever it did).
func TestRandomSQL(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	path, err := exec.LookPath("sqlsmith")
	if err != nil && os.Getenv("CSMSQL_CLIENTS") == "required" {
		t.Fatal("sqlsmith is not there although CSMSQL_CLIENTS=required; install sqlsmith")
	} else if err != nil {
		t.Skip("sqlsmith is not there: random SQL over three nodes is skipped; install sqlsmith (Debian)")
	}
	duration, seed := 5*time.Second, uint64(time.Now().UnixNano())%1_000_000
	if text := os.Getenv(randomSQLVariable); text != "" {
		duration, err = time.ParseDuration(text)
		require.NoError(t, err)
	}
	if text := os.Getenv("CSMSQL_SEED"); text != "" {
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("seed %d (CSMSQL_SEED=%[1]d %s=%v)", seed, randomSQLVariable, duration)
	var mu sync.Mutex
	var ends []string
	c := newMembers(t, 3, true, func(what string) {
		mu.Lock()
		defer mu.Unlock()
		ends = append(ends, what)
	}, []string{"--session-ttl", "30s"}, nil) // that a node is given up while the machine is busy is for other tests
	require.NoError(t, c.heal())
	load := command(deadline(t), "tpch", "load", "--sf", "0.001", "--to", c.nodes[0].data)
	out, err := load.CombinedOutput()
	require.NoError(t, err, "%s", out)
	before := c.contents(t)

	smiths := make([]*smith, len(c.nodes))
	for i, m := range c.nodes {
		smiths[i] = startSmith(t, path, m, seed+uint64(i))
	}
	for _, s := range smiths {
		s.await(t)
	}
	ended := make(chan *smith)
	for _, s := range smiths {
		go func() {
			<-s.ended
			select {
			case ended <- s:
			case <-t.Context().Done():
			}
		}()
	}
	select {
	case s := <-ended:
		require.FailNow(t, "SQLsmith has ended", s.output.String())
	case <-time.After(duration):
	}
	for _, s := range smiths {
		s.awaitAnswer(t)
	}
	for i, m := range c.nodes {
		answered, failed, broken := smiths[i].end()
		require.False(t, broken, "%s: a connection broke; the node has said: %s", m.name, m.output.String())
		t.Logf("%s: %d statements ran, %d failed", m.name, answered, failed)
		require.Positive(t, answered)
		require.Empty(t, m.complaints(), m.name)
	}
	mu.Lock()
	require.Empty(t, ends)
	mu.Unlock()
	require.NoError(t, c.await(), "all nodes are online")
	require.Equal(t, before, c.contents(t))
}

// contents is how many rows each table has, as each node says.
func (c *members) contents(t *testing.T) (rows []string) {
	t.Helper()
	for _, m := range c.nodes {
		conn, err := m.connect(deadline(t))
		require.NoError(t, err)
		for _, table := range []string{"lineitem", "orders", "partsupp", "part", "customer", "supplier", "nation", "region"} {
			var count, sum string
			require.NoError(t, conn.QueryRow(deadline(t), fmt.Sprintf("SELECT count(*)::text, coalesce(sum(hash(x))::text, '') FROM %s x", table)).Scan(&count, &sum))
			rows = append(rows, table+" "+count+" "+sum)
		}
		require.NoError(t, conn.Close(deadline(t)))
	}
	return rows
}

// smithReady is what SQLsmith says last before it asks. Then it says a character for each statement: . it ran, e it failed, S its syntax is wrong,
// t it took too long, C the connection broke.
const smithReady = "Generating indexes...done."

// smith is a SQLsmith that asks a node.
type smith struct {
	process *exec.Cmd
	output  output
	ended   chan struct{}
}

// output is what a process has said up to now.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

func startSmith(t *testing.T, path string, m *member, seed uint64) *smith {
	s := &smith{ended: make(chan struct{})}
	s.process = exec.CommandContext(context.Background(), path, "--verbose", "--seed="+strconv.FormatUint(seed, 10), "--target=host="+m.data+" port=5432 user=postgres dbname=csmsql")
	s.process.Stdout, s.process.Stderr = &s.output, &s.output
	s.process.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, s.process.Start())
	go func() {
		defer close(s.ended)
		_ = s.process.Wait() // it is killed
	}()
	t.Cleanup(func() {
		_ = s.process.Process.Kill() // it may be dead
		<-s.ended
	})
	return s
}

// await waits until it has read the catalog.
func (s *smith) await(t *testing.T) {
	t.Helper()
	// Each of the three asks for ten seconds of a processor, which other tests use as well.
	for end := time.Now().Add(5 * patience); !strings.Contains(s.output.String(), smithReady); time.Sleep(20 * time.Millisecond) {
		select {
		case <-s.ended:
			require.FailNow(t, "SQLsmith has ended", s.output.String())
		default:
		}
		require.True(t, time.Now().Before(end), "SQLsmith does not come through the catalog: %s", s.output.String())
	}
}

// awaitAnswer waits until a statement of its was answered: the first one may take long, and many are wrong.
func (s *smith) awaitAnswer(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if answered, _, _ := s.count(); answered > 0 {
			return
		}
		require.True(t, time.Now().Before(end), "nothing that SQLsmith asks is answered: %s", s.output.String())
	}
}

// end stops it and says how many of its statements were answered and how many failed, and whether a connection broke.
func (s *smith) end() (answered, failed int, broken bool) {
	_ = s.process.Process.Kill()
	<-s.ended
	return s.count()
}

func (s *smith) count() (answered, failed int, broken bool) {
	_, said, _ := strings.Cut(s.output.String(), smithReady)
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if strings.Trim(line, ".eStC") != "" {
			continue // of its report, which comes once in a while
		}
		broken = broken || strings.Contains(line, "C")
		answered += strings.Count(line, ".")
		failed += len(line) - strings.Count(line, ".")
	}
	return answered, failed, broken
}
