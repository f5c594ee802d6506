package engine_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/compaction"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/internal/faults"
)

// chunksOf counts the chunks of a table.
func chunksOf(t testing.TB, s *engine.Session, name string) int {
	n, err := strconv.Atoi(rows(t, s, "SELECT count(*) FROM csm.chunks WHERE name = '"+name+"'")[0])
	require.NoError(t, err)
	return n
}

// Eight writers insert rows one by one while small chunks are folded, and readers look: each sees rows that belong
// together, in every snapshot, and a transaction that was open before sees what it saw. Afterwards the table has few chunks, and
// the region holds what they take, to the byte.
func TestSmallChunksAreFoldedBesideWriters(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.Disable = aChunkEach })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t(w INTEGER, i INTEGER, s VARCHAR)")
	const writers, each = 8, 150
	exec(t, s, "INSERT INTO t VALUES (0, 0, 'first')")
	old := session(t, e)
	exec(t, old, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	require.Equal(t, []string{"1"}, rows(t, old, "SELECT count(*) FROM t"))
	var wait sync.WaitGroup
	var written [writers]atomic.Int64
	for w := range writers {
		writer := session(t, e)
		wait.Go(func() {
			for i := 1; i <= each; i++ {
				row := fmt.Sprintf("INSERT INTO t VALUES (%d, %d, 'w%d i%d')", w+1, i, w+1, i%7)
				_, err := writer.Exec(context.Background(), row)
				if !assert.NoError(t, err) {
					return
				}
				written[w].Store(int64(i))
			}
		})
	}
	done := make(chan struct{})
	go func() { defer close(done); wait.Wait() }()
	for over := false; !over; {
		select {
		case <-done:
			over = true
		default:
		}
		var before int64
		for w := range written {
			before += written[w].Load()
		}
		// what a writer has written are the numbers from 1 on, each once
		got := rows(t, s, "SELECT bool_and(n = m AND d = n AND x = n * (n + 1) / 2), sum(n) FROM "+
			"(SELECT count(*) AS n, max(i) AS m, count(DISTINCT i) AS d, sum(i) AS x FROM t WHERE w > 0 GROUP BY w)")
		if before > 0 {
			var ok string
			var n int64
			_, err := fmt.Sscanf(got[0], "%4s|%d", &ok, &n)
			require.NoError(t, err, got)
			require.Equal(t, "true", ok)
			require.GreaterOrEqual(t, n, before, "what was acknowledged is there")
		}
		require.Equal(t, []string{"1"}, rows(t, old, "SELECT count(*) FROM t"))
	}
	require.Equal(t, []string{"0|0|first"}, rows(t, old, "SELECT * FROM t"))
	exec(t, old, "COMMIT")
	waitUntil(t, "few chunks", func() bool { return chunksOf(t, s, "t") <= compaction.SpareChunks })
	require.Equal(t, []string{fmt.Sprint(writers*each + 1)}, rows(t, s, "SELECT count(*) FROM t"))
	require.NoError(t, e.CheckSpace(context.Background()))
	folded := rows(t, s, "SELECT bool_and(name = 't' AND chunks_before > chunks_after AND error IS NULL AND NOT asked), "+
		"sum(rows) > 1000 FROM csm.compactions")
	require.Equal(t, []string{"true|true"}, folded)
	require.Positive(t, e.Figures().Compactions.Chunks)
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT count(DISTINCT i) FROM t WHERE i <= 3 AND w = 5"))
}

// aChunkEach has each INSERT leave a chunk, whether it is read or not.
const aChunkEach = "constants"

