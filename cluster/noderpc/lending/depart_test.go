package lending_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cluster/noderpc/lending"
	"github.com/csmsql/csmsql/cluster/noderpc/refusal"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/memregion"
)

// childVariable makes this test binary a process that waits for its end.
const childVariable = "LENDING_TEST_CHILD"

func childOrTests(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin) // which ends with the parent
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child starts a process and returns what the lender would learn of it.
func child(t *testing.T) (*exec.Cmd, noderpc.Process) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childVariable+"=1")
	input, err := command.StdinPipe()
	require.NoError(t, err)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = input.Close(); _ = command.Process.Kill(); _ = command.Wait() })
	_, err = io.ReadFull(output, make([]byte, 6))
	require.NoError(t, err)
	p, err := noderpc.ProcessOf(command.Process.Pid)
	require.NoError(t, err)
	require.False(t, p.Gone())
	return command, p
}

func kill(t *testing.T, command *exec.Cmd) {
	require.NoError(t, command.Process.Kill())
	_ = command.Wait()
}

func (w *world) grantTo(p noderpc.Peer, process noderpc.Process) catalog.ExtentID {
	g, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Owner: "t", Size: page, Ticket: noderpc.NewTicket(), Process: process})
	require.NoError(w.t, err)
	return g.Extent
}

// W3, W4: a peer that is declared dead and only sleeps. What it may store into is kept from others; what it may not goes
// back; what it published stays; and nothing is done for it.
func TestAPeerIsDeclaredDeadAndSleeps(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{Confirmations: true})
	command, process := child(t)
	require.NoError(t, command.Process.Signal(unix.SIGSTOP))
	p := node("n2")
	written := w.grantTo(p, process)
	sealed, temporary, published, confirmed := w.sealed(p, page), w.sealed(p, page), w.sealed(p, page), w.sealed(p, page)
	require.NoError(t, w.publish(p, true, temporary))
	require.NoError(t, w.publish(p, false, published, confirmed))
	require.ElementsMatch(t, []catalog.ExtentID{published, confirmed}, w.lender.Unconfirmed())
	w.lender.Confirm(confirmed)

	departure := w.lender.PeerGone("n2", p.Incarnation)
	require.Equal(t, lending.Departure{
		Borrowers: []lending.Borrower{{Name: "csmsql://node/n2", Incarnation: p.Incarnation}}, Extents: 3, Quarantined: 1, Unconfirmed: []catalog.ExtentID{published},
	}, departure)
	require.Equal(t, coherence.Quarantined, w.state(written))
	require.Equal(t, coherence.Free, w.state(sealed))
	require.Equal(t, coherence.Free, w.state(temporary))
	require.Equal(t, coherence.Published, w.state(published))
	require.EqualValues(t, 3*page, w.live())

	require.NoError(t, command.Process.Signal(unix.SIGCONT)) // it wakes up
	_, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: noderpc.NewTicket()})
	for i, err := range []error{err, w.seal(p, written, page), w.publish(p, false, written), w.free(p, written), w.lender.Pin(ctx, p, []catalog.ExtentID{published})} {
		require.ErrorIs(t, err, noderpc.ErrFenced, "call %d", i)
		require.Equal(t, "57P01", state(t, err))
	}
	require.EqualValues(t, 5, w.refusals.Calls(refusal.Gone))
	w.lender.Sweep()
	require.Equal(t, coherence.Quarantined, w.state(written), "it lives, so it may store")
	w.grant(node("n2"), page) // a new process of the node is another one

	kill(t, command)
	w.lender.Sweep()
	require.Equal(t, coherence.Free, w.state(written))
	w.lender.PeerGone("n2", noderpc.Incarnation{})
	w.lender.Lift("n2", noderpc.Incarnation{})
	w.requireEmpty(published, confirmed)
}

