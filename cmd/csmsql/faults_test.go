package main_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	csmsql "github.com/csmsql/csmsql/cmd/csmsql"
	"github.com/csmsql/csmsql/internal/faults"
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

// TestFaults attacks the promises of docs/cluster.md at every point that internal/faults names (FT2), one at a time.
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
	a.begin()
	a.everyScene()
	for _, o := range orders(t, a.r, os.Getenv(faultsVariable)) {
		t.Run(fmt.Sprintf("%v/%s", o.Point, o.Action), func(sub *testing.T) {
			if a.isWrong() { // the others go on with another cluster
				a.members.end()
				a = newAttack(t, seed)
				a.t = sub
				a.begin()
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

// delayed is less than every timeout: nothing may fail because of it.
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
	return a
}

// begin starts the cluster, and makes the tables.
func (a *attack) begin() {
	a.wrong(a.members.heal())
	for i, g := range a.groups {
		for k, name := range g.tables {
			placement := []string{"hash(i)", "rows"}[(i+k)%2]
			if !a.isWrong() && a.scene.replace(a.members.nodes[0], g, name, placement, a.batches.Add(1)) != happened {
				a.wrong(fmt.Errorf("table %s cannot be made: %w", name, a.lastError()))
			}
		}
	}
	a.require()
}

// isTaken reports whether it has happened.
func (a *attack) isTaken() bool {
	pid, err := a.trigger.Taken()
	require.NoError(a.t, err)
	return pid != 0
}

// until waits for an answer, which fails to come only while a node is down.
func (a *attack) until(at *member, sql, want string) {
	var got []string
	var err error
	for spent := at.stalls.stopwatch(); spent() < statementMax; time.Sleep(10 * time.Millisecond) {
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
	spent, stopped := at.stalls.stopwatch(), at.stoppedFor()
	ctx, cancel := context.WithTimeout(context.Background(), 3*statementMax)
	defer cancel()
	client, err := noderpc.Dial(ctx, at.socket(), noderpc.WithIncarnation(a.borrows))
	if err != nil {
		return true, err // nothing was asked
	}
	defer client.Close() // its calls have ended
	err = do(ctx, client)
	if took := spent() - (at.stoppedFor() - stopped); took > statementMax {
		a.wrong(fmt.Errorf("a call took %v of %s's time (%w)", took, at.name, err))
	}
	var rpcError *noderpc.Error
	return err == nil || errors.As(err, &rpcError) && rpcError.Answered, err
}

// object is something beside the model's tables, that is there whole or not at all.
type object struct{ count, whole, drop string }

// make makes one.
func (a *attack) make(at *member, o object, do func() (answered bool, err error)) {
	since := a.trouble()
	_, err := do()
	if err != nil {
		a.failed(at, since, o.count, err)
		o.whole += " or 0" // its outcome is unknown
	}
	a.found = append(a.found, o)
}

// everyScene plays all scenes undisturbed, and finds that they reach every point (FT2).
func (a *attack) everyScene() {
	began := time.Now()
	var took []string
	for _, name := range []string{
		"write", "query", "load", "wide", "borrow", "rollback", "disclaim", "drain", "fold", "divide", "repair", "lost",
	} {
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
	require.Empty(a.t, never, "no process reaches these points")
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
	for end := time.Now().Add(backgroundMax); !a.isTaken() && time.Now().Before(end); { // some points are reached in the background
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
				a.wrong(fmt.Errorf("%s does not answer without %s, though every chunk has another replica: %w", m.name, victim.name, a.lastError()))
			}
		}
		for _, name := range a.groups[1].tables {
			if !drained && !a.writes(m, name) {
				a.wrong(fmt.Errorf("%s does not write without %s: %w", m.name, victim.name, a.lastError()))
			}
		}
	}
}

// writes reports whether a node can change a table: it may have to repeat it, because replicas of the table are made
// meanwhile.
func (a *attack) writes(at *member, name string) bool {
	for range repeats {
		if a.aside.replace(at, a.groups[1], name, "rows", a.batches.Add(1)) == happened {
			return true
		}
	}
	return false
}

const repeats = 5

// goneMax is how long it may take until a node that is stopped is out, and until a node is back that had to restart
// because the machine kept it from running for so long that the cluster gave it up, too.
const goneMax = patience

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
			w.tellApart(g, m)
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

// endedWell: killed, or asked to end.
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
