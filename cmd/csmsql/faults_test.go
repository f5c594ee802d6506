package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/borrowing"
	csmsql "github.com/csmsql/csmsql/cmd/csmsql"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// triggerVariable makes the program obey a faults.Trigger in a directory.
const triggerVariable = "CSMSQL_TEST_TRIGGER"

func obeyTrigger() error {
	directory := os.Getenv(triggerVariable)
	if directory == "" {
		return nil
	}
	trigger, err := faults.NewTrigger(directory)
	if err == nil {
		csmsql.SetFault(trigger.Hook(func(err error) {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}))
	}
	return err
}

// attack is a cluster of processes in which something happens to the first one that reaches a fault point:
//
//	scene (statements at one node, in order) ──► point reached ──► kill │ pause, until the others have given the node up │ delay
//	                                                                      ╰─► they answer and write without it meanwhile
//	then all are healed: what was acknowledged is there, nothing else, and no memory is held for nothing
//
// It is a soak whose load and whose mishaps are chosen, and judged in the same way.
type attack struct {
	*soak
	trigger *faults.Trigger
	r       *rand.Rand
	dir     string
	scene   *worker // changes group 0
	aside   *worker // changes group 1, while a process is stopped
	batches atomic.Int64
	down    atomic.Pointer[member] // that the scene has taken down
	found   []object               // by the scene
	borrows noderpc.Incarnation    // that borrow's calls are of
	debts   func(context.Context) error
}

// faultsVariable is “all”, or some of what TestFaults does: “point/action,…”. Unset: all scenes, and a sample by chance.
const faultsVariable = "CSMSQL_FAULTS"

// sampleSize is how many points TestFaults takes by chance.
const sampleSize = 2

// TestFaults attacks the promises of docs/cluster.md at every point that internal/faults names (F2), one at a time.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	t.Parallel()
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	if text := os.Getenv("CSMSQL_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("CSMSQL_SEED=%d", seed)
	a := newAttack(t, seed)
	a.everyScene()
	for _, o := range orders(t, a.r, os.Getenv(faultsVariable)) {
		t.Run(fmt.Sprintf("%v/%s", o.Point, o.Action), func(sub *testing.T) {
			if a.isWrong() { // the others go on with another cluster
				a.members.end()
				a = newAttack(t, seed)
			}
			a.t = sub
			a.attack(o)
		})
	}
	if a.t = t; !t.Failed() {
		a.end()
	}
}

// orders are what the variable says.
func orders(t *testing.T, r *rand.Rand, text string) (orders []faults.Order) {
	for _, p := range faults.All() {
		for _, action := range faults.Actions() {
			orders = append(orders, faults.Order{Point: p, Action: action, Delay: delayed})
		}
	}
	switch text {
	case "":
		r.Shuffle(len(orders), func(i, k int) { orders[i], orders[k] = orders[k], orders[i] })
		orders = orders[:sampleSize]
	case "all":
	default:
		wanted := strings.Split(text, ",")
		orders = slices.DeleteFunc(orders, func(o faults.Order) bool {
			return !slices.Contains(wanted, fmt.Sprintf("%v/%s", o.Point, o.Action)) && !slices.Contains(wanted, o.Point.String())
		})
		require.NotEmpty(t, orders, "%s=%s names no point and action", faultsVariable, text)
	}
	return orders
}

// delayed is less than anybody's patience: nothing may fail of it.
const delayed = 300 * time.Millisecond

// repairAfter of the nodes: soon, because the test waits for it.
const repairAfter = 300 * time.Millisecond

func newAttack(t *testing.T, seed uint64) *attack {
	s := &soak{t: t, seed: seed, ended: make(chan struct{}), states: map[string]int{}, begun: time.Now()}
	directory := t.TempDir()
	trigger, err := faults.NewTrigger(directory)
	require.NoError(t, err)
	s.members = newMembers(t, 3, false, func(what string) { s.wrong(errors.New(what)) },
		[]string{"--repair-after", repairAfter.String()}, []string{triggerVariable + "=" + directory})
	s.groups = []*group{newGroup("scene"), newGroup("aside")}
	a := &attack{soak: s, trigger: trigger, r: rand.New(rand.NewPCG(seed, 2)), dir: t.TempDir(), scene: s.worker(1), aside: s.worker(2), borrows: noderpc.NewIncarnation()}
	for _, w := range []*worker{a.scene, a.aside} {
		w.split, w.more = []string{"always"}, []string{"SET csm.shuffle = always"}
	}
	require.NoError(t, s.members.heal())
	for i, g := range s.groups {
		for k, name := range g.tables {
			placement := []string{"hash(i)", "rows"}[(i+k)%2]
			require.Equal(t, happened, a.scene.replace(s.members.nodes[0], g, name, placement, a.batches.Add(1)))
		}
	}
	s.require()
	return a
}