// Small chunks behind large ones are folded, however many rows their page has on average.
func TestSmallChunksBehindLargeOnesAreFolded(t *testing.T) {
	t.Parallel()
	for _, asked := range []bool{false, true} {
		e := open(t, func(c *engine.Config) { c.NoCompaction, c.Disable = asked, aChunkEach })
		s := session(t, e)
		exec(t, s, "CREATE TABLE t AS SELECT (i % 100)::UTINYINT AS i FROM range(4000000) r(i)")
		large := chunksOf(t, s, "t")
		const small = compaction.SpareChunks + 4
		require.Greater(t, 4000000/(large+small), ingest.RowsPerChunk/2, "or the rows are not those of the bug")
		for range small {
			exec(t, s, "INSERT INTO t VALUES (1)")
		}
		if asked {
			exec(t, s, "VACUUM t")
		}
		waitUntil(t, "few chunks", func() bool { return chunksOf(t, s, "t") <= large+compaction.SpareChunks })
		if asked {
			require.LessOrEqual(t, chunksOf(t, s, "t"), large+1)
		}
		require.Equal(t, []string{fmt.Sprint(4000000 + small)}, rows(t, s, "SELECT count(*) FROM t"))
	}
}

// VACUUM folds at once, also where nothing is folded otherwise, and is no other transaction's conflict: whatever they
// do with the table, they commit, serializable ones too.
func TestVacuumFolds(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.NoCompaction, c.Disable = true, aChunkEach })
	s := session(t, e)
	for what, want := range map[string]string{
		"INSERT INTO t VALUES (100, 'x')":                         "41|880",
		"UPDATE t SET i = i + 1":                                  "40|820",
		"DELETE FROM t WHERE i < 10":                              "30|735",
		"DELETE FROM t WHERE i % 3 = 0":                           "26|507",
		"TRUNCATE t":                                              "0|(null)",
		"ALTER TABLE t ADD CONSTRAINT c CHECK (i >= 0)":           "40|780",
		"ALTER TABLE t RENAME TO u; ALTER TABLE u RENAME TO t":    "40|780",
		"CREATE OR REPLACE TABLE t AS SELECT 1 AS i, 'one' AS s":  "1|1",
		"INSERT INTO t SELECT i + 1000, s FROM t WHERE i % 2 = 0": "60|21160",
	} {
		exec(t, s, "DROP TABLE IF EXISTS t")
		exec(t, s, "CREATE TABLE t(i INTEGER, s VARCHAR)")
		for i := range 40 {
			exec(t, s, fmt.Sprintf("INSERT INTO t VALUES (%d, 's%d')", i, i%3))
		}
		require.Equal(t, 40, chunksOf(t, s, "t"), "nothing is folded in the background")
		writer := session(t, e)
		exec(t, writer, "BEGIN")
		exec(t, writer, what)
		serializable := session(t, e)
		exec(t, serializable, "CREATE TABLE IF NOT EXISTS log(n BIGINT)")
		exec(t, serializable, "BEGIN ISOLATION LEVEL SERIALIZABLE")
		exec(t, serializable, "INSERT INTO log SELECT count(*) FROM t")
		exec(t, s, "VACUUM t")
		require.Equal(t, 1, chunksOf(t, s, "t"))
		require.Equal(t, []string{"40|780"}, rows(t, s, "SELECT count(*), sum(i) FROM t"))
		exec(t, serializable, "COMMIT")
		exec(t, writer, "COMMIT")
		require.Equal(t, []string{want}, rows(t, s, "SELECT count(*), sum(i) FROM t"), what)
	}
	exec(t, s, "VACUUM")
	require.Equal(t, 1, chunksOf(t, s, "log"))
	require.NoError(t, e.CheckSpace(context.Background()))
	require.Equal(t, []string{"true"},
		rows(t, s, "SELECT bool_and(asked AND NOT running AND error IS NULL) FROM csm.compactions"))
}

