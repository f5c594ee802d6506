package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/internal/testsuite"
	"github.com/csmsql/csmsql/memregion"
)

// crashes is the parent's side: it knows what was acknowledged and what the tables must be.
type crashes struct {
	t       *testing.T
	a       crashArguments
	history history
	kills   int
	// ready is how long a child took from its start to the end of its checks, on this machine under this load.
	ready time.Duration
}

func newCrashes(t *testing.T, fabric memregion.FabricKind, seed uint64) *crashes {
	t.Logf("seed %d", seed)
	c := &crashes{t: t, a: crashArguments{Directory: t.TempDir(), Fabric: fabric, Seed: seed}, history: history{seed: seed}}
	if fabric == memregion.FabricShm {
		c.a.RegionDirectory = shmDirectory(t)
	}
	return c
}

// shmDirectory is a directory in shared memory that must hold exactly one region when the test ends, and is then removed.
func shmDirectory(t testing.TB) string {
	t.Helper()
	return shmdir.For(t)
}

// moment is when a child is killed, if not by its fault point: so long after its start or, if it is to work, after its checks and so many
// transactions. A time alone would not do: a child that never lives to the end of a long transaction leaves it to the next one.
type moment struct {
	after        time.Duration
	working      bool
	transactions int
}

// never is no moment.
var never = moment{after: -1}

// one runs a child until it dies.
func (c *crashes) one(point faults.Point, hit int, when moment, steps int) (killed bool) {
	c.t.Helper()
	a := c.a
	a.Point, a.Hit, a.Steps = point.String(), hit, steps
	a.Want[0] = c.history.summary()
	next := history{seed: c.history.seed, rows: append([]historyRow(nil), c.history.rows...), done: c.history.done}
	next.advance()
	a.Want[1] = next.summary()
	p := spawn(c.t, "crash", a)
	timer := time.AfterFunc(time.Hour, func() { _ = p.process.Process.Signal(syscall.SIGKILL) })
	timer.Stop() // until its moment is known
	defer timer.Stop()
	if when.after >= 0 && !when.working {
		timer.Reset(when.after)
	}
	start := time.Now()
	for line := range p.lines {
		word, _, _ := strings.Cut(line, " ")
		if word == "checked" && when.working {
			c.ready = (c.ready + time.Since(start)) / 2 // not of those that may die first: only the fast ones would count
		}
		if when.working && (word == "checked" || word == "ack") {
			if when.transactions == 0 {
				timer.Reset(when.after)
			}
			when.transactions--
		}
		c.heard(p, line)
	}
	p.wait()
	if !p.killed() && !p.process.ProcessState.Success() {
		require.FailNow(c.t, "the child failed", "seed %d, point %q hit %d, %+v: %v\n%s", a.Seed, point, hit, when, p.process.ProcessState, p.stderr.String())
	}
	if p.killed() {
		c.kills++
	}
	return p.killed()
}

func (c *crashes) heard(p *child, line string) {
	word, rest, _ := strings.Cut(line, " ")
	var n, load, tpch int64
	_, _ = fmt.Sscan(rest, &n, &load, &tpch) // lines without numbers leave zeros
	switch word {
	case "checked": // what was pending has been decided
		c.committed(n)
		c.a.Pending = false
		c.a.LoadAcked, c.a.LoadBegun = load, load
		c.a.TPCHAcked, c.a.TPCHBegun = tpch, tpch
	case "begin":
		c.a.Pending = true
	case "ack":
		c.committed(n)
		c.a.Pending = false
	case "load-begin":
		c.a.LoadBegun = n
	case "load-ack":
		c.a.LoadAcked = n
	case "tpch-begin":
		c.a.TPCHAcked, c.a.TPCHBegun = 0, 1
	case "tpch-ack":
		c.a.TPCHAcked, c.a.TPCHBegun = n, n
	case "failed":
		require.FailNow(c.t, "the child failed", "seed %d: %s\n%s", c.a.Seed, rest, p.stderr.String())
	}
}

func (c *crashes) committed(n int64) {
	for c.history.done < n {
		c.history.advance()
	}
	c.a.Acked = n
}

// finish looks at what is left when all is over.
func (c *crashes) finish() {
	c.t.Helper()
	c.one(nowhere, 0, never, 1) // a last check, and an orderly end
	e, err := engine.Open(context.Background(), engine.Config{Directory: c.a.Directory, Fabric: c.a.Fabric, RegionDirectory: c.a.RegionDirectory, VerifyAtStart: true, NoCompaction: true})
	require.NoError(c.t, err)
	require.NoError(c.t, e.CheckSpace(context.Background()))
	require.NoError(c.t, e.Close())
	dir := c.a.RegionDirectory
	if dir == "" {
		dir = c.a.Directory
	}
	regions, err := filepath.Glob(filepath.Join(dir, "*.region"))
	require.NoError(c.t, err)
	require.Len(c.t, regions, 1, "one region, whatever happened while it was made")
	require.Less(c.t, c.catalogBytes(), 512<<10, "the catalog grows with what was, not with what is")
}

