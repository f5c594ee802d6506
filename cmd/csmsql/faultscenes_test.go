package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/borrowing"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// sceneRows is how many rows a batch has.
const sceneRows = 3000

// replace recreates a table, of one batch.
func (w *worker) replace(at *member, g *group, name, placement string, number int64) int {
	sql := fmt.Sprintf("CREATE OR REPLACE TABLE %s WITH (placement = '%s', replicas = 2) AS %s", name, placement, rowsSQL(number, sceneRows))
	return w.transactAt(at, g, []string{sql}, func(c world) world { return c.with(name, table{number: {rows: sceneRows}}) })
}

func (w *worker) insert(at *member, g *group, name string, number int64) int {
	return w.transactAt(at, g, []string{fmt.Sprintf("INSERT INTO %s %s", name, rowsSQL(number, sceneRows))}, func(c world) world {
		return c.with(name, c[name].with(number, batch{rows: sceneRows}))
	})
}

// scenes are what a cluster does. Each ends when something fails in it.
var scenes = map[string]func(a *attack, at, other *member){
	"write": (*attack).write, "query": (*attack).query, "load": (*attack).load, "wide": (*attack).wide,
	"borrow": (*attack).borrow, "rollback": (*attack).rollback, "disclaim": (*attack).disclaim, "drain": (*attack).drain, "repair": (*attack).repair, "lost": (*attack).lost,
	"fold": (*attack).fold, "divide": (*attack).divide,
}

// sceneOf is the scene that reaches a point.
func sceneOf(p faults.Point) string {
	switch p {
	case faults.RegionRecorded, faults.RegionLent:
		return "lost"
	case faults.RegionAdopted, faults.NodeRegistered, faults.NodeOnline, faults.RepairBegin, faults.RepairStep:
		return "repair"
	case faults.NodeDraining, faults.MoveCopied, faults.MoveStep:
		return "drain"
	case faults.DivideBegun, faults.DivideCopied, faults.DivideStep:
		return "divide"
	case faults.FoldBegin, faults.FoldWritten, faults.FoldStep, faults.OrderWritten:
		return "fold"
	case faults.CommitPagesStored:
		return "wide"
	case faults.LendMoved:
		return "borrow"
	case faults.HoldGivenBack:
		return "rollback"
	case faults.LendDisclaimed, faults.LendDisowned:
		return "disclaim"
	case faults.LoadBatch, faults.LoadSealed, faults.TPCHChunk, faults.TPCHTable:
		return "load"
	case faults.FragmentAsking, faults.FragmentAccepted, faults.FragmentHalfDone, faults.PartitionsSealed, faults.FragmentPublished, faults.FragmentReleased, faults.StageRan:
		return "query"
	}
	return "write"
}

// calm scenes take no node down.
func calm(scene string) bool { return scene != "repair" && scene != "lost" }

func (a *attack) write(at, _ *member) {
	g, w := a.groups[0], a.scene
	name := g.tables[0]
	first, second := a.batches.Add(1), a.batches.Add(1)
	_ = w.replace(at, g, name, "hash(i)", first) == happened &&
		w.insert(at, g, name, second) == happened &&
		w.transactAt(at, g, []string{fmt.Sprintf("UPDATE %s SET v = v + 7 WHERE b = %d", name, first)}, func(c world) world {
			return c.with(name, c[name].with(first, batch{rows: sceneRows, updates: 1}))
		}) == happened &&
		w.transactAt(at, g, []string{fmt.Sprintf("DELETE FROM %s WHERE b = %d", name, second)}, func(c world) world { return c.with(name, c[name].without(second)) }) == happened &&
		w.replace(at, g, g.tables[1], "rows", a.batches.Add(1)) == happened
}

