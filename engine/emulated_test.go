package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/internal/testsuite"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/queries"
)

// SQL over memory that is not coherent: package memregion/emulated plays it. Every test of this package runs on it with CSMSQL_TEST_FABRIC=emulated:7;
// those here always do.

// incoherent are the fabrics: of both classes, with lines of both lengths.
var incoherent = []memregion.FabricKind{"emulated:7", "emulated:8,home-snoop,128"}

// eachIncoherent runs test for each.
func eachIncoherent(t *testing.T, test func(t *testing.T, fabric memregion.FabricKind)) {
	for _, fabric := range incoherent {
		t.Run(string(fabric), func(t *testing.T) { test(t, fabric) })
	}
}

func onFabric(fabric memregion.FabricKind) func(*engine.Config) {
	return func(c *engine.Config) { c.Fabric = fabric }
}

// flushes counts the ranges that were flushed so far, of the steps named; no other step was taken.
func flushes(e *engine.Engine, steps ...coherence.Step) (n []uint64) {
	for _, step := range steps {
		n = append(n, e.Counters().FlushesByStep[step].Load())
	}
	return n
}

// requireCleanedOnce demands that all that was granted was flushed by its writers, each byte once: in pieces, as a whole, or when the tail went back, whose
// first line is flushed with it. acquired is what else was flushed.
func requireCleanedOnce(t *testing.T, e *engine.Engine, acquired uint64) {
	t.Helper()
	count := e.Counters()
	granted := count.GrantedBytes.Load() + acquired
	require.GreaterOrEqual(t, count.FlushedBytes.Load(), granted)
	require.LessOrEqual(t, count.FlushedBytes.Load(), granted+memregion.LineSize*count.Grants.Load())
}

// extentsOf is how many extents a table has in a node's memory: each is acquired once.
func extentsOf(t *testing.T, e *engine.Engine, table string) uint64 {
	n, err := e.ExtentsOf(t.Context(), table)
	require.NoError(t, err)
	require.Positive(t, n)
	return uint64(n)
}

// chunkBytes is what all chunks take of the regions.
func chunkBytes(t *testing.T, s *engine.Session) uint64 {
	n, err := strconv.ParseUint(rows(t, s, "SELECT sum(bytes)::BIGINT FROM csm.chunks")[0], 10, 64)
	require.NoError(t, err)
	return n
}

// A node alone: what it writes is flushed once, what it reads is dropped once, and then never again.
func TestAloneOnIncoherentMemory(t *testing.T) {
	eachIncoherent(t, func(t *testing.T, fabric memregion.FabricKind) {
		e := open(t, onFabric(fabric))
		s := session(t, e)
		exec(t, s, "CREATE TABLE t (a BIGINT, b TEXT)")
		exec(t, s, "INSERT INTO t SELECT i, 'row ' || i FROM range(20000) r(i)")
		require.Equal(t, []uint64{0, 0, 0}, flushes(e, coherence.StepAcquire, coherence.StepPrepare, coherence.StepHomeClean))
		requireCleanedOnce(t, e, 0)
		for range 3 {
			require.Equal(t, []string{"20000|199990000|row 9999"}, rows(t, s, "SELECT count(*), sum(a)::BIGINT, max(b) FROM t"))
		}
		acquired := extentsOf(t, e, "public.t")
		require.Equal(t, []uint64{acquired}, flushes(e, coherence.StepAcquire))
		requireCleanedOnce(t, e, chunkBytes(t, s))
		require.Zero(t, e.Counters().SkippedFlushesByStep[coherence.StepAcquire].Load())
		exec(t, s, "DELETE FROM t WHERE a >= 10")
		require.Equal(t, []string{"10|45|row 9"}, rows(t, s, "SELECT count(*), sum(a)::BIGINT, max(b) FROM t"))
		require.Equal(t, []uint64{acquired}, flushes(e, coherence.StepAcquire), "nothing is written that is deleted")
		exec(t, s, "UPDATE t SET b = 'row' WHERE a = 5")
		require.Equal(t, []string{"10|45|row 9"}, rows(t, s, "SELECT count(*), sum(a)::BIGINT, max(b) FROM t"))
		require.Greater(t, extentsOf(t, e, "public.t"), acquired)
		require.Equal(t, []uint64{extentsOf(t, e, "public.t")}, flushes(e, coherence.StepAcquire))
	})
}

