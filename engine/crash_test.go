package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
)

// crashArguments of a child that works until it is killed.
type crashArguments struct {
	Directory, RegionDirectory string
	Fabric                     memregion.FabricKind
	Seed                       uint64
	// Point and Hit: die at the nth time that this fault point is passed; empty: wait to be killed.
	Point string
	Hit   int
	// Acked is the last transaction that the parent knows to be committed; Pending: the next one was begun.
	Acked   int64
	Pending bool
	// Want are the tables at Acked and at Acked + 1.
	Want [2]summary
	// The same for loads, and for sets of TPC-H tables.
	LoadAcked, LoadBegun int64
	TPCHAcked, TPCHBegun int64
	// Steps is how many transactions to do; 0: no end.
	Steps int
}

// crashRole opens the node, checks that it is at a committed version in every respect (E4, K4), says so, and works on.
func crashRole(c *childSide) error {
	var a crashArguments
	if err := c.decode(&a); err != nil {
		return err
	}
	w := &crashWork{c: c, a: a, history: history{seed: a.Seed}}
	e, err := engine.Open(context.Background(), engine.Config{
		Directory: a.Directory, RegionDirectory: a.RegionDirectory, Fabric: a.Fabric, RegionBytes: 512 << 20, MemoryBytes: 512 << 20,
		Threads: 1, Log: slog.New(slog.DiscardHandler), Fault: w.fault,
	})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	w.engine = e
	if w.session, err = e.Session(engine.SessionOptions{}); err != nil {
		return err
	}
	if err := w.check(); err != nil {
		return err
	}
	stop := w.makeNoise()
	err = w.work()
	if err = errors.Join(err, stop()); err != nil {
		return fmt.Errorf("work: %w", err)
	}
	c.say("done")
	w.session.Close()
	return e.Close()
}

type crashWork struct {
	c       *childSide
	a       crashArguments
	history history
	engine  *engine.Engine
	session *engine.Session
	n       int64 // the transaction that the tables are at
	load    int64
	tpch    int64
	hits    atomic.Int64
	quiet   sync.RWMutex // held for writing while memory is counted, for reading by who commits meanwhile
}

// fault dies at the point that was asked for: no deferred function, no flush, as by a power switch.
func (w *crashWork) fault(point string) {
	if point != w.a.Point {
		return
	}
	if w.hits.Add(1) == int64(w.a.Hit) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing after it happens
		select {}
	}
}

func (w *crashWork) has(table string) (bool, error) {
	found, err := tryRows(w.session, "SELECT count(*) FROM information_schema.tables WHERE table_schema || '.' || table_name = '"+table+"'")
	return err == nil && found[0] != "0", err
}

// check is what must hold after every crash.
func (w *crashWork) check() error {
	if err := w.engine.VerifyChecksums(context.Background()); err != nil {
		return err
	}
	if err := errors.Join(w.checkHistory(), w.checkLoad(), w.checkTPCH(), w.checkNoise(), w.checkSpace()); err != nil {
		return err
	}
	w.c.say("checked %d %d %d", w.n, w.load, w.tpch)
	return nil
}

func (w *crashWork) checkHistory() error {
	if there, err := w.has("public.marker"); err != nil || !there {
		if w.a.Acked > 0 {
			return fmt.Errorf("transaction %d was acknowledged and there is no marker: %w", w.a.Acked, err)
		}
		return err
	}
	found, err := tryRows(w.session, "SELECT n FROM marker")
	if err != nil {
		return err
	}
	if w.n, err = strconv.ParseInt(strings.Join(found, ","), 10, 64); err != nil {
		return err
	}
	if w.n != w.a.Acked && !(w.a.Pending && w.n == w.a.Acked+1) {
		return fmt.Errorf("the tables are at transaction %d; %d was acknowledged, the next begun: %v", w.n, w.a.Acked, w.a.Pending)
	}
	for _, table := range []string{"left_rows", "right_rows"} {
		found, err := tryRows(w.session, summaryQuery(table))
		if err != nil {
			return err
		}
		if want := w.a.Want[w.n-w.a.Acked].String() + "|0"; found[0] != want {
			return fmt.Errorf("%s at transaction %d is %s, it must be %s", table, w.n, found[0], want)
		}
	}
	return nil
}

// loadRows is how many rows load n has.
func loadRows(n int64) int64 { return 1000 + n*37%5000 }

func (w *crashWork) checkLoad() error {
	if there, err := w.has("public.loaded"); err != nil || !there {
		if w.a.LoadAcked > 0 {
			return fmt.Errorf("load %d was acknowledged and is gone: %w", w.a.LoadAcked, err)
		}
		return err
	}
	found, err := tryRows(w.session, "SELECT min(n), max(n), count(*), sum(i) FROM loaded")
	if err != nil {
		return err
	}
	text, _, _ := strings.Cut(found[0], "|")
	if w.load, err = strconv.ParseInt(text, 10, 64); err != nil {
		return err
	}
	rows := loadRows(w.load)
	if want := fmt.Sprintf("%d|%d|%d|%d", w.load, w.load, rows, rows*(rows-1)/2); found[0] != want {
		return fmt.Errorf("loaded is %s, it must be %s", found[0], want)
	}
	if w.load < w.a.LoadAcked || w.load > w.a.LoadBegun {
		return fmt.Errorf("load %d is there; %d was acknowledged, %d begun", w.load, w.a.LoadAcked, w.a.LoadBegun)
	}
	return nil
}