// sceneRows is how many rows a batch has.
const sceneRows = 3000

// replace makes a table anew, of one batch.
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
	"borrow": (*attack).borrow, "drain": (*attack).drain, "repair": (*attack).repair, "lost": (*attack).lost,
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
	case faults.CommitPagesStored:
		return "wide"
	case faults.LendMoved:
		return "borrow"
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

// wide makes a table whose descriptors are too much for one transaction of etcd.
func (a *attack) wide(at, _ *member) {
	const columns = 1500
	var sql strings.Builder
	sql.WriteString("CREATE TABLE wide WITH (placement = 'hash(c0)', replicas = 2) AS SELECT range AS c0")
	for i := range columns {
		fmt.Fprintf(&sql, ", repeat('w', 60) || (range + %d) AS c%d", i, i+1)
	}
	sql.WriteString(" FROM range(30)")
	a.make(at, object{"SELECT count(*) FROM information_schema.columns WHERE table_name = 'wide'", strconv.Itoa(columns + 1), "DROP TABLE IF EXISTS wide"}, func() (bool, error) {
		_, answered, err := a.scene.ask(at, false, sql.String())
		return answered, err
	})
}

// borrow builds something with an Arrow allocator in a node's memory, as programs can, and gives it back.
func (a *attack) borrow(at, _ *member) {
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
		view, err := memregion.Borrow(description.Regions[own].Spec)
		if err != nil {
			return err
		}
		defer view.Close() // nothing is mapped in it
		space := borrowing.NewSpace(c, view, borrowing.Options{}).WithContext(ctx)
		a.debts = func(ctx context.Context) error { // of a lender that has begun anew, or did not answer
			again, err := noderpc.Dial(ctx, at.socket(), noderpc.WithIncarnation(a.borrows))
			if err != nil {
				return err
			}
			defer again.Close() // its call has ended
			return space.SettleWith(ctx, again)
		}
		grant, err := space.Grant("borrowed", memregion.PageSize)
		if err != nil {
			return err
		}
		err = grant.(chunk.Growing).Grow(4*memregion.PageSize, memregion.PageSize)
		return errors.Join(err, grant.Abort())
	})
	if err != nil {
		a.failed(at, since, "borrow memory", err)
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

// repair has a node go, and come back when what it had was made anew.
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

// isTaken tells whether it has happened.
func (a *attack) isTaken() bool {
	pid, err := a.trigger.Taken()
	require.NoError(a.t, err)
	return pid != 0
}

// until waits for an answer, in vain only if somebody is down.
func (a *attack) until(at *member, sql, want string) {
	var got []string
	var err error
	for end := time.Now().Add(statementMax); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got, _, err = a.scene.ask(at, false, sql); err == nil && got[0] == want {
			return
		}
		if pid, _ := a.trigger.Taken(); pid != 0 {
			if victim := a.memberOf(pid); victim != nil && !victim.isStopped() && !victim.alive() {
				return // it waits for one that is dead
			}
		}
	}
	a.wrong(fmt.Errorf("%s: waited for %s of %s and got %v (%w)", at.name, want, sql, got, err))
}

func (a *attack) memberOf(pid int) *member {
	i := slices.IndexFunc(a.members.nodes, func(m *member) bool { return m.pid.Load() == int64(pid) })
	if i < 0 {
		return nil
	}
	return a.members.nodes[i]
}

// call asks a node by its RPC. answered as in worker.ask.
func (a *attack) call(at *member, do func(context.Context, *noderpc.Client) error) (answered bool, err error) {
	start, stopped := time.Now(), at.stoppedFor()
	ctx, cancel := context.WithTimeout(context.Background(), 3*statementMax)
	defer cancel()
	client, err := noderpc.Dial(ctx, at.socket(), noderpc.WithIncarnation(a.borrows))
	if err != nil {
		return true, err // nothing was asked
	}
	defer client.Close() // its calls have ended
	err = do(ctx, client)
	if took := time.Since(start) - (at.stoppedFor() - stopped); took > statementMax {
		a.wrong(fmt.Errorf("a call took %v of %s's time (%w)", took, at.name, err))
	}
	var told *noderpc.Error
	return err == nil || errors.As(err, &told) && told.Answered, err
}

// object is something beside the model's tables, that is there whole or not at all.
type object struct{ count, whole, drop string }

// make makes one.
func (a *attack) make(at *member, o object, do func() (answered bool, err error)) {
	since := a.trouble()
	_, err := do()
	if err != nil {
		a.failed(at, since, o.count, err)
		o.whole += " or 0" // nobody knows
	}
	a.found = append(a.found, o)
}