// A node's configuration must name the fabric of its region, and of its cluster.
func TestAnotherFabricIsRefused(t *testing.T) {
	dir, shm := t.TempDir(), shmDirectory(t)
	config := engine.Config{Directory: dir, RegionDirectory: shm, RegionBytes: 16 << 20, MemoryBytes: 256 << 20, Fabric: "emulated:3,128"}
	e, err := engine.Open(context.Background(), config)
	require.NoError(t, err)
	exec(t, session(t, e), "CREATE TABLE t AS SELECT 1 AS a")
	require.NoError(t, e.Close())
	for _, other := range []memregion.FabricKind{memregion.FabricShm, "emulated:3", "emulated:3,home-snoop,128"} {
		config.Fabric = other
		_, err = engine.Open(context.Background(), config)
		require.Equal(t, "55000", sqlState(err), "%v", err)
		require.ErrorContains(t, err, "emulated,128")
	}
	config.Fabric = "emulated:99,128"
	e, err = engine.Open(context.Background(), config)
	require.NoError(t, err, "the adversary may be another one")
	require.Equal(t, []string{"1"}, rows(t, session(t, e), "FROM t"))
	require.NoError(t, e.Close())
	config.Fabric = "emulated:x"
	_, err = engine.Open(context.Background(), config)
	require.Equal(t, "22023", sqlState(err), "%v", err)
}