// checkTPCH: all eight tables or none.
func (w *crashWork) checkTPCH() error {
	found, err := tryRows(w.session, "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'tpch'")
	if err != nil {
		return err
	}
	switch found[0] {
	case "0":
		if w.a.TPCHAcked > 0 {
			return errors.New("the TPC-H tables were acknowledged and are gone")
		}
		return nil
	case "8":
	default:
		return fmt.Errorf("%s of eight TPC-H tables are there", found[0])
	}
	w.tpch = w.a.TPCHBegun
	found, err = tryRows(w.session, "SELECT (SELECT count(*) FROM tpch.lineitem), (SELECT sum(l_linenumber) FROM tpch.lineitem), (SELECT count(DISTINCT o_orderkey) FROM tpch.orders), (SELECT count(*) FROM tpch.nation)")
	if err != nil {
		return err
	}
	if want := "6005|17990|1500|25"; found[0] != want {
		return fmt.Errorf("TPC-H is %s, it must be %s", found[0], want)
	}
	return nil
}

// recycled is how much a region may hold beyond its extents: what memregion keeps for recycling, and one growth step.
const recycled = 192 << 20

func (w *crashWork) checkSpace() error {
	w.quiet.Lock()
	defer w.quiet.Unlock()
	if err := w.engine.CheckSpace(context.Background()); err != nil {
		return err
	}
	s := w.engine.RegionStats()
	if s.FileAllocated > s.Used+recycled {
		return fmt.Errorf("the region's file occupies %d bytes, %d are used", s.FileAllocated, s.Used)
	}
	return nil
}

