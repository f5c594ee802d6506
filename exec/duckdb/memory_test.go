package duckdb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/duckdb/internal/testmalloc"
)

// Memory is the process', so tests of its bound run in processes of their own: this binary again.

const memoryVariable = "CSMSQL_TEST_MEMORY"

func TestMain(m *testing.M) {
	if statements := os.Getenv(memoryVariable); statements != "" {
		measureStatements(statements)
		return
	}
	os.Exit(m.Run())
}

// measured is what a statement did in the child.
type measured struct {
	State   string
	Message string
	Hint    string
	Peak    int64 // of RssAnon, in bytes
	PeakOwn int64 // of C code
	Took    time.Duration
	Own     int64 // what the guard thinks that C code has afterwards
	Rows    []string
}

const (
	counted = 64 << 20
	given   = 160 << 20
	program = 48 << 20 // the process before the first statement, Go's heap with it
)

func measureStatements(text string) {
	var statements []string
	if err := json.Unmarshal([]byte(text), &statements); err != nil {
		panic(err)
	}
	if ballast, found := strings.CutPrefix(statements[0], "ballast "); found {
		bytes, _ := strconv.Atoi(ballast)
		holdMemory(bytes)
		statements = statements[1:]
	}
	db, err := duckdb.Open(duckdb.Options{Threads: 2, MemoryBytes: counted, ProcessBytes: given, SpillDirectory: os.TempDir()})
	if err != nil {
		panic(err)
	}
	defer db.Close()
	c, err := db.Connect(nil)
	if err != nil {
		panic(err)
	}
	defer c.Close()
	var release func()
	var besides func() measured
	for _, sql := range statements {
		if bytes, hold := strings.CutPrefix(sql, "hold "); hold {
			n, _ := strconv.Atoi(bytes)
			release = holdMemory(n)
			continue
		}
		if sql == "release" {
			release()
			continue
		}
		if text, found := strings.CutPrefix(sql, "beside "); found {
			besides = runBeside(db, text)
			continue
		}
		if sql == "end beside" {
			line, err := json.Marshal(besides())
			if err != nil {
				panic(err)
			}
			fmt.Printf("%s\n", line)
			continue
		}
		if bytes, churn := strings.CutPrefix(sql, "churn "); churn {
			n, _ := strconv.Atoi(bytes)
			testmalloc.FreeLarge(24 << 20)
			const threads, block = 2, 16 << 10
			if !testmalloc.Churn(threads, n/threads/block, block) {
				panic("malloc refused a block")
			}
			continue
		}
		line, err := json.Marshal(measure(c, sql))
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s\n", line)
	}
}

// runBeside runs a statement in a connection of its own up to its first rows; end reads some more, and returns how that
// went.
func runBeside(db *duckdb.Database, sql string) (end func() measured) {
	c, err := db.Connect(nil)
	if err != nil {
		panic(err)
	}
	s, err := c.Prepare(sql)
	if err != nil {
		panic(err)
	}
	rows, err := s.Execute(context.Background())
	if err != nil {
		panic(err)
	}
	return func() (out measured) {
		for range 100 {
			batch, err := rows.Next()
			var known *duckdb.Error
			if errors.As(err, &known) {
				out.State, out.Message = known.State, known.Message
			}
			if err != nil {
				break
			}
			batch.Release()
		}
		rows.Close()
		s.Close()
		c.Close()
		return out
	}
}

// holdMemory takes memory that is neither DuckDB's nor Go's, as the C code of an embedding program does.
func holdMemory(bytes int) (release func()) {
	memory, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		panic(err)
	}
	for i := 0; i < bytes; i += 4096 {
		memory[i] = 1
	}
	return func() {
		if err := unix.Munmap(memory); err != nil {
			panic(err)
		}
	}
}

func measure(c *duckdb.Connection, sql string) (out measured) {
	peak, begun := watchAnonymous(), time.Now()
	if count, long := strings.CutPrefix(sql, "long list "); long {
		n, _ := strconv.Atoi(count)
		sql = "SELECT 1 IN (1" + strings.Repeat(",2", n) + ")"
	}
	if count, admit := strings.CutPrefix(sql, "admit "); admit {
		n, _ := strconv.Atoi(count)
		before, admitted := duckdb.AskedMemory(), 0
		for range n {
			if duckdb.AdmitMemory(1 << 20) {
				admitted++
			}
		}
		out.Rows = []string{strconv.Itoa(admitted), strconv.FormatInt(duckdb.AskedMemory()-before, 10)}
	} else if after, idle := strings.CutPrefix(sql, "then wait "); idle {
		least, _ := strconv.ParseInt(after, 10, 64)
		for end := time.Now().Add(10 * time.Second); anonymous() > least && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond) // until the warden has noticed that nothing runs
		}
		out.Own = anonymous()
	} else if rows, err := askWithText(c, sql); err == nil {
		out.Rows = rows
	} else {
		out.State, out.Message = "?", err.Error()
		var known *duckdb.Error
		if errors.As(err, &known) {
			out.State, out.Hint = known.State, known.HintText
		}
	}
	out.Peak, out.PeakOwn = peak()
	out.Took = time.Since(begun)
	return out
}

