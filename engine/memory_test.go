package engine_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/engine"
)

// What a process keeps for itself when a statement wants more than it may have. The bound that counts is the kernel's: RssAnon,
// because a region's pages are shared and lie in RssShmem.

const (
	memoryLimit = int64(128 << 20)
	spillLimit  = 128 << 20
	// memorySlack is what Config.MemoryBytes promises: the program and its Go heap, and what DuckDB does not count. 125 MiB were seen.
	memorySlack = 150 << 20
	// memoryCeiling is where the kernel refuses more to a process that is under attack, which ends it: Go's heap and many of DuckDB's
	// allocations may not fail. It counts address space, which allocators keep of memory that they have given back.
	memoryCeiling = 4 << 30
)

type memoryArguments struct {
	nodeArguments
	Ceiling uint64 // of data in address space, 0: none
}

// memoryRole runs statements; it reports for each how it ended and how much memory was used at most.
func memoryRole(c *childSide) error {
	var a memoryArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	if a.Ceiling > 0 {
		if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: a.Ceiling, Max: a.Ceiling}); err != nil {
			return err
		}
	}
	e, err := engine.Open(context.Background(), engine.Config{
		Directory: a.Directory, RegionDirectory: a.Directory, RegionBytes: 256 << 20, MemoryBytes: memoryLimit, SpillBytes: spillLimit, Threads: 2,
		Log: slog.New(slog.DiscardHandler), Files: engine.FileAccess{Directories: []string{a.Directory}},
	})
	if err != nil {
		return err
	}
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	bystander, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	c.say("ready")
	for {
		sql, ok := c.hear()
		if !ok {
			return nil
		}
		watch, asked := watchMemory(), keepAsking(bystander)
		if slow, found := strings.CutPrefix(sql, "slowly "); found {
			err = readSlowly(s, slow)
		} else {
			if long, found := strings.CutPrefix(sql, "at length "); found {
				sql = strings.Replace(long, "(1", "(1"+strings.Repeat(",1", 4<<20), 1)
			}
			_, err = s.Exec(context.Background(), sql)
		}
		peak := watch()
		if failed := asked(); failed != nil {
			return fmt.Errorf("the session beside it: %w", failed)
		}
		if err != nil {
			c.say("error %s %d %s", sqlState(err), peak, strings.ReplaceAll(err.Error(), "\n", " ⏎ "))
			continue
		}
		c.say("done 00000 %d", peak)
	}
}