// fold has the chunks of several inserts made one, with replicas, and without the rows of one of them.
func (a *attack) fold(at, _ *member) {
	g, w := a.groups[0], a.scene
	name := g.tables[1]
	if w.replace(at, g, name, "rows", a.batches.Add(1)) != happened {
		return
	}
	gone := a.batches.Add(1)
	for _, number := range []int64{gone, a.batches.Add(1), a.batches.Add(1)} {
		if w.insert(at, g, name, number) != happened {
			return
		}
	}
	without := func(c world) world { return c.with(name, c[name].without(gone)) }
	if w.transactAt(at, g, []string{fmt.Sprintf("DELETE FROM %s WHERE b = %d", name, gone)}, without) != happened {
		return
	}
	same := func(c world) world { return c }
	if w.transactAt(at, g, []string{"VACUUM " + name}, same) != happened {
		return
	}
	keyed := name + "_keyed" // whose rows are sorted by the key, in each replica
	for _, sql := range []string{
		"CREATE OR REPLACE TABLE " + keyed + " (k BIGINT PRIMARY KEY) WITH (placement = 'rows', replicas = 2)",
		"INSERT INTO " + keyed + " SELECT (i * 7919) % 30011 FROM range(30011) r(i)", "VACUUM " + keyed,
		"DROP TABLE " + keyed,
	} {
		if w.transactAt(at, g, []string{sql}, same) != happened {
			return
		}
	}
}

// divide gives a table that lies anywhere a hash, and then, with more rows, another one.
func (a *attack) divide(at, other *member) {
	g, w := a.groups[0], a.scene
	name := g.tables[1]
	same := func(c world) world { return c }
	_ = w.replace(at, g, name, "rows", a.batches.Add(1)) == happened &&
		w.insert(other, g, name, a.batches.Add(1)) == happened &&
		w.transactAt(at, g, []string{"ALTER TABLE " + name + " SET PLACEMENT 'hash(i)'"}, same) == happened &&
		w.insert(other, g, name, a.batches.Add(1)) == happened &&
		w.transactAt(at, g, []string{"ALTER TABLE " + name + " SET PLACEMENT 'hash(v)'"}, same) == happened
}

func (a *attack) query(at, _ *member) {
	for _, q := range questions {
		if !a.scene.question(a.groups[0], at, q) {
			return
		}
	}
}

// load takes rows from a file, and generates TPC-H.
func (a *attack) load(at, _ *member) {
	g, number := a.groups[0], a.batches.Add(1)
	file := filepath.Join(a.dir, fmt.Sprintf("%d.csv", number))
	var text bytes.Buffer
	fmt.Fprintln(&text, "b,i,v,s")
	for i := range int64(sceneRows) {
		fmt.Fprintf(&text, "%d,%d,%d,%s\n", number, i, batch{}.value(number, i), label(i))
	}
	require.NoError(a.t, os.WriteFile(file, text.Bytes(), 0o600))
	name := g.tables[0]
	appended := func(c world) world { return c.with(name, c[name].with(number, batch{rows: sceneRows})) }
	if a.scene.commit(at, g, "load "+file, appended, func() (bool, error) {
		return a.call(at, func(ctx context.Context, c *noderpc.Client) error {
			_, err := c.Load(ctx, noderpc.LoadRequest{
				Table: catalog.TableName{Schema: "public", Name: name}, Files: []string{file}, Options: noderpc.LoadOptions{Mode: noderpc.LoadAppend},
			}, nil)
			return err
		})
	}) != happened {
		return
	}
	a.make(at, object{"SELECT count(*) FROM information_schema.tables WHERE table_schema = 'tpch'", "8", "DROP SCHEMA IF EXISTS tpch CASCADE"}, func() (bool, error) {
		return a.call(at, func(ctx context.Context, c *noderpc.Client) error {
			return c.LoadTPCH(ctx, noderpc.TPCHRequest{ScaleFactor: 0.001, Schema: "tpch", Placement: "rows", Replicas: 2}, nil)
		})
	})
}