// everyScene plays all scenes undisturbed, and finds that they reach every point (F2).
func (a *attack) everyScene() {
	began := time.Now()
	var took []string
	for _, name := range []string{"write", "query", "load", "wide", "borrow", "drain", "repair", "lost"} {
		start := time.Now()
		a.play(name)
		a.settle(name)
		took = append(took, fmt.Sprintf("%s %.1f s", name, time.Since(start).Seconds()))
	}
	reached, err := a.trigger.Reached()
	require.NoError(a.t, err)
	var never []string
	for _, p := range faults.All() {
		if !slices.Contains(reached, p.String()) {
			never = append(never, p.String())
		}
	}
	require.Empty(a.t, never, "nobody reaches these points")
	a.t.Logf("all scenes took %v: %s", time.Since(began), strings.Join(took, ", "))
}

// play plays a scene at nodes by chance.
func (a *attack) play(name string) {
	order := a.r.Perm(len(a.members.nodes))
	at, other := a.members.nodes[order[0]], a.members.nodes[order[1]]
	if !calm(name) {
		a.troubles.Add(1)
		defer a.calmed()
	}
	for _, w := range []*worker{a.scene, a.aside} { // connections of before may have ended unnoticed
		w.close()
		clear(w.conns)
	}
	scenes[name](a, at, other)
}

func (a *attack) calmed() {
	if a.trouble()%2 == 1 {
		a.calmSince.Store(time.Now().UnixNano())
		a.troubles.Add(1)
	}
}

// attack plays the scene of a point with something happening there.
func (a *attack) attack(o faults.Order) {
	what := fmt.Sprintf("%v/%s", o.Point, o.Action)
	for _, m := range a.members.nodes {
		m.awaited.Store(true)
	}
	if o.Action != faults.Delay {
		a.troubles.Add(1)
	}
	require.NoError(a.t, a.trigger.Arm(o))
	over := make(chan struct{})
	var watching sync.WaitGroup
	if o.Action == faults.Pause {
		watching.Go(func() { a.watch(over) })
	}
	a.play(sceneOf(o.Point))
	for end := time.Now().Add(backgroundMax); !a.isTaken() && time.Now().Before(end); { // some points are reached behind everybody's back
		time.Sleep(time.Millisecond)
	}
	close(over)
	watching.Wait()
	pid, err := a.trigger.Taken()
	require.NoError(a.t, err)
	if pid == 0 {
		a.wrong(fmt.Errorf("%s: the scene “%s” does not reach the point", what, sceneOf(o.Point)))
	} else if o.Action == faults.Kill {
		<-a.memberOf(pid).ended // it is dying
	}
	a.settle(what)
}

// backgroundMax is how long a point may be reached after the scene that leads to it.
const backgroundMax = 3 * time.Second

// watch waits for the process that stops itself, sees that the others go on without it, and lets it go on.
func (a *attack) watch(over <-chan struct{}) {
	var victim *member
	for last := false; victim == nil; {
		pid, err := a.trigger.Taken()
		a.wrong(err)
		if pid != 0 && isStopped(pid) {
			victim = a.memberOf(pid)
			continue
		}
		if pid == 0 && last {
			return
		}
		select {
		case <-over:
			last = true
		case <-time.After(time.Millisecond):
		}
	}
	victim.pause(true)
	a.without(victim)
	victim.goOn()
}

// without has the cluster find out that a node is gone, and go on.
func (a *attack) without(victim *member) {
	down := a.down.Load()
	others := slices.DeleteFunc(slices.Clone(a.members.nodes), func(m *member) bool { return m == victim || m == down })
	for _, m := range others {
		var got []string
		var err error
		for end := time.Now().Add(goneMax); ; time.Sleep(20 * time.Millisecond) {
			if got, _, err = a.aside.ask(m, false, "SELECT count(*) FROM csm.nodes WHERE name = '"+victim.name+"'"); err == nil && got[0] == "0" {
				break
			}
			if time.Now().After(end) {
				a.wrong(fmt.Errorf("%s does not see that %s is gone: %v (%w)", m.name, victim.name, got, err))
				return
			}
		}
	}
	if len(others) < 2 || down != nil {
		return // two replicas are not enough for that
	}
	online, _, err := a.aside.ask(others[0], false, "SELECT count(*) FROM csm.nodes WHERE state = 'online'")
	a.wrong(err)
	drained := err != nil || online[0] != "2" // so that one is left that takes rows
	for _, m := range others {
		for _, g := range a.groups {
			if !a.aside.question(g, m, everything) {
				a.wrong(fmt.Errorf("%s does not answer without %s, though every chunk has another replica", m.name, victim.name))
			}
		}
		for _, name := range a.groups[1].tables {
			if !drained && !a.writes(m, name) {
				a.wrong(fmt.Errorf("%s does not write without %s", m.name, victim.name))
			}
		}
	}
}