// TPC-H on three nodes, each with caches of its own, while others write: right answers. With CSMSQL_EFFORT=10 it is scale factor 0.1.
func TestTPCHOnIncoherentMemory(t *testing.T) {
	t.Parallel()
	sf := 0.01
	if testsuite.Effort() >= 10 {
		sf = 0.1
	}
	c := startCluster(&cluster{t: t, change: func(i int, config *engine.Config) {
		config.Fabric, config.RegionBytes = memregion.FabricKind(fmt.Sprintf("emulated:%d", 70+i)), 256<<20
		config.Cluster.SessionTTL = time.Minute // no node is given up here
	}}, 3)
	require.NoError(t, c.nodes[1].LoadTPCH(t.Context(), noderpc.TPCHRequest{ScaleFactor: sf, Placement: "rows"}, nil))
	exec(t, c.session(0), "CREATE TABLE d (k INTEGER, a BIGINT) WITH (placement = 'rows')")

	var writers sync.WaitGroup
	stop := make(chan struct{})
	stopWriters := sync.OnceFunc(func() { close(stop); writers.Wait() })
	defer stopWriters()
	for w := range 2 {
		s, other := c.session(w), c.session(2)
		writers.Go(func() {
			for n := 1; ; n++ {
				if err := writeBeside(s, other, w, n); err != nil {
					t.Errorf("writer %d, round %d: %v", w, n, err)
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i, q := range queries.TPCH() {
		s := c.session(i % 3)
		exec(t, s, "SET csm.distribute = 'always'")
		answer(t, s, sf, q)
	}
	stopWriters()
	var unprepared, ahead uint64
	for i, e := range c.nodes {
		count := e.Counters()
		unprepared, ahead = unprepared+count.Unprepared.Load(), ahead+count.AheadBytes.Load()
		require.Positive(t, count.FlushesByStep[coherence.StepPrepare].Load(), "node %d granted memory to others", i)
		require.Positive(t, count.FlushesByStep[coherence.StepClean].Load(), i)
		require.Positive(t, count.FlushesByStep[coherence.StepAcquire].Load(), i)
		require.Zero(t, count.Mismatches.Load(), "no checksum was needed to be right")
	}
	require.Positive(t, ahead, "bytes of free memory that its lender cleaned ahead")
	if !invariants.Enabled { // where freed memory is poisoned, which is a store: it is chance then who comes first, the lender or a grant
		require.Positive(t, unprepared, "foreign grants of memory that its lender had not stored into")
	}
}

// writeBeside changes a table of its own and looks at it from another node; and writes into one that is being asked, and takes that back.
func writeBeside(s, other *engine.Session, w, n int) error {
	ctx := context.Background()
	for _, sql := range []string{
		fmt.Sprintf("INSERT INTO d SELECT %d, range FROM range(%d)", w, 1000*n),
		fmt.Sprintf("UPDATE d SET a = a + 1 WHERE k = %d", w),
		"BEGIN", "INSERT INTO lineitem SELECT * FROM lineitem LIMIT 2000", "DELETE FROM orders WHERE o_orderkey % 7 = 0", "ROLLBACK",
	} {
		var failed interface{ SQLState() string }
		for {
			_, err := s.Exec(ctx, sql)
			if errors.As(err, &failed) && failed.SQLState() == "40001" { // the other writer was first
				continue
			}
			if err != nil {
				return fmt.Errorf("%s: %w", sql, err)
			}
			break
		}
	}
	total := int64(1000 * n)
	found, err := tryRows(other, fmt.Sprintf("SELECT count(*), sum(a)::BIGINT FROM d WHERE k = %d", w))
	if want := fmt.Sprintf("%d|%d", total, total*(total+1)/2); err == nil && found[0] != want {
		err = fmt.Errorf("node 2 sees %s and not %s", found[0], want)
	}
	if err != nil {
		return err
	}
	for {
		_, err := s.Exec(ctx, fmt.Sprintf("DELETE FROM d WHERE k = %d", w))
		var failed interface{ SQLState() string }
		if !errors.As(err, &failed) || failed.SQLState() != "40001" {
			return err
		}
	}
}

// One chunk, read by ten processes of another machine: it is flushed once where it was written and once where it is read, and not again.
func TestOneFlushForAMachine(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("in race builds processes of one machine have a cache each")
	}
	c := startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) { config.Fabric = "emulated:5,128" }}, 2)
	exec(t, c.session(0), tagged("t", 3, 1000))
	writer, reader := c.nodes[0], c.nodes[1]
	steps := []coherence.Step{coherence.StepClean, coherence.StepPrepare, coherence.StepHomeClean, coherence.StepAcquire, coherence.StepAbort}
	written := flushes(writer, steps...)
	require.Equal(t, []uint64{0, 0, 0}, written[1:4])
	requireCleanedOnce(t, writer, 0)
	const processes = 10
	var children []*child
	for range processes {
		children = append(children, spawn(t, "borrower", borrowerArguments{Target: filepath.Join(c.dir, "n1", "csmsql.sock"), Threads: 1}))
	}
	for _, p := range children {
		p.expect("ready")
	}
	require.Equal(t, written, flushes(writer, steps...))
	require.Equal(t, []uint64{0, 0, 0, 0, 0}, flushes(reader, steps...))
	for range 2 { // a second query flushes nothing
		for _, p := range children {
			p.tell("ask " + strings.ReplaceAll(taggedQuery("t"), "\n", " "))
		}
		for _, p := range children {
			require.Equal(t, "3|1000|true", p.expect("answer"))
		}
		require.Equal(t, written, flushes(writer, steps...))
		require.Equal(t, []uint64{0, 0, 0, extentsOf(t, writer, "public.t"), 0}, flushes(reader, steps...))
	}
	require.Equal(t, []string{"3|1000|true"}, rows(t, c.session(1), taggedQuery("t")), "nor does the node itself")
	require.Equal(t, []uint64{0, 0, 0, extentsOf(t, writer, "public.t"), 0}, flushes(reader, steps...))
	for _, p := range children {
		require.NoError(t, p.process.Process.Kill())
		p.wait()
	}
}

// A process that is attached over the network is of no machine that is known: it has caches of its own, flushes for itself, and leaves none behind.
func TestAttachedFromElsewhere(t *testing.T) {
	shm := shmDirectory(t)
	e := open(t, onFabric("emulated:4,home-snoop"), func(c *engine.Config) { c.RegionDirectory = shm })
	exec(t, session(t, e), tagged("t", 5, 1000))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serving, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- noderpc.NewServer(e.Service(noderpc.Frontend{}), noderpc.ServerOptions{Name: "local", Log: slog.New(slog.DiscardHandler)}).Serve(serving, listener)
	}()
	defer func() { stop(); require.NoError(t, <-ended) }()
	before, err := os.ReadDir(shm)
	require.NoError(t, err)
	borrower, err := engine.AttachWith(t.Context(), listener.Addr().String(), engine.Config{MemoryBytes: 256 << 20})
	require.NoError(t, err)
	s, err := borrower.Session(engine.SessionOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"5|1000|true"}, rows(t, s, taggedQuery("t")))
	require.Equal(t, []uint64{extentsOf(t, e, "public.t")}, flushes(borrower, coherence.StepAcquire))
	require.Equal(t, []uint64{0}, flushes(e, coherence.StepAcquire))
	s.Close()
	require.NoError(t, borrower.Close())
	after, err := os.ReadDir(shm)
	require.NoError(t, err)
	require.Len(t, after, len(before))
}