// work goes through the history; between its transactions it loads, generates, queries and rolls back.
func (w *crashWork) work() error {
	for done := 0; w.a.Steps == 0 || done < w.a.Steps; done++ {
		if err := w.transaction(); err != nil {
			return err
		}
		var err error
		switch w.n % 6 {
		case 1:
			err = w.loadFile()
		case 2:
			err = w.rollBack()
		case 3:
			_, err = tryRows(w.session, "SELECT l.n, count(*) FROM left_rows l JOIN right_rows r USING (n, i) GROUP BY ALL ORDER BY ALL")
		case 4:
			if w.n%12 == 4 {
				err = w.generate()
			}
		case 5:
			err = w.checkSpace()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeNoise commits on another session all the time, to a table of its own; stop joins it.
func (w *crashWork) makeNoise() (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		s, err := w.engine.Session(engine.SessionOptions{})
		for n := 1; err == nil && ctx.Err() == nil; n++ {
			w.quiet.RLock()
			_, err = s.Exec(context.Background(), fmt.Sprintf("CREATE OR REPLACE TABLE noise AS SELECT %d AS n, i FROM range(%d) r(i)", n, 1+n%3000))
			w.quiet.RUnlock()
		}
		if s != nil {
			s.Close()
		}
		result <- err
	}()
	return func() error { cancel(); return <-result }
}

// checkNoise: the noise of one version, whichever.
func (w *crashWork) checkNoise() error {
	if there, err := w.has("public.noise"); err != nil || !there {
		return err
	}
	found, err := tryRows(w.session, "SELECT count(DISTINCT n) = 1 AND count(*) = 1 + min(n) % 3000 AND max(i) = count(*) - 1 FROM noise")
	if err == nil && found[0] != "true" {
		err = errors.New("the table noise mixes versions")
	}
	return err
}

func (w *crashWork) transaction() error {
	s := w.history.step(w.n + 1)
	statements := s.statements()
	if _, err := w.session.Exec(context.Background(), "BEGIN"); err != nil {
		return err
	}
	for _, text := range statements {
		if _, err := w.session.Exec(context.Background(), text); err != nil {
			return fmt.Errorf("transaction %d: %s: %w", s.n, text, err)
		}
	}
	w.c.say("begin %d", s.n)
	if _, err := w.session.Exec(context.Background(), "COMMIT"); err != nil {
		return err
	}
	w.n = s.n
	w.c.say("ack %d", s.n)
	return nil
}

func (w *crashWork) rollBack() error {
	_, err := w.session.Exec(context.Background(), "BEGIN; CREATE TABLE never AS SELECT * FROM left_rows; INSERT INTO right_rows SELECT * FROM left_rows; DROP TABLE left_rows; ROLLBACK")
	return err
}

// loadFile replaces the table "loaded" by a file whose rows say which load they are of.
func (w *crashWork) loadFile() error {
	n := w.load + 1
	file := filepath.Join(w.a.Directory, "load.csv")
	var text strings.Builder
	text.WriteString("n,i\n")
	for i := range loadRows(n) {
		fmt.Fprintf(&text, "%d,%d\n", n, i)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return err
	}
	w.c.say("load-begin %d", n)
	_, err := w.engine.Load(context.Background(), noderpc.LoadRequest{
		Table: catalog.TableName{Schema: "public", Name: "loaded"}, Files: []string{file},
		Options: noderpc.LoadOptions{Mode: noderpc.LoadReplace},
	}, nil)
	if err != nil {
		return err
	}
	w.load = n
	w.c.say("load-ack %d", n)
	return nil
}

// generate makes the TPC-H tables, or takes them away.
func (w *crashWork) generate() error {
	if w.tpch > 0 {
		w.c.say("tpch-begin 0")
		if _, err := w.session.Exec(context.Background(), "DROP SCHEMA tpch CASCADE"); err != nil {
			return err
		}
		w.tpch = 0
		w.c.say("tpch-ack 0")
		return nil
	}
	w.c.say("tpch-begin 1")
	if err := w.engine.LoadTPCH(context.Background(), noderpc.TPCHRequest{ScaleFactor: 0.001, Schema: "tpch"}, nil); err != nil {
		return err
	}
	w.tpch = 1
	w.c.say("tpch-ack 1")
	return nil
}

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
	dir, err := os.MkdirTemp("/dev/shm", "csmsql-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

// one runs a child until it dies: of the fault point, or, when after is not negative, killed so long after its start.
func (c *crashes) one(point string, hit int, after time.Duration, steps int) (killed bool) {
	c.t.Helper()
	a := c.a
	a.Point, a.Hit, a.Steps = point, hit, steps
	a.Want[0] = c.history.summary()
	next := history{seed: c.history.seed, rows: append([]historyRow(nil), c.history.rows...), done: c.history.done}
	next.advance()
	a.Want[1] = next.summary()
	p := spawn(c.t, "crash", a)
	if after >= 0 {
		timer := time.AfterFunc(after, func() { _ = p.process.Process.Signal(syscall.SIGKILL) })
		defer timer.Stop()
	}
	start := time.Now()
	for line := range p.lines {
		if strings.HasPrefix(line, "checked") {
			c.ready = (c.ready + time.Since(start)) / 2
		}
		c.heard(p, line)
	}
	p.wait()
	if !p.killed() && !p.process.ProcessState.Success() {
		require.FailNow(c.t, "the child failed", "seed %d, point %q hit %d, after %v: %v\n%s", a.Seed, point, hit, after, p.process.ProcessState, p.stderr.String())
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
	c.one("", 0, -1, 1) // a last check, and an orderly end
	e, err := engine.Open(context.Background(), engine.Config{Directory: c.a.Directory, Fabric: c.a.Fabric, RegionDirectory: c.a.RegionDirectory, Verify: true})
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
	info, err := os.Stat(filepath.Join(c.a.Directory, "catalog.db"))
	require.NoError(c.t, err)
	require.Less(c.t, info.Size(), int64(8<<20), "the catalog grows with what was, not with what is")
}

// faultPoints and how often to die there. A point in a loop is visited at its first and at a later turn.
var faultPoints = map[string][]int{
	"region:recorded": {1}, "region:lent": {1},
	catalog.FaultBegin: {1, 4}, catalog.FaultPublished: {1, 3, 5}, catalog.FaultStored: {1, 2, 5}, catalog.FaultVisible: {1, 4}, catalog.FaultDone: {1, 3},
	"store:batch": {1, 7}, "store:sealed": {1, 6}, "rewrite:sealed": {1, 3}, "load:batch": {1, 2}, "load:sealed": {1, 2},
	"tpch:table": {1, 8}, "tpch:chunk": {2, 7},
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
			for _, point := range []string{"region:recorded", "region:lent"} { // only a directory without a region passes them
				require.True(t, c.one(point, 1, -1, 1), "%s was never reached", point)
			}
			for point, hits := range faultPoints {
				if strings.HasPrefix(point, "region:") {
					continue
				}
				for _, hit := range hits {
					require.True(t, c.one(point, hit, -1, 40), "%s was not reached %d times in 40 transactions", point, hit)
				}
			}
			c.finish()
			t.Logf("%d kills, %d transactions", c.kills, c.a.Acked)
		})
	}
}

// killVariable: how many kills at random moments; unset: as many as fit into killTime.
const killVariable = "CSMSQL_KILLS"

const killTime = 15 * time.Second

// TestKilledAtRandomMoments attacks E4 and K4 where nobody thought of.
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
			c.one("", 0, -1, 1)
			start := time.Now()
			for c.kills < wanted || wanted == 0 && time.Since(start) < killTime {
				// About half die while they open and check, the others at work.
				c.one("", 0, time.Duration(r.Int64N(int64(c.ready*5/2))), 0)
			}
			c.finish()
			t.Logf("%d kills, %d transactions, %.0f kills per minute", c.kills, c.a.Acked, float64(c.kills)/time.Since(start).Minutes())
		})
	}
}