// After SIGKILL nothing needs to wait, and no call is needed.
func TestAPeerIsKilled(t *testing.T) {
	for name, learn := range map[string]func(w *world, p noderpc.Peer){
		"the membership says so": func(w *world, p noderpc.Peer) { require.Zero(t, w.lender.PeerGone("n2", p.Incarnation).Quarantined) },
		"the kernel says so":     func(w *world, _ noderpc.Peer) { w.lender.Sweep() },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, coherence.Coherent, lending.Options{})
			command, process := child(t)
			p := node("n2")
			w.grantTo(p, process)
			w.sealed(p, page)
			w.lender.Sweep()
			require.EqualValues(t, 2*page, w.live(), "it lives")
			kill(t, command)
			learn(w, p)
			_, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: 1})
			require.ErrorIs(t, err, noderpc.ErrFenced)
			w.requireEmpty()
		})
	}
}

// A process that cannot be asked about keeps its memory in quarantine until a caller lifts it.
func TestAPeerOfAnotherMachine(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	elsewhere := noderpc.CurrentProcess()
	elsewhere.ID, elsewhere.Boot = 1<<22+1, "another boot"
	require.False(t, elsewhere.Gone(), "of another machine it is unknown")
	p := node("n2")
	id := w.grantTo(p, elsewhere)
	w.lender.Lift("n2", p.Incarnation)
	require.Equal(t, coherence.Granted, w.state(id), "a borrower that is not declared dead is not lifted")
	require.Equal(t, 1, w.lender.PeerGone("n2", p.Incarnation).Quarantined)
	require.True(t, w.lender.Borrowers()[0].Gone)
	require.Equal(t, 1, w.lender.Borrowers()[0].Quarantined)
	w.lender.Lift("n3", noderpc.Incarnation{})
	require.Equal(t, coherence.Quarantined, w.state(id))
	w.lender.Lift("n2", p.Incarnation)
	w.requireEmpty()
}

// lendPoints are those of a lender's steps.
var lendPoints = []faults.Point{faults.LendGranted, faults.LendMoved, faults.LendCleaned, faults.LendSealed, faults.LendPublished}

// W4: the step that is under way when its borrower is declared dead ends, and leaves nothing.
func TestAPeerIsDeclaredDeadInTheMiddle(t *testing.T) {
	for _, point := range lendPoints {
		t.Run(point.String(), func(t *testing.T) {
			var w *world
			p := node("n2")
			armed := false
			w = newWorld(t, coherence.Coherent, lending.Options{Fault: func(at faults.Point) {
				if armed && at == point {
					armed = false
					w.lender.PeerGone("n2", p.Incarnation)
					w.lender.Lift("n2", p.Incarnation)
				}
			}})
			_ = func() error { // each step may fail: which one does depends on the point
				armed = point == faults.LendGranted
				g, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: 1, Process: noderpc.CurrentProcess()})
				if err != nil {
					return err
				}
				armed = true
				if point == faults.LendMoved {
					_, err := w.lender.Reallocate(ctx, p, noderpc.ReallocateRequest{Extent: g.Extent, Size: 2 * page, Ticket: 2})
					return err
				}
				if err := w.seal(p, g.Extent, page); err != nil {
					return err
				}
				return w.publish(p, true, g.Extent)
			}()
			require.False(t, armed, "the point was never reached")
			w.lender.Lift("n2", p.Incarnation) // what was busy then
			w.requireEmpty()
		})
	}
}

// A step that panics leaves nothing busy: its borrower can still give everything back, or die.
func TestAStepPanics(t *testing.T) {
	for _, point := range lendPoints {
		t.Run(point.String(), func(t *testing.T) {
			armed := false
			w := newWorld(t, coherence.Coherent, lending.Options{Fault: func(at faults.Point) {
				if armed && at == point {
					panic(point)
				}
			}})
			p := node("n2")
			g, sealed := w.grant(p, page).Extent, w.sealed(p, page)
			armed = true
			require.Panics(t, func() {
				_ = w.publish(p, true, sealed)
				_, _ = w.lender.Reallocate(ctx, p, noderpc.ReallocateRequest{Extent: g, Size: 2 * page, Ticket: 7})
				_ = w.seal(p, g, page)
			})
			armed = false
			w.lender.PeerGone("n2", p.Incarnation)
			w.lender.Lift("n2", p.Incarnation)
			if point == faults.LendGranted || point == faults.LendMoved { // one extent more, which no ledger knows of
				return
			}
			w.requireEmpty()
		})
	}
}