// wide makes a table whose descriptors are too much for one transaction of etcd, also when they are compressed.
func (a *attack) wide(at, _ *member) {
	const columns = 3000
	var sql strings.Builder
	sql.WriteString("CREATE TABLE wide WITH (placement = 'hash(c0)', replicas = 2) AS SELECT range AS c0")
	for i := range columns {
		fmt.Fprintf(&sql, ", md5('%d-' || range) || md5(range || '-%d') AS c%d", i, i, i+1)
	}
	sql.WriteString(" FROM range(30)")
	a.make(at, object{"SELECT count(*) FROM information_schema.columns WHERE table_name = 'wide'", strconv.Itoa(columns + 1), "DROP TABLE IF EXISTS wide"}, func() (bool, error) {
		_, answered, err := a.scene.ask(at, false, sql.String())
		return answered, err
	})
}

// borrow builds something with an Arrow allocator in a node's memory, as programs can, and gives it back.
func (a *attack) borrow(at, _ *member) {
	a.borrowed(at, func(_ context.Context, _ *noderpc.Client, space *borrowing.Space) error {
		grant, err := space.Grant("borrowed", memregion.PageSize)
		if err != nil {
			return err
		}
		err = grant.(chunk.Growing).Grow(4*memregion.PageSize, memregion.PageSize)
		return errors.Join(err, grant.Abort())
	})
}

// disclaim borrows, and says that it does not hold what it was granted, has sealed and has published, like a program
// that has lost its records.
func (a *attack) disclaim(at, _ *member) {
	a.borrowed(at, func(ctx context.Context, c *noderpc.Client, space *borrowing.Space) error {
		request := noderpc.HeldRequest{Region: space.Region()}
		defer func() { // the next process of the lender is informed, if there is one
			for _, g := range request.Disclaimed {
				space.Owe(catalog.ExtentID{Region: space.Region(), Generation: g})
			}
		}()
		for _, stage := range []string{"granted", "sealed", "published"} {
			grant, err := space.Grant(stage, memregion.PageSize)
			if err != nil {
				return err
			}
			id := catalog.ExtentID{Region: space.Region(), Generation: grant.Generation()}
			request.Disclaimed = append(request.Disclaimed, id.Generation)
			clear(grant.Bytes())
			seal := coherence.Seal{Length: memregion.PageSize, Checksum: xxh3.Hash(grant.Bytes())}
			if err := grant.Clean(); err != nil { // there is no window on it any more
				return err
			}
			if stage != "granted" {
				err = grant.Seal(seal)
			}
			if stage == "published" && err == nil {
				err = c.Publish(ctx, false, id)
			}
			if err != nil {
				return err
			}
		}
		_, err := c.Held(ctx, request)
		for unsettled := true; err == nil && unsettled && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			// The lender's janitor takes back what was published. Paying the debts before would take that work from it.
			var status noderpc.Status
			status, err = c.Status(ctx)
			unsettled = slices.ContainsFunc(status.Holders, func(h noderpc.HolderStatus) bool {
				return strings.HasSuffix(h.Holder, "published, and in no version yet")
			})
		}
		return err
	})
}

