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

	"github.com/csmsql/csmsql/engine"
)

// What a process keeps for itself when a statement wants more than it may have. The bound that counts is the kernel's: RssAnon,
// because a region's pages are shared and lie in RssShmem.

const (
	memoryLimit = 256 << 20
	spillLimit  = 192 << 20
	// memorySlack is what DuckDB does not count (its limit is for buffers), what malloc's arenas keep of what was freed (the most: with
	// one arena the peak is 500 MiB, with the usual ones up to 770), what Go keeps, and the program itself.
	memorySlack = 640 << 20
)

// memoryRole runs statements; it tells for each how it ended and how much memory was used at most.
func memoryRole(c *childSide) error {
	var a nodeArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	e, err := engine.Open(context.Background(), engine.Config{
		Directory: a.Directory, RegionDirectory: a.Directory, RegionBytes: 512 << 20, MemoryBytes: memoryLimit, SpillBytes: spillLimit, Threads: 2,
		Log: slog.New(slog.DiscardHandler), Files: engine.FileAccess{Directories: []string{a.Directory}},
	})
	if err != nil {
		return err
	}
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	c.say("ready")
	for {
		sql, ok := c.hear()
		if !ok {
			return nil
		}
		watch := watchMemory()
		if slow, found := strings.CutPrefix(sql, "slowly "); found {
			err = readSlowly(s, slow)
		} else {
			_, err = s.Exec(context.Background(), sql)
		}
		peak := watch()
		if err != nil {
			c.say("error %s %d %s", sqlState(err), peak, strings.ReplaceAll(err.Error(), "\n", " ⏎ "))
			continue
		}
		c.say("done 00000 %d", peak)
	}
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
		t.Skip("the race detector's own memory cannot be told apart")
	}
	dir := shmDirectory(t)
	p := spawn(t, "memory", nodeArguments{Directory: dir})
	p.expect("ready")
	wide := "i, i * 7 AS j, 'a text that is too long for twelve: ' || i AS body"
	// What is spilled is compressed; this hardly is.
	noise := "md5(i::varchar) || md5('a' || i) || md5('b' || i) || md5('c' || i)"
	for _, c := range []struct {
		name, sql string
		states    string // how it may end
	}{
		{"store", "CREATE TABLE t AS SELECT " + wide + " FROM range(3000000) r(i)", "00000"},
		{"sort that spills", "SELECT max(body) FROM (SELECT body, row_number() OVER (ORDER BY body DESC, j) AS n FROM t) WHERE n % 2 = 0", "00000"},
		{"sort of more than may be spilled", "SELECT max(length(b)), max(n) FROM (SELECT row_number() OVER (ORDER BY hash(i)) AS n, b FROM (SELECT i, " + noise + " AS b FROM range(6000000) r(i)))", "53200 53100"},
		{"aggregate", "SELECT count(*) FROM (SELECT body, count(*) AS n FROM t GROUP BY body)", "00000 53200"},
		{"aggregate of too much", "SELECT count(*) FROM (SELECT " + noise + ", count(*) AS n FROM range(6000000) r(i) GROUP BY ALL)", "53200 53100"},
		{"join", "SELECT count(*) FROM t a JOIN t b ON a.body = b.body", "00000 53200"},
		{"list of everything", "SELECT length(list(body)) FROM (SELECT repeat('x' || i, 20) AS body FROM range(6000000) r(i))", "53200"},
		{"insert select", "INSERT INTO t SELECT " + wide + " FROM range(1000000) r(i)", "00000"},
		{"update", "UPDATE t SET j = j + 1 WHERE i % 2 = 0", "00000 53200"},
		{"delete", "DELETE FROM t WHERE i % 10 > 0", "00000"},
		{"region full", "CREATE TABLE u AS SELECT " + wide + " FROM range(100000000) r(i)", "53200"},
		{"copy out", "COPY t TO '" + dir + "/t.csv' (FORMAT csv)", "00000"},
		{"copy in", "COPY t FROM '" + dir + "/t.csv' (FORMAT csv)", "00000"},
		{"slow reader", "slowly SELECT " + wide + ", repeat('y', 100) AS more FROM range(100000000) r(i)", "00000"},
		{"slow reader of a table", "slowly SELECT a.body, b.body FROM t a, t b", "00000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			p.tell(c.sql)
			line, ok := <-p.lines
			require.True(t, ok, "the process died: %s", p.stderr.String())
			fields := strings.Fields(line)
			require.Contains(t, c.states, fields[1], line)
			peak, err := strconv.ParseInt(fields[2], 10, 64)
			require.NoError(t, err)
			t.Logf("%s, at most %d MiB of its own, %v", fields[1], peak>>20, time.Since(start).Round(time.Millisecond))
			require.Less(t, peak, int64(memoryLimit+memorySlack), line)
		})
	}
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