// askWithText asks a statement, whose parameter, if it has one, is as long a text as it says behind it.
func askWithText(c *duckdb.Connection, sql string) ([]string, error) {
	sql, length, has := strings.Cut(sql, " with a text of ")
	if !has {
		return tryAsk(c, sql)
	}
	n, _ := strconv.Atoi(length)
	s, err := c.Prepare(sql)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out, _, err := answer(s, strings.Repeat("x", n))
	return out, err
}

func watchAnonymous() (peak func() (all, ofC int64)) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	var all, ofC int64
	go func() {
		defer close(stopped)
		for {
			now, _ := duckdb.ProcessMemory()
			all, ofC = max(all, anonymous()), max(ofC, now)
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() (int64, int64) {
		close(stop)
		<-stopped
		return all, ofC
	}
}

func anonymous() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		panic(err)
	}
	return kib << 10
}

func runMeasured(t *testing.T, statements ...string) []measured {
	text, err := json.Marshal(statements)
	require.NoError(t, err)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), memoryVariable+"="+string(text))
	command.Stderr = os.Stderr
	lines, err := command.Output()
	require.NoError(t, err, "the process ended: %s", lines)
	var out []measured
	for line := range strings.Lines(string(lines)) {
		var m measured
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		out = append(out, m)
	}
	require.NotEmpty(t, out)
	return out
}

// D8: what DuckDB does not count is refused beyond the bound, too: each of these would take gigabytes.
func TestUncountedMemoryIsBounded(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory cannot be distinguished")
	}
	statements := []string{
		"SELECT median(i) FROM range(60000000) r(i)",
		"SELECT quantile_disc(i, [0.1, 0.5]) FROM range(60000000) r(i)",
		"SELECT mode(i) FROM range(30000000) r(i)",
		"SELECT histogram(i) FROM range(30000000) r(i)",
		"SELECT sum(length(repeat('x', 1000000 + i::int))) FROM range(2048) r(i)",
		"SELECT sum(length(repeat('x', 3000 + i::int % 7))) FROM (SELECT unnest(range(20000)) AS i)",
		"SELECT length(range(100000000))",
		"SELECT length(repeat('x', 2000000000))",
		"SELECT length(string_agg('some text ' || i, ',')) FROM range(100000000) r(i)",
		"SELECT length(list(i)) FROM range(100000000) r(i)",
		"WITH RECURSIVE c(i, t) AS (SELECT 1, 'x' UNION ALL SELECT i + 1, t || t FROM c WHERE i < 34) SELECT max(length(t)) FROM c",
	}
	good := map[string]bool{statements[5]: true}
	for i, m := range runMeasured(t, statements...) {
		t.Logf("%s, at most %d MiB, %v: %s: %s", m.State, m.Peak>>20, m.Took.Round(time.Millisecond), statements[i], m.Message)
		if good[statements[i]] {
			require.Empty(t, m.State, m.Message)
		} else {
			require.Equal(t, "53200", m.State, "%s: %s", statements[i], m.Message)
			require.Contains(t, m.Hint, "--memory", m.Message)
		}
		require.Less(t, m.Peak, int64(given+program), statements[i])
		require.LessOrEqual(t, m.PeakOwn, int64(given), "what small blocks take is a part of it, too: %s", statements[i])
	}
}

// What allocators keep of what was freed goes back when nothing runs.
func TestIdleMemoryIsGivenBack(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory cannot be distinguished")
	}
	const idle = 40 << 20
	out := runMeasured(t, "SELECT count(*) FROM (SELECT i FROM range(3000000) r(i) GROUP BY i)", fmt.Sprint("then wait ", idle))
	require.Empty(t, out[0].State, out[0].Message)
	require.Greater(t, out[0].Peak, int64(idle), "the statement used memory")
	require.Less(t, out[1].Own, int64(idle))
}