// W3: the node itself is killed while a borrower writes into its memory, and started again.
func TestTheLendersNextProcessKnowsItsWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	none := func(catalog.ExtentID) bool { return false }
	journal, err := lending.OpenJournal(path, none)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	w := newWorld(t, coherence.Coherent, lending.Options{Journal: journal})
	lives, dies := child(t)
	_ = lives
	deadChild, dead := child(t)
	me, sleeper, victim, other := node("n2"), node("n3"), node("n4"), node("n5")
	mine := w.grantTo(me, noderpc.CurrentProcess())
	slept := w.grantTo(sleeper, dies)
	w.grantTo(victim, dead)
	elsewhere := noderpc.CurrentProcess()
	elsewhere.Namespace++
	distant := w.grantTo(other, elsewhere)
	done := w.sealed(me, page)
	require.NoError(t, w.free(me, w.grantTo(me, noderpc.CurrentProcess())))
	published := w.grantTo(me, noderpc.CurrentProcess()) // its end did not reach the journal
	require.NoError(t, journal.Close())
	kill(t, deadChild)

	journal, err = lending.OpenJournal(path, func(id catalog.ExtentID) bool { return id == published })
	require.NoError(t, err)
	defer journal.Close() //nolint:errcheck // a test's
	owned := journal.Owned(1)
	require.Len(t, owned, 3, "mine, the sleeper's, the distant one's")
	require.Empty(t, journal.Owned(2))
	require.NotEqual(t, done, mine)

	_, err = lending.New(catalog.Homes{}, lending.Options{Journal: journal})
	require.ErrorContains(t, err, "Memories")
	next := &memory{data: make([]byte, regionBytes), live: slices.Clone(owned)} // as memregion.Adopt does
	home, err := coherence.NewHome(coherence.HomeConfig{Region: 1, Memory: next, Domain: "home", FirstGeneration: 1000})
	require.NoError(t, err)
	second := &world{t: t, memories: map[memregion.RegionID]*memory{1: next}, homes: catalog.Homes{1: home}, counters: &coherence.Counters{}}
	second.lender, err = lending.New(second.homes, lending.Options{Journal: journal, Memories: map[memregion.RegionID]coherence.Memory{1: next}})
	require.NoError(t, err)

	granted, err := second.lender.Grant(ctx, me, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: 99})
	require.NoError(t, err)
	for _, o := range owned {
		require.False(t, o.Range.Contains(granted.Range), "a borrower may still store there")
	}
	require.NoError(t, second.free(me, granted.Extent))
	settle := func(p noderpc.Peer, id catalog.ExtentID) error {
		return second.lender.Free(ctx, p, noderpc.FreeRequest{Extents: []catalog.ExtentID{id}, Settling: true})
	}
	require.NoError(t, settle(sleeper, mine)) // it is not the sleeper's to give back
	require.Len(t, second.lender.Orphans(), 3)
	require.NoError(t, settle(me, mine))
	require.NoError(t, settle(me, mine))
	second.lender.Sweep()
	require.Len(t, second.lender.Orphans(), 2)
	kill(t, lives)
	second.lender.Sweep()
	require.Equal(t, distant, second.lender.Orphans()[0].Extent)
	require.Len(t, second.lender.Orphans(), 1)
	require.NotZero(t, slept)
	second.lender.Lift("n5", noderpc.Incarnation{})
	require.Empty(t, second.lender.Orphans())
	second.requireEmpty()

	require.NoError(t, journal.Close())
	journal, err = lending.OpenJournal(path, none)
	require.NoError(t, err)
	require.Empty(t, journal.Orphans())
	require.NoError(t, journal.Close())
}