// keepAsking asks small questions until it is called: a node that refuses memory to one session goes on for the others.
// They may be refused for want of memory, as long as some are answered.
func keepAsking(s *engine.Session) (end func() error) {
	stop, result := make(chan struct{}), make(chan error, 1)
	go func() {
		var refused, answered int
		for {
			_, err := s.Exec(context.Background(), "SELECT sum(i) FROM range(1000) r(i)")
			switch state := sqlState(err); {
			case err == nil:
				answered++
			case state == "53200" || state == "53100":
				refused++
			default:
				result <- err
				return
			}
			select {
			case <-stop:
				if refused > answered {
					err = fmt.Errorf("refused %d times and answered %d times", refused, answered)
				} else {
					err = nil
				}
				result <- err
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() error { close(stop); return <-result }
}

// readSlowly takes one batch, and then nothing for a while: what the node makes ahead meanwhile must be bounded.
func readSlowly(s *engine.Session, sql string) error {
	r, err := s.Query(context.Background(), sql)
	if err != nil {
		return err
	}
	defer r.Release()
	for n := 0; n < 5 && r.Next(); n++ {
		time.Sleep(300 * time.Millisecond) // it is slow
	}
	return r.Err()
}

// watchMemory measures until it is called.
func watchMemory() (peak func() int64) {
	stop, result := make(chan struct{}), make(chan int64, 1)
	go func() {
		most := int64(0)
		for {
			most = max(most, anonymousMemory())
			select {
			case <-stop:
				result <- most
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() int64 { close(stop); return <-result }
}

func anonymousMemory() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kib << 10
}

// TestMemoryIsBounded: more data than memory is spilled or refused, and the process keeps to its limit either way.
func TestMemoryIsBounded(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory cannot be distinguished")
	}
	t.Parallel()
	dir := shmDirectory(t)
	p := spawn(t, "memory", memoryArguments{nodeArguments: nodeArguments{Directory: dir}})
	p.expect("ready")
	wide := "i, i * 7 AS j, 'a text that is too long for twelve: ' || i AS body"
	// What is spilled is compressed; this hardly is.
	noise := "md5(i::varchar) || md5('a' || i) || md5('b' || i) || md5('c' || i)"
	p.bounded(t, []memoryCase{
		{"store", "CREATE TABLE t AS SELECT " + wide + " FROM range(1500000) r(i)", "00000", 0},
		{"sort that spills", "SELECT max(body) FROM (SELECT body, row_number() OVER (ORDER BY body DESC, j) AS n FROM t) WHERE n % 2 = 0", "00000", 0},
		{"sort of more than may be spilled", "SELECT max(length(b)), max(n) FROM (SELECT row_number() OVER (ORDER BY hash(i)) AS n, b FROM (SELECT i, " + noise + " AS b FROM range(3000000) r(i)))", "53200 53100", 0},
		{"aggregate", "SELECT count(*) FROM (SELECT body, count(*) AS n FROM t GROUP BY body)", "00000 53200", 0},
		{"aggregate of too much", "SELECT count(*) FROM (SELECT " + noise + ", count(*) AS n FROM range(3000000) r(i) GROUP BY ALL)", "53200 53100", 0},
		{"join", "SELECT count(*) FROM t a JOIN t b ON a.body = b.body", "00000 53200", 0},
		{"join that spills", "SELECT count(*), max(length(a.body || b.body)) FROM t a JOIN t b ON a.j = b.j + 7", "00000", 0},
		{"list of everything", "SELECT length(list(body)) FROM (SELECT repeat('x' || i, 20) AS body FROM range(3000000) r(i))", "53200", 0},
		{"insert select", "INSERT INTO t SELECT " + wide + " FROM range(500000) r(i)", "00000", 0},
		{"update", "UPDATE t SET j = j + 1 WHERE i % 2 = 0", "00000 53200", 0},
		{"delete", "DELETE FROM t WHERE i % 10 > 0", "00000", 0},
		{"region full", "CREATE TABLE u AS SELECT " + wide + " FROM range(100000000) r(i)", "53200", 0},
		{"copy out", "COPY t TO '" + dir + "/t.csv' (FORMAT csv)", "00000", 0},
		{"copy in", "COPY t FROM '" + dir + "/t.csv' (FORMAT csv)", "00000", 0},
		{"slow reader", "slowly SELECT " + wide + ", repeat('y', 100) AS more FROM range(100000000) r(i)", "00000", 0},
		{"slow reader of a table", "slowly SELECT a.body, b.body FROM t a, t b", "00000", 0},
	})
	var spilled int64
	entries, err := os.ReadDir(dir + "/spill")
	require.NoError(t, err)
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		spilled += info.Size()
	}
	require.Less(t, spilled, int64(64<<20), fmt.Sprint("nothing stays in the spill directory: ", entries))
}

type memoryCase struct {
	name, sql string
	states    string // how it may end
	// longest value in it: strings of the C++ library, which copy it while it is computed, cannot be refused.
	value int64
}

// bounded runs statements in the child, which must live and whose memory must stay within its limit.
func (c *child) bounded(t *testing.T, cases []memoryCase) {
	for _, m := range cases {
		t.Run(m.name, func(t *testing.T) {
			start := time.Now()
			c.tell(m.sql)
			line, ok := <-c.lines
			require.True(t, ok, "the process died: %s", c.stderr.String())
			fields := strings.Fields(line)
			require.Contains(t, m.states, fields[1], line)
			peak, err := strconv.ParseInt(fields[2], 10, 64)
			require.NoError(t, err, line)
			t.Logf("%s, at most %d MiB of its own, %v", fields[1], peak>>20, time.Since(start).Round(time.Millisecond))
			require.Less(t, peak, memoryLimit+memorySlack+m.value, line)
		})
	}
}

// TestMemoryAttacks: what wants many times the memory that there is fails; the process, which would not survive it, and other sessions go on.
// None of this is counted by DuckDB's own limit.
func TestMemoryAttacks(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory cannot be distinguished")
	}
	t.Parallel()
	p := spawn(t, "memory", memoryArguments{nodeArguments{Directory: shmDirectory(t)}, memoryCeiling})
	p.expect("ready")
	p.bounded(t, []memoryCase{
		{"median", "SELECT median(i) FROM range(1000000000) r(i)", "53200", 0},
		{"mode", "SELECT mode(i) FROM range(1000000000) r(i)", "53200", 0},
		{"histogram", "SELECT histogram(i) FROM range(1000000000) r(i)", "53200", 0},
		{"quantiles of groups", "SELECT max(q[1]) FROM (SELECT quantile_disc(i, [0.1, 0.9]) AS q FROM range(1000000000) r(i) GROUP BY i % 100)", "53200", 0},
		{"long strings", "SELECT sum(length(repeat('x', 5000000 + i::int))) FROM range(2048) r(i)", "53200", 0},
		{"longer strings", "SELECT length(repeat('x', 4000000000))", "53200 22003 22023", 0},
		{"long list", "SELECT length(range(1000000000))", "53200", 0},
		{"list of texts", "SELECT length(list_transform(range(100000000), x -> 'a text of some length ' || x))", "53200", 0},
		{"unnested list", "SELECT count(*) FROM (SELECT unnest(range(1000000000)))", "53200", 0},
		{"string_agg", "SELECT length(string_agg('some text ' || i, ',')) FROM range(200000000) r(i)", "53200", 0},
		{"text that doubles", "WITH RECURSIVE c(i, t) AS (SELECT 1, 'x' UNION ALL SELECT i + 1, t || t FROM c WHERE i < 40) SELECT max(length(t)) FROM c", "53200", 0},
		{"regular expression", "SELECT length(regexp_extract_all(repeat('ab', 25000000 + i::int), 'a')) FROM range(1) r(i)", "53200", 50 << 20},
		{"rows for a table", "CREATE TABLE u AS SELECT repeat('x', 1000000 + i::int) AS s FROM range(100000) r(i)", "53200", 0},
		{"constant", "SELECT length(repeat('x', 100000000) || 'a')", "53200 00000", 2 * 100 << 20}, // two single values: gone again, at times, before they are noticed
		{"long statement", "at length SELECT count(*) FROM range(10) r(i) WHERE i IN (1)", "54000", 0},
		{"and then", "SELECT count(*) FROM range(1000000) r(i)", "00000", 0},
	})
}

// The error of a full region has the allocator's words, once.
func TestFullRegionInWords(t *testing.T) {
	t.Parallel()
	s := session(t, open(t, func(c *engine.Config) { c.RegionBytes = 8 << 20 }))
	err := failing(s, "CREATE TABLE t AS SELECT i, i AS j FROM range(2000000) r(i)")
	requireState(t, "53200", err)
	require.Regexp(t, `^allocate [0-9.]+ MiB for "public.t": region is full: `, err.Error())
}