// So does what malloc keeps at the end of the arenas of threads, which it does not trim when it is asked to.
func TestArenasAreGivenBack(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory cannot be distinguished")
	}
	const churned, idle = 64 << 20, 20 << 20 // a process at rest has half of that
	out := runMeasured(t, "SELECT 1", "churn "+strconv.Itoa(churned), fmt.Sprint("then wait ", idle))
	require.Less(t, out[1].Own, int64(idle))
}

// C++'s operators new and delete are ours for every caller, and take from jemalloc.
func TestOperatorNew(t *testing.T) {
	require.True(t, duckdb.NewIsJemalloc())
	for _, bytes := range []int{0, 1, 8, 100, 4096, 1 << 16, 1<<20 + 1, 64 << 20} {
		require.True(t, testmalloc.OperatorNew(bytes), bytes)
	}
	require.True(t, testmalloc.OperatorNewRefuses())
}

// jemalloc has begun before DuckDB says how it wants it, and has read what we say all the same.
func TestSettingsOfJemalloc(t *testing.T) {
	for name, want := range map[string]int64{
		"opt.narenas": int64(runtime.NumCPU()), "opt.dirty_decay_ms": 1000, "opt.muzzy_decay_ms": 0,
		"opt.oversize_threshold": 256 << 20,
	} {
		require.Equal(t, want, testmalloc.JemallocNumber(name), name)
	}
}

// What is kept for a thread alone goes back when the thread calls for it: allocators' caches, and unused pages of its
// stack.
func TestThreadsGiveBack(t *testing.T) {
	onThread(func() {
		const count, block, stack = 16, 32 << 10, 1 << 20
		duckdb.GiveBackThread()
		assert.False(t, duckdb.GiveBackThread(), "there is nothing")
		before := testmalloc.JemallocNumber("stats.allocated")
		testmalloc.FillCache(count, block)
		testmalloc.UseStack(stack)
		kept := testmalloc.JemallocNumber("stats.allocated") - before
		assert.GreaterOrEqual(t, kept, int64(count*block/2))
		assert.GreaterOrEqual(t, testmalloc.Stack(), int64(stack))
		assert.True(t, duckdb.GiveBackThread())
		assert.Less(t, testmalloc.JemallocNumber("stats.allocated")-before, kept-count*block/4)
		assert.LessOrEqual(t, testmalloc.Stack(), int64(128<<10))
		assert.False(t, duckdb.GiveBackThread(), "there is nothing more")
	})
}

// onThread runs f on a thread that is not the process' first one, whose stack is another thing.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			onThread(f)
			return
		}
		f()
	}()
	<-done
}

// Go's limit is soft: what it has beyond counts as C code's.
func TestGoBeyondItsLimit(t *testing.T) {
	db, err := duckdb.Open(duckdb.Options{Threads: 1, MemoryBytes: 1 << 30, ProcessBytes: 2 << 30})
	require.NoError(t, err)
	defer db.Close()
	before, ofGo := duckdb.ProcessMemory()
	require.Greater(t, ofGo, int64(4<<20))
	duckdb.LimitHeap(1 << 20)
	defer duckdb.LimitHeap(0)
	after, _ := duckdb.ProcessMemory()
	require.InDelta(t, before+ofGo-1<<20, after, 8<<20)
}

// What an embedding program had before the first database does not count.
func TestMemoryOfOthers(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory cannot be distinguished")
	}
	const ballast = 300 << 20
	out := runMeasured(t, fmt.Sprint("ballast ", ballast),
		"SELECT count(*) FROM (SELECT i FROM range(2000000) r(i) GROUP BY i)", "SELECT mode(i) FROM range(30000000) r(i)")
	require.Len(t, out, 2)
	require.Empty(t, out[0].State, out[0].Message)
	require.Greater(t, out[0].Peak, int64(ballast))
	require.Equal(t, "53200", out[1].State)
	require.Less(t, out[1].Peak, int64(ballast+given+program))
}

// D8: near the bound the allocators are asked now and then, and not for every block: they make all threads wait. What
// does not fit is refused whenever they were asked last.
func TestAllocatorsAreAskedSeldom(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory cannot be distinguished")
	}
	const blocks = 200
	out := runMeasured(t, "hold "+strconv.Itoa(90<<20), "admit "+strconv.Itoa(blocks), "hold "+strconv.Itoa(60<<20), "admit 3", "release", "admit 3")
	require.Equal(t, strconv.Itoa(blocks), out[0].Rows[0], "they were given back at once, and fit")
	asked, err := strconv.Atoi(out[0].Rows[1])
	require.NoError(t, err)
	require.Positive(t, asked)
	require.LessOrEqual(t, asked, blocks/4)
	require.Equal(t, "0", out[1].Rows[0], "nothing fits")
	require.Equal(t, "3", out[2].Rows[0])
}