// W4: a node that was given up and has not noticed gets nothing, also if it had held nothing and been asked nothing
// before, and whatever name it calls under. Its process lives and restarts the node, so that what it were granted now
// would never go back.
func TestNothingIsGrantedToWhoIsOver(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{})
	late, other := node("n2"), node("n3")
	w.lender.Over(late.Incarnation, noderpc.Membership{})
	for _, p := range []noderpc.Peer{late, {Known: true, User: 1, Process: 2, Incarnation: late.Incarnation}} {
		_, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: noderpc.NewTicket(), Process: noderpc.CurrentProcess()})
		require.ErrorIs(t, err, noderpc.ErrFenced)
		require.ErrorIs(t, w.lender.Pin(ctx, p, nil), noderpc.ErrFenced)
	}
	require.Empty(t, w.lender.Borrowers())
	w.requireEmpty()

	held := w.grantTo(other, noderpc.CurrentProcess())
	again := other
	again.Incarnation = noderpc.NewIncarnation()
	stays := w.grantTo(again, noderpc.CurrentProcess())
	w.lender.Over(other.Incarnation, noderpc.Membership{})
	require.Error(t, w.free(other, held))
	require.NoError(t, w.free(again, stays), "its next incarnation is another borrower")
}

// Who has published all that it had is no borrower any more; what it published is still known to be its.
func TestUnconfirmedOfWhoHoldsNothing(t *testing.T) {
	w := newWorld(t, coherence.Coherent, lending.Options{Confirmations: true})
	p := node("n2")
	id := w.sealed(p, page)
	require.NoError(t, w.publish(p, false, id))
	require.Empty(t, w.lender.Borrowers())
	require.Equal(t, []catalog.ExtentID{id}, w.lender.UnconfirmedOf(p.Incarnation.String()))
	require.Empty(t, w.lender.UnconfirmedOf(noderpc.NewIncarnation().String()))
	w.lender.Confirm(id)
	require.Empty(t, w.lender.UnconfirmedOf(p.Incarnation.String()))
	require.NoError(t, w.homes.Retire(id))
	w.requireEmpty()
}

// W3: a node that has restarted in the same process has none of its former life's windows. What it was granted goes
// back, by a lender that has lived on and by one that was started again; and so does what a borrower never heard of, by
// its ticket.
func TestANodeThatRestarted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	journal, err := lending.OpenJournal(path, func(catalog.ExtentID) bool { return false })
	require.NoError(t, err)
	present := map[string]noderpc.Incarnation{}
	options := lending.Options{
		Journal: journal,
		NodeOf: func(p noderpc.Peer, _ noderpc.Membership) noderpc.Membership {
			for node, i := range present {
				if p.Incarnation == i {
					return noderpc.Membership{Node: node}
				}
			}
			return noderpc.Membership{}
		},
		Restarted: func(former noderpc.Membership, incarnation noderpc.Incarnation) bool {
			return !present[former.Node].IsZero() && present[former.Node] != incarnation
		},
	}
	w := newWorld(t, coherence.Coherent, options)
	quarantined, orphaned, unheard, unknown := node("n2"), node("n3"), node("n4"), node("n5")
	present["dir2"], present["dir3"] = quarantined.Incarnation, orphaned.Incarnation
	id := w.grantTo(quarantined, noderpc.CurrentProcess())
	lost, err := w.lender.Grant(ctx, unheard, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: 77, Process: noderpc.CurrentProcess()})
	require.NoError(t, err)
	w.grantTo(orphaned, noderpc.CurrentProcess())
	stays := w.grantTo(unknown, noderpc.CurrentProcess())
	delete(present, "dir2") // it is given up
	w.lender.PeerGone("n2", quarantined.Incarnation)
	w.lender.Sweep()
	require.Equal(t, coherence.Quarantined, w.state(id))
	present["dir2"] = noderpc.NewIncarnation()
	w.lender.Sweep()
	require.Equal(t, coherence.Free, w.state(id))

	require.NoError(t, journal.Close())
	journal, err = lending.OpenJournal(path, func(catalog.ExtentID) bool { return false })
	require.NoError(t, err)
	defer journal.Close() //nolint:errcheck // a test's
	owned := journal.Owned(1)
	require.Len(t, owned, 3)
	next := &memory{data: make([]byte, regionBytes), live: slices.Clone(owned)}
	home, err := coherence.NewHome(coherence.HomeConfig{Region: 1, Memory: next, Domain: "home", FirstGeneration: 1000})
	require.NoError(t, err)
	options.Journal, options.Memories = journal, map[memregion.RegionID]coherence.Memory{1: next}
	again, err := lending.New(catalog.Homes{1: home}, options)
	require.NoError(t, err)
	again.Sweep()
	require.Len(t, again.Orphans(), 3, "they may be writing")
	present["dir3"] = noderpc.NewIncarnation()
	again.Sweep()
	require.Len(t, again.Orphans(), 2)
	byTicket := noderpc.FreeRequest{Tickets: []noderpc.Ticket{77}, Settling: true}
	require.NoError(t, again.Free(ctx, unknown, byTicket), "it is not its")
	require.Len(t, again.Orphans(), 2)
	require.NoError(t, again.Free(ctx, unheard, byTicket))
	require.Len(t, again.Orphans(), 1)
	require.NotEqual(t, lost.Extent, again.Orphans()[0].Extent)
	require.Equal(t, stays, again.Orphans()[0].Extent)
}