// One bit of a sealed chunk is flipped in memory: the next reader's error names the chunk and the node, and no row
// leaves.
func TestAFlippedBitOnIncoherentMemory(t *testing.T) {
	t.Parallel()
	eachIncoherent(t, func(t *testing.T, fabric memregion.FabricKind) {
		c := startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) { config.Fabric = fabric }}, 2)
		exec(t, c.session(0), "CREATE TABLE good AS SELECT range AS a FROM range(1000)")
		exec(t, c.session(0), "CREATE TABLE bad AS SELECT range AS a FROM range(1000)")
		at, err := strconv.ParseInt(rows(t, c.session(0), "SELECT position FROM csm.chunks WHERE name = 'bad'")[0], 10, 64)
		require.NoError(t, err)
		file, err := os.OpenFile(c.nodes[0].RegionSpec().Path, os.O_RDWR, 0)
		require.NoError(t, err)
		defer file.Close()
		var b [1]byte
		_, err = file.ReadAt(b[:], at+1000)
		require.NoError(t, err)
		b[0] ^= 4
		_, err = file.WriteAt(b[:], at+1000)
		require.NoError(t, err)
		if strings.Contains(string(fabric), "home-snoop") { // the lender's cache answers, until it has the line no more
			c.nodes[0].Drop(memregion.Range{Offset: at, Length: memregion.PageSize})
		}
		s := c.session(1)
		found, err := tryRows(s, "SELECT a FROM bad")
		require.Equal(t, "XX001", sqlState(err), "%v", err)
		require.ErrorContains(t, err, "chunk 0 of table public.bad on node n0 is damaged")
		require.Empty(t, found)
		require.Equal(t, []string{"1000"}, rows(t, s, "SELECT count(a) FROM good WHERE a >= 0"))
	})
}