// VACUUM ends, however many small chunks writers make beside it: it folds what there was when it began. So other tables
// have their turn in the background.
func TestVacuumEndsBesideWriters(t *testing.T) {
	t.Parallel()
	var write func()
	folds := 0
	e := open(t, func(c *engine.Config) {
		c.NoCompaction, c.Disable = true, aChunkEach
		c.Fault = func(p faults.Point) {
			if p == faults.FoldStep {
				folds++
				write()
			}
		}
	})
	s, writer := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t(i INTEGER)")
	write = func() {
		for range 3 {
			exec(t, writer, "INSERT INTO t VALUES (1)")
		}
	}
	write()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := s.Exec(ctx, "VACUUM t")
	require.NoError(t, err)
	require.Equal(t, 1, folds)
	require.Equal(t, 4, chunksOf(t, s, "t"))
}

// Rows of files that can be read again are not folded: what is lost of them is rebuilt as it was. When so many of them
// are deleted that it is worth it, their memory comes back all the same.
func TestChunksWithAnOriginAreNotFolded(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.Disable = aChunkEach })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS i")
	for i := range 3 {
		exec(t, s, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
	}
	exec(t, s, "VACUUM t")
	require.Equal(t, 2, chunksOf(t, s, "t"))
	sources := "SELECT count(*) FROM csm.chunks WHERE name = 't' AND source <> ''"
	require.Equal(t, []string{"1"}, rows(t, s, sources))

	exec(t, s, "CREATE OR REPLACE TABLE t AS SELECT range AS i FROM range(40000)")
	for i := range 3 {
		exec(t, s, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
	}
	taken := func() (bytes int) {
		_, err := fmt.Sscan(rows(t, s, "SELECT bytes FROM csm.tables WHERE name = 't'")[0], &bytes)
		require.NoError(t, err)
		return bytes
	}
	before := taken()
	exec(t, s, "DELETE FROM t WHERE i % 5 = 0")
	exec(t, s, "VACUUM t")
	require.Equal(t, []string{"1"}, rows(t, s, sources), "a fifth is not worth it")
	exec(t, s, "DELETE FROM t WHERE i % 5 = 1")
	exec(t, s, "VACUUM t")
	require.Equal(t, []string{"0"}, rows(t, s, sources))
	require.Less(t, taken(), before*7/10)
	require.Equal(t, []string{"24001"}, rows(t, s, "SELECT count(*) FROM t"))
}

// Several nodes insert rows one by one, of a table that lies anywhere, with replicas, and divided by a hash: every node
// sees all of them, in few chunks where they may be folded, and holds what these take.
func TestSmallChunksOfSeveralNodes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	s := c.session(0)
	exec(t, s, "CREATE TABLE a(n INTEGER, i INTEGER)")
	exec(t, s, "CREATE TABLE b(n INTEGER, i INTEGER) WITH (placement = 'rows', replicas = 2)")
	exec(t, s, "CREATE TABLE h(n INTEGER, i INTEGER) WITH (placement = 'hash(i)')")
	const each = 40
	var wait sync.WaitGroup
	for n := range 3 {
		for _, name := range []string{"a", "b", "h"} {
			writer := c.session(n)
			wait.Go(func() {
				for i := range each {
					row := fmt.Sprintf("INSERT INTO %s VALUES (%d, %d)", name, n, i)
					_, err := writer.Exec(context.Background(), row)
					assert.NoError(t, err)
				}
			})
		}
	}
	wait.Wait()
	for _, name := range []string{"a", "b", "h"} {
		if name != "h" {
			waitUntil(t, name, func() bool { return chunksOf(t, s, name) <= compaction.SpareChunks })
		}
		for n := range 3 {
			require.Equal(t, []string{fmt.Sprint(3*each, "|", 3*each*(each-1)/2, "|", 3*each)},
				rows(t, c.session(n), "SELECT count(*), sum(i), count(DISTINCT (n, i)) FROM "+name))
		}
	}
	c.requireReplicas(s, "b", 2)
	for _, p := range []string{"node(n1)", "rows(n0, n2)"} { // numbers of chunks are others than before
		exec(t, s, "ALTER TABLE a SET PLACEMENT '"+p+"'")
	}
	c.requireSpace()
}