// catalogBytes are those of the pages that the catalog uses. Its file has more: it doubles when they do not suffice.
func (c *crashes) catalogBytes() (n int) {
	path := filepath.Join(c.a.Directory, "catalog.db")
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{ReadOnly: true, Timeout: time.Minute})
	require.NoError(c.t, err)
	defer db.Close()
	require.NoError(c.t, db.View(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bbolt.Bucket) error {
			of := b.Stats() // with the buckets in it
			n += of.BranchAlloc + of.LeafAlloc
			return nil
		})
	}))
	c.t.Logf("the catalog uses %d bytes", n)
	return n
}

// nowhere is no fault point: the child dies of none.
var nowhere faults.Point

// faultPoints and how often to die there. A point in a loop is visited at its first and at a later turn.
var faultPoints = map[faults.Point][]int{
	faults.RegionRecorded: {1}, faults.RegionLent: {1},
	faults.CommitBegin: {1, 4}, faults.CommitPublished: {1, 3, 5}, faults.CommitStored: {1, 2, 5}, faults.CommitVisible: {1, 4}, faults.CommitDone: {1, 3},
	faults.StoreBatch: {1, 7}, faults.StoreSealed: {1, 6}, faults.RewriteSealed: {1, 3}, faults.LoadBatch: {1, 2}, faults.LoadSealed: {1, 2},
	faults.TPCHTable: {1, 8}, faults.TPCHChunk: {2, 7}, faults.FoldBegin: {1}, faults.FoldWritten: {1, 3}, faults.FoldStep: {1, 2},
}

var bothFabrics = []memregion.FabricKind{memregion.FabricShm, memregion.FabricFile}

// TestKilledAtNamedPoints attacks E4 and K4 where it hurts most.
func TestKilledAtNamedPoints(t *testing.T) {
	t.Parallel()
	for _, fabric := range bothFabrics {
		if raceDetector && fabric == memregion.FabricFile {
			continue // the same code as shm's, but for a system call
		}
		t.Run(string(fabric), func(t *testing.T) {
			t.Parallel()
			c := newCrashes(t, fabric, 7)
			for _, point := range []faults.Point{faults.RegionRecorded, faults.RegionLent} { // only a directory without a region passes them
				require.True(t, c.one(point, 1, never, 1), "%s was never reached", point)
			}
			for point, hits := range faultPoints {
				if strings.HasPrefix(point.String(), "region:") {
					continue
				}
				for _, hit := range hits {
					require.True(t, c.one(point, hit, never, 40), "%s was not reached %d times in 40 transactions", point, hit)
				}
			}
			c.finish()
			t.Logf("%d kills, %d transactions", c.kills, c.a.Acked)
		})
	}
}

// killVariable: how many kills at random moments; unset: as many as fit into killTime, up to killsEnough, both
// times the effort.
const killVariable = "CSMSQL_KILLS"

const (
	killTime    = 8 * time.Second
	killsEnough = 25
	workTime    = 100 * time.Millisecond // a transaction, or a few
)

// TestKilledAtRandomMoments attacks E4 and K4 at moments that have no fault point.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CSMSQL_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	wanted, _ := strconv.Atoi(os.Getenv(killVariable)) // unset is 0
	for _, fabric := range bothFabrics {
		t.Run(string(fabric), func(t *testing.T) {
			t.Parallel()
			c := newCrashes(t, fabric, seed)
			r := rand.New(rand.NewPCG(seed, 1))
			c.one(nowhere, 0, moment{0, true, 1}, 0)
			start, effort := time.Now(), testsuite.Effort()
			enough, most := killsEnough*effort, killTime*time.Duration(effort)
			for c.kills < wanted || wanted == 0 && c.kills < enough && time.Since(start) < most {
				if r.IntN(2) == 0 {
					c.one(nowhere, 0, moment{after: time.Duration(r.Int64N(int64(c.ready)))}, 0) // while it opens and checks
				} else {
					c.one(nowhere, 0, moment{time.Duration(r.Int64N(int64(workTime))), true, r.IntN(4)}, 0)
				}
			}
			c.finish()
			require.Greater(t, c.a.Acked, int64(c.kills/4), "too few transactions for this test to mean anything")
			t.Logf("%d kills, %d transactions, %.0f kills per minute", c.kills, c.a.Acked, float64(c.kills)/time.Since(start).Minutes())
		})
	}
}