// borrowed does something with memory of a node that this process borrows.
func (a *attack) borrowed(at *member, do func(context.Context, *noderpc.Client, *borrowing.Space) error) {
	since := a.trouble()
	lent, _, err := a.scene.ask(at, false, "SELECT region FROM csm.regions WHERE available AND node = '"+at.name+"'")
	if err != nil {
		a.failed(at, since, "which region?", err)
		return
	}
	_, err = a.call(at, func(ctx context.Context, c *noderpc.Client) error {
		description, err := c.Describe(ctx)
		if err != nil {
			return err
		}
		own := slices.IndexFunc(description.Regions, func(r noderpc.Region) bool { return fmt.Sprint(r.ID) == lent[0] })
		spec := description.Regions[own].Spec
		options, domain := borrowing.Options{}, memregion.TemporaryDomain(spec.Fabric, "scene", a.seed)
		if domain != nil { // another machine than the node's
			options.Lines, options.Domain = domain.Lines(), "scene"
		}
		view, err := memregion.BorrowIn(domain, false, spec)
		if err != nil {
			return err
		}
		defer view.Close() // nothing is mapped in it
		space := borrowing.NewSpace(c, view, options).WithContext(ctx)
		a.debts = func(ctx context.Context) error { // of a lender that has restarted, or did not answer
			again, err := noderpc.Dial(ctx, at.socket(), noderpc.WithIncarnation(a.borrows))
			if err != nil {
				return err
			}
			defer again.Close() // its call has ended
			return space.SettleWith(ctx, again)
		}
		return do(ctx, c, space)
	})
	if err != nil {
		a.failed(at, since, "borrow memory", err)
	}
}

// rollback writes into every node's memory, and gives it back.
func (a *attack) rollback(at, _ *member) {
	since := a.trouble()
	var statements []string
	for _, name := range a.groups[0].tables {
		statements = append(statements, fmt.Sprintf("INSERT INTO %s %s", name, rowsSQL(a.batches.Add(1), sceneRows)))
	}
	if _, _, err := a.scene.ask(at, false, append(append([]string{"BEGIN"}, statements...), "ROLLBACK")...); err != nil {
		a.failed(at, since, "roll back", err)
	}
}

// drain empties a node, and lets it take rows again.
func (a *attack) drain(at, other *member) {
	since := a.trouble()
	_, err := a.call(at, func(ctx context.Context, c *noderpc.Client) error {
		if err := c.DrainNode(ctx, other.name, func(noderpc.Progress) {}); err != nil {
			return err
		}
		return c.UndrainNode(ctx, other.name)
	})
	if err != nil {
		a.failed(at, since, "drain "+other.name, err)
		return
	}
	_ = a.scene.replace(at, a.groups[0], a.groups[0].tables[0], "hash(i)", a.batches.Add(1)) == happened && // it has a list without the node
		a.scene.replace(at, a.groups[0], a.groups[0].tables[1], "rows", a.batches.Add(1)) == happened
}

const missingReplicas = "SELECT coalesce(sum(incomplete), 0)::BIGINT FROM csm.tables WHERE schema = 'public'"

// repair stops a node, and starts it again when its replicas were rebuilt.
func (a *attack) repair(at, other *member) {
	a.down.Store(other)
	defer a.down.Store(nil)
	if err := other.terminate(); err != nil && !a.isTaken() {
		a.wrong(err)
	}
	a.until(at, "SELECT count(*) FROM csm.nodes", "2")
	a.until(at, missingReplicas, "0")
	a.start(at, other, "epoch")
}

// lost has a node lose its memory.
func (a *attack) lost(at, other *member) {
	a.down.Store(other)
	defer a.down.Store(nil)
	rows, _, err := a.scene.ask(at, false, "SELECT started, path FROM csm.nodes JOIN csm.regions ON name = node WHERE available AND name = '"+other.name+"'")
	if err != nil {
		a.failed(at, a.trouble(), "where is the region?", err)
		return
	}
	other.kill()
	var started string
	for _, row := range rows {
		var path string
		started, path, _ = strings.Cut(row, "|")
		if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) { // that of an earlier loss is gone
			require.NoError(a.t, err)
		}
	}
	a.start(at, other, started)
}

// start waits for what begins later than a moment.
func (a *attack) start(at, m *member, after string) {
	if !m.alive() {
		a.wrong(m.start())
	}
	m.awaited.Store(true) // from here on something may happen to it
	a.until(at, fmt.Sprintf("SELECT count(*) FROM csm.nodes WHERE state = 'online' AND name = '%s' AND started > '%s'", m.name, after), "1")
	a.until(at, missingReplicas, "0")
}