// W3, W5: what a node asks for that is over, and has not noticed, goes back when it has restarted in the same process,
// also by a lender that is younger and never heard of its end, and by one that was asked between the end and hearing of
// it.
func TestAnEndThatTheLenderDidNotSee(t *testing.T) {
	registered := map[string]catalog.Revision{}
	options := lending.Options{
		NodeOf: func(_ noderpc.Peer, says noderpc.Membership) noderpc.Membership { return says },
		Restarted: func(former noderpc.Membership, _ noderpc.Incarnation) bool {
			return registered[former.Node] > former.Registered
		},
	}
	w := newWorld(t, coherence.Coherent, options)
	says, silent := node("n2"), node("n3")
	_, err := w.lender.Grant(ctx, says, noderpc.GrantRequest{
		Region: 1, Size: 1, Ticket: noderpc.NewTicket(), Process: noderpc.CurrentProcess(), Member: noderpc.Membership{Node: "dir2", Registered: 5},
	})
	require.NoError(t, err)
	sealed := w.sealed(says, page)
	quarantined := w.grantTo(silent, noderpc.CurrentProcess())
	registered["dir2"] = 5
	w.lender.Sweep()
	require.EqualValues(t, 3*page, w.live(), "they may be writing")

	registered["dir2"] = 6
	w.lender.Sweep()
	require.EqualValues(t, page, w.live())
	require.Equal(t, coherence.Free, w.state(sealed))
	require.ErrorIs(t, w.publish(says, false, sealed), noderpc.ErrFenced)

	w.lender.Over(silent.Incarnation, noderpc.Membership{Node: "dir3", Registered: 7})
	w.lender.Sweep()
	require.Equal(t, coherence.Quarantined, w.state(quarantined))
	registered["dir3"] = 8
	w.lender.Sweep()
	w.requireEmpty()
}

// An orphan whose writer's node was not known when it was granted is of the node that turns out to be over.
func TestAnOrphanWhoseNodeIsHeardOfLater(t *testing.T) {
	path, none := filepath.Join(t.TempDir(), "journal"), func(catalog.ExtentID) bool { return false }
	journal, err := lending.OpenJournal(path, none)
	require.NoError(t, err)
	p := node("n2")
	newWorld(t, coherence.Coherent, lending.Options{Journal: journal}).grantTo(p, noderpc.CurrentProcess())
	require.NoError(t, journal.Close())
	journal, err = lending.OpenJournal(path, none)
	require.NoError(t, err)
	defer journal.Close() //nolint:errcheck // a test's
	next := &memory{data: make([]byte, regionBytes), live: slices.Clone(journal.Owned(1))}
	home, err := coherence.NewHome(coherence.HomeConfig{Region: 1, Memory: next, Domain: "home", FirstGeneration: 1000})
	require.NoError(t, err)
	again, err := lending.New(catalog.Homes{1: home}, lending.Options{
		Journal: journal, Memories: map[memregion.RegionID]coherence.Memory{1: next},
		Restarted: func(former noderpc.Membership, _ noderpc.Incarnation) bool { return former.Node == "dir2" },
	})
	require.NoError(t, err)
	again.Sweep()
	require.Len(t, again.Orphans(), 1)
	again.Over(p.Incarnation, noderpc.Membership{Node: "dir2", Registered: 7})
	again.Sweep()
	require.Empty(t, again.Orphans())
	require.Zero(t, next.bytes())
}

