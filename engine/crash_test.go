package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
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
		Threads: 1, NoCompaction: true, Log: slog.New(slog.DiscardHandler), Fault: w.fault,
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
func (w *crashWork) fault(point faults.Point) {
	if point.String() != w.a.Point {
		return
	}
	if w.hits.Add(1) == int64(w.a.Hit) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // nothing after it happens
		select {}
	}
}

func (w *crashWork) has(table string) (bool, error) {
	found, err := tryRows(w.session, "SELECT count(*) FROM csm.tables WHERE schema || '.' || name = '"+table+"'")
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
	found, err := tryRows(w.session, "SELECT count(*) FROM csm.tables WHERE schema = 'tpch'")
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
		case 0, 3: // what is folded by itself would be so while memory is counted
			_, err = w.session.Exec(context.Background(), "VACUUM left_rows, right_rows")
		}
		if err != nil {
			return err
		}
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