// writes tells whether a node can change a table: it may have to repeat it, because replicas of the table are made meanwhile.
func (a *attack) writes(at *member, name string) bool {
	for range repeats {
		if a.aside.replace(at, a.groups[1], name, "rows", a.batches.Add(1)) == happened {
			return true
		}
	}
	return false
}

const repeats = 5

// goneMax is how long it may take until a node that is stopped is out.
const goneMax = 3 * sessionTTL

// isStopped asks the kernel.
func isStopped(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(after, "T")
}

// settle heals everything, and finds all as it must be.
func (a *attack) settle(what string) {
	a.t.Helper()
	require.NoError(a.t, a.trigger.Disarm())
	if err := a.recover(); err != nil {
		a.wrong(fmt.Errorf("after %s: %w", what, err))
	}
	a.calmed()
	for _, m := range a.members.nodes {
		m.awaited.Store(false)
	}
	a.requireSoFar(what)
	for _, g := range a.groups {
		g.settled()
	}
	w := a.worker(uint64(1000 + a.batches.Add(1)))
	w.split = []string{"always"}
	defer w.close()
	for _, m := range a.members.nodes {
		for _, g := range a.groups {
			w.question(g, m, everything)
			if len(g.worlds()) != 1 {
				a.wrong(fmt.Errorf("after %s: what was in doubt is not settled by looking", what))
			}
		}
		for _, o := range a.found {
			rows, _, err := w.ask(m, false, o.count)
			if err != nil || !slices.Contains(strings.Split(o.whole, " or "), rows[0]) {
				a.wrong(fmt.Errorf("after %s: %s at %s is %v and not %s (%w)", what, o.count, m.name, rows, o.whole, err))
			}
		}
	}
	a.requireSoFar(what)
	for _, o := range a.found {
		_, _, err := w.ask(a.members.nodes[0], false, o.drop)
		require.NoError(a.t, err)
	}
	a.found = nil
	if a.debts != nil {
		require.NoError(a.t, a.debts(deadline(a.t)))
		a.debts = nil
	}
	a.requireSpace(w)
	a.requireSoFar(what)
}

// requireSoFar ends the test if anything is wrong.
func (a *attack) requireSoFar(what string) {
	a.t.Helper()
	if a.isWrong() {
		a.wrong(fmt.Errorf("this was during, or after, %s (%s=%[1]s)", what, faultsVariable))
	}
	a.require()
}

// recover starts and continues all nodes, and waits until every chunk has its replicas and no more.
func (a *attack) recover() error {
	for _, m := range a.members.nodes {
		if !m.alive() {
			if err := m.endedWell(); err != nil {
				return err
			}
			if err := m.start(); err != nil {
				return err
			}
		}
	}
	w := a.worker(uint64(2000 + a.batches.Add(1)))
	defer w.close()
	for _, q := range []struct{ sql, want string }{
		{"SELECT count(*) FROM csm.nodes WHERE state <> 'joining'", "3"},
		{"SELECT count(*) FROM csm.nodes WHERE state = 'online'", "3"},
		{missingReplicas, "0"},
		{"SELECT count(*) FROM csm.chunks WHERE schema = 'public' AND replicas > 2", "0"},
	} {
		for _, m := range a.members.nodes {
			for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
				rows, _, err := w.ask(m, false, q.sql)
				if err == nil && rows[0] == q.want {
					break
				}
				for _, m := range a.members.nodes {
					if !m.alive() {
						return fmt.Errorf("%s has ended: %v", m.name, m.process.ProcessState)
					}
				}
				if time.Now().After(end) {
					return fmt.Errorf("%s: %s is %v and not %s: %w", m.name, q.sql, rows, q.want, err)
				}
				if err == nil && strings.Contains(q.sql, "'online'") {
					a.undrain(m)
				}
			}
		}
	}
	return nil
}

// endedWell: killed, or told to end.
func (m *member) endedWell() error {
	status := m.process.ProcessState.Sys().(syscall.WaitStatus)
	if m.process.ProcessState.Success() || status.Signaled() && status.Signal() == syscall.SIGKILL {
		return nil
	}
	return fmt.Errorf("%s has ended by itself: %v", m.name, m.process.ProcessState)
}

// undrain lets all nodes take rows that were being drained when something happened.
func (a *attack) undrain(at *member) {
	for _, m := range a.members.nodes {
		_, _ = a.call(at, func(ctx context.Context, c *noderpc.Client) error { return c.UndrainNode(ctx, m.name) }) // recover asks again
	}
}

// end drops everything and finds nothing held.
func (a *attack) end() {
	for _, w := range []*worker{a.scene, a.aside} {
		w.close()
	}
	a.finish()
}