// A writer is killed between its last store and its flush. What it stored is in its machine's caches and on its way to memory at any time; the
// memory is not used again before that machine has flushed it: 1,000 times, and no foreign byte. Where the flush is
// reported too early, there are some.
func TestAKilledWriterOnIncoherentMemory(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("in race builds a cache ends with its process")
	}
	const fabric = "emulated:6"
	c := startCluster(&cluster{t: t, change: func(_ int, config *engine.Config) { config.Fabric = fabric; config.LeaseTTL = 400 * time.Millisecond }}, 2)
	s, lender := c.session(0), c.nodes[0]
	exec(t, s, "CREATE TABLE t (a BIGINT) WITH (replicas = 2)")
	exec(t, s, "CREATE TABLE u AS SELECT 1 AS k")
	exec(t, c.session(1), "INSERT INTO u VALUES (2)")
	for victim, flushed := range map[int]bool{2: true, 3: false} {
		name := fmt.Sprintf("n%d", victim)
		dir := filepath.Join(c.dir, name)
		require.NoError(t, os.Mkdir(dir, 0o700))
		p := spawn(t, "member", memberArguments{dir, c.memory, c.etcd.Endpoint(), "INSERT INTO t SELECT range FROM range(8000)", faults.BorrowWritten.String(), 1, fabric})
		p.expect("ready")
		waitUntil(t, "it is there", func() bool { return len(rows(t, s, "SELECT name FROM csm.nodes WHERE state = 'online'")) == 3 })
		p.tell("ask")
		p.expect("dying")
		p.wait()
		waitUntil(t, "its memory is kept away", func() bool { return c.nodes[0].Quarantined()+c.nodes[1].Quarantined() > 0 })
		if c.nodes[1].Quarantined() > 0 {
			lender = c.nodes[1]
		}
		require.Positive(t, lender.Quarantined(), "its process has ended, and its machine has not flushed")
		kept := lender.QuarantinedRange()
		if !flushed {
			lender.LiftAll()
		}
		for len(c.nodes) <= victim {
			c.nodes = append(c.nodes, nil)
		}
		c.nodes[victim] = c.open(victim) // its next process
		require.Equal(t, []string{"2"}, rows(t, c.session(victim), "SELECT count(k) FROM u WHERE k > 0"), "it has the others' memory mapped")
		waitUntil(t, "its memory comes back", func() bool { return c.nodes[0].Quarantined()+c.nodes[1].Quarantined() == 0 })
		var foreign, again int
		for round := range 1000 {
			at, n, err := lender.Reuse(kept.Length, byte(round), c.nodes[victim].Disturb)
			require.NoError(t, err)
			if at.Offset < kept.End() && kept.Offset < at.End() {
				again++
			}
			foreign += n
		}
		require.Greater(t, again, 900, "it was that memory")
		require.Equal(t, flushed, foreign == 0, "%d foreign bytes", foreign)
		c.stop(victim)
	}
}

// Every extent of a chunk is acquired, and not only its first: where they are as short as a page, most of a chunk lies in others.
func TestChunksOfSeveralExtents(t *testing.T) {
	t.Parallel()
	if !apart(t, chunk.ExtentsVariable, "4096") {
		return
	}
	eachIncoherent(t, func(t *testing.T, fabric memregion.FabricKind) {
		c, _ := mutatedCluster(t, fabric, "") // no checksum is compared: a stale line is a wrong answer
		writer, reader := c.session(0), c.session(1)
		for round := range 8 {
			first := 1000 * (round + 1)
			exec(t, writer, fmt.Sprintf(`CREATE OR REPLACE TABLE wide WITH (placement = 'node(n0)') AS
				SELECT range + %d AS a, range + %d AS b, 'row ' || (range + %d) AS c, range + %d AS d FROM range(5000)`, first, first, first, first))
			chunks, err := strconv.Atoi(rows(t, writer, "SELECT count(*) FROM csm.chunks WHERE name = 'wide'")[0])
			require.NoError(t, err)
			require.Greater(t, c.nodes[0].RegionStats().Extents, 2*chunks)
			want := rows(t, writer, "SELECT sum(a), sum(b), sum(c[5:]::BIGINT), sum(d) FROM wide")
			require.Equal(t, want, rows(t, reader, "SELECT sum(a), sum(b), sum(c[5:]::BIGINT), sum(d) FROM wide"), "round %d", round)
		}
	})
}