func TestDamagedJournals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	none := func(catalog.ExtentID) bool { return false }
	j, err := lending.OpenJournal(path, none)
	require.NoError(t, err)
	w := newWorld(t, coherence.Coherent, lending.Options{Journal: j})
	w.grantTo(node("n2"), noderpc.CurrentProcess())
	w.grantTo(node("n2"), noderpc.CurrentProcess())
	require.NoError(t, j.Close())
	_, err = w.lender.Grant(ctx, node("n2"), noderpc.GrantRequest{Region: 1, Size: 1, Ticket: noderpc.NewTicket()})
	require.ErrorContains(t, err, "journal", "what cannot be remembered is not granted")
	require.EqualValues(t, 2*page, w.live())

	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, whole[:len(whole)-10], 0o600))
	j, err = lending.OpenJournal(path, none)
	require.NoError(t, err)
	require.Len(t, j.Orphans(), 1, "a line that was not written whole was not handed over")
	require.NoError(t, j.Close())

	for _, text := range []string{"x\n" + string(whole), "{}\n" + string(whole), strings.Repeat("x", 10_000)} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err = lending.OpenJournal(path, none)
		require.Error(t, err)
	}
	// A machine that has booted since has none of the processes.
	booted := strings.ReplaceAll(string(whole), noderpc.CurrentProcess().Boot, "before")
	require.NoError(t, os.WriteFile(path, []byte(booted), 0o600))
	j, err = lending.OpenJournal(path, none)
	require.NoError(t, err)
	require.Empty(t, j.Orphans())
	require.NoError(t, j.Close())
}

// The file does not grow with the number of grants.
func TestTheJournalIsCompacted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, err := lending.OpenJournal(path, func(catalog.ExtentID) bool { return false })
	require.NoError(t, err)
	w := newWorld(t, coherence.Coherent, lending.Options{Journal: j})
	p := node("n2")
	stays := w.grant(p, page).Extent
	for range 6000 {
		require.NoError(t, w.free(p, w.grant(p, page).Extent))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(3<<20))
	require.NoError(t, j.Close())
	j, err = lending.OpenJournal(path, func(catalog.ExtentID) bool { return false })
	require.NoError(t, err)
	require.Equal(t, stays, j.Orphans()[0].Extent)
	require.NoError(t, j.Close())
}

func TestVoidTicketsAreForgotten(t *testing.T) {
	now := time.Now()
	w := newWorld(t, coherence.Coherent, lending.Options{Now: func() time.Time { return now }})
	p := node("n2")
	for i := range noderpc.Ticket(10_000) {
		require.NoError(t, w.lender.Free(ctx, p, noderpc.FreeRequest{Tickets: []noderpc.Ticket{i + 1}, Settling: true}))
	}
	request := func(ticket noderpc.Ticket) error {
		g, err := w.lender.Grant(ctx, p, noderpc.GrantRequest{Region: 1, Size: 1, Ticket: ticket})
		if err == nil {
			require.NoError(t, w.free(p, g.Extent))
		}
		return err
	}
	require.Error(t, request(10_000))
	require.NoError(t, request(1), "the oldest of very many")
	now = now.Add(time.Hour)
	w.lender.Sweep()
	require.NoError(t, request(10_000))
	w.requireEmpty()
}
