package horizon_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/horizon"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

func TestReads(t *testing.T) {
	var many []store.Revision
	for i := range store.Revision(horizon.HeldMost + 5) {
		many = append(many, 2*i+1)
	}
	for _, of := range []struct {
		current       store.Revision
		snapshots     []store.Revision
		held          []store.Revision
		floor, oldest store.Revision
	}{
		{9, nil, nil, 9, 9},
		{9, []store.Revision{9, 9}, nil, 9, 9},
		{9, []store.Revision{8, 3, 9, 3}, []store.Revision{3, 8}, 9, 3},
		{99, many, many[:horizon.HeldMost], many[horizon.HeldMost], 1},
		{many[horizon.HeldMost], many, many[:horizon.HeldMost], many[horizon.HeldMost], 1},
	} {
		r := horizon.Of(of.current, slices.Clone(of.snapshots))
		require.Equal(t, of.held, append([]store.Revision(nil), r.All()...))
		require.Equal(t, of.floor, r.Floor)
		require.Equal(t, of.oldest, r.Oldest())
	}
	require.Zero(t, horizon.Reads{}.Oldest(), "what is not known reads everything")
}

const home, elsewhere = memregion.RegionID(1), memregion.RegionID(2)

// extent is one as the twin knows it: which revisions have it.
type extent struct {
	id        descriptor.ExtentID
	came, die store.Revision // die 0: it lives
	noticed   store.Revision // when the lender learned of its death
	retired   bool
}

// node is another node as it is: what it has taken over, what its snapshots have, and what it said last.
type node struct {
	current   store.Revision
	snapshots []store.Revision
	said      horizon.Reads
}

func (n *node) report() { n.said = horizon.Of(n.current, slices.Clone(n.snapshots)) }

// reads is the truth: what the node reads now.
func (n *node) reads(e *extent) bool {
	return slices.ContainsFunc(append(slices.Clone(n.snapshots), n.current), func(at store.Revision) bool {
		return e.came <= at && (e.die == 0 || at < e.die)
	})
}

// lender is the node that retires, with its twin.
type lender struct {
	t         *rapid.T
	revision  store.Revision
	granted   coherence.Generation
	waiting   []descriptor.ExtentID // granted, and not committed
	extents   []*extent
	others    []*node
	history   *horizon.History
	postponed horizon.Postponed
}

// commit is a change of any node that brings some of what was granted and ends some of what lives.
func (l *lender) commit(missed bool) {
	l.revision += store.Revision(rapid.IntRange(1, 3).Draw(l.t, "revisions"))
	var came, gone []descriptor.ExtentID
	for range rapid.IntRange(0, 3).Draw(l.t, "granted") {
		l.granted++
		l.waiting = append(l.waiting, descriptor.ExtentID{Region: rapid.SampledFrom([]memregion.RegionID{home, elsewhere}).Draw(l.t, "region"), Generation: l.granted})
	}
	for len(l.waiting) > 0 && rapid.Bool().Draw(l.t, "commits") {
		i := rapid.IntRange(0, len(l.waiting)-1).Draw(l.t, "which")
		came = append(came, l.waiting[i])
		l.waiting = slices.Delete(l.waiting, i, i+1)
	}
	for _, e := range l.extents {
		if e.die == 0 && rapid.IntRange(0, 2).Draw(l.t, "dies") == 0 {
			e.die, e.noticed = l.revision, l.revision
			gone = append(gone, e.id)
		}
	}
	for _, id := range came {
		l.extents = append(l.extents, &extent{id: id, came: l.revision})
	}
	if missed {
		return
	}
	l.history.Took(l.revision, slices.Values(came))
	l.postponed.Add(l.revision, gone)
}

// retire takes notice of what the others said, and retires.
func (l *lender) retire() {
	var held []store.Revision
	floor := l.revision
	for _, n := range l.others {
		held, floor = append(held, n.said.All()...), min(floor, n.said.Floor)
	}
	l.history.Hold(held)
	due := l.postponed.Due(l.history, floor, func(r memregion.RegionID) bool { return r == home })
	for _, e := range l.extents {
		if !slices.Contains(due, e.id) {
			continue
		}
		require.False(l.t, e.retired, "%v is due twice", e.id)
		e.retired = true
		require.Equal(l.t, home, e.id.Region)
		require.NotZero(l.t, e.die)
		for i, n := range l.others {
			require.False(l.t, n.reads(e), "node %d reads %+v at %v, %d", i, *e, n.snapshots, n.current)
		}
	}
	l.postponed.Remove(due)
	for _, e := range l.extents {
		if e.die != 0 && e.id.Region == home && !e.retired {
			require.True(l.t, e.noticed > floor || slices.ContainsFunc(held, func(at store.Revision) bool { return at < e.noticed }),
				"%v stays for nothing: floor %d, held %v", *e, floor, held)
		}
	}
}

// HZ1, HZ2, HZ3: whatever nodes hold, report and miss, nothing is retired that one of them reads; and when no snapshot
// is left, everything that died is.
func TestNothingIsRetiredThatIsRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := &lender{t: rt, revision: 10, granted: 5, history: horizon.Begin(horizon.Marks{home: 5, elsewhere: 5})}
		for g := range coherence.Generation(5) {
			l.extents = append(l.extents, &extent{id: descriptor.ExtentID{Region: home, Generation: g + 1}, came: 1})
		}
		l.history.Took(l.revision, func(func(descriptor.ExtentID) bool) {})
		for range rapid.IntRange(1, 3).Draw(rt, "nodes") {
			n := &node{current: 10}
			n.report()
			l.others = append(l.others, n)
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			n := rapid.SampledFrom(l.others).Draw(rt, "node")
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0, 1, 2, 3:
				l.commit(false)
			case 4: // the store has transactions between commits
				l.revision += store.Revision(rapid.IntRange(0, 1).Draw(rt, "beside"))
				n.current = l.revision
			case 5:
				n.snapshots = append(n.snapshots, n.current)
			case 6:
				if len(n.snapshots) > 0 {
					i := rapid.IntRange(0, len(n.snapshots)-1).Draw(rt, "snapshot")
					n.snapshots = slices.Delete(n.snapshots, i, i+1)
				}
			case 7, 8:
				n.report()
			case 9:
				l.miss(n)
			}
			l.retire()
		}
		for _, n := range l.others {
			n.snapshots, n.current = nil, l.revision
			n.report()
		}
		l.retire()
		for _, e := range l.extents {
			require.Equal(rt, e.die != 0 && e.id.Region == home, e.retired, "%+v", *e)
		}
	})
}

// miss is commits that this node does not see one by one, while others do and take snapshots of them. What died in them
// it knows from the whole that it reads then.
func (l *lender) miss(n *node) {
	from := l.revision
	for range rapid.IntRange(1, 3).Draw(l.t, "missed") {
		l.commit(true)
		n.current = l.revision
		n.snapshots = append(n.snapshots, n.current)
	}
	n.report()
	l.revision++
	l.history.Missed()
	var came, gone []descriptor.ExtentID
	for _, e := range l.extents {
		if e.came > from && e.die == 0 {
			came = append(came, e.id)
		}
		if e.die > from {
			e.noticed = l.revision
			gone = append(gone, e.id)
		}
	}
	var held []store.Revision
	for _, n := range l.others {
		held = append(held, n.said.All()...)
	}
	l.history.Hold(held)
	l.history.Took(l.revision, slices.Values(came))
	l.postponed.Add(l.revision, gone)
}

// HZ2, HZ3: of a revision between two changes, of one, and of one before all.
func TestWhatARevisionMayHaveHad(t *testing.T) {
	x := func(g coherence.Generation) descriptor.ExtentID {
		return descriptor.ExtentID{Region: home, Generation: g}
	}
	h := horizon.Begin(horizon.Marks{home: 1})
	for at := store.Revision(10); at <= 40; at += 10 { // 2 comes at 10, 3 at 20, 4 at 30, 5 at 40
		h.Took(at, slices.Values([]descriptor.ExtentID{x(coherence.Generation(at/10 + 1))}))
	}
	for held, last := range map[store.Revision]coherence.Generation{9: 5, 10: 2, 11: 2, 19: 2, 20: 3, 39: 4, 40: 5} {
		h.Hold([]store.Revision{held})
		for g := coherence.Generation(1); g <= 5; g++ {
			require.Equal(t, g <= last, h.Had(x(g), 50), "%d at %d", g, held)
			require.False(t, h.Had(x(g), held), "it died before")
		}
	}
}

// A transaction that was forgotten holds what it sees, and not what came and went since.
func TestAForgottenSnapshot(t *testing.T) {
	h := horizon.Begin(horizon.Marks{})
	var p horizon.Postponed
	x := func(g coherence.Generation) descriptor.ExtentID {
		return descriptor.ExtentID{Region: home, Generation: g}
	}
	all := func(memregion.RegionID) bool { return true }
	const last = 10_000 // changes; more than are remembered
	h.Took(40, slices.Values([]descriptor.ExtentID{x(40)}))
	h.Hold([]store.Revision{40})
	retired := 0
	step := func(at store.Revision) (due []descriptor.ExtentID) { // replaces what the one before brought
		h.Took(at, slices.Values([]descriptor.ExtentID{x(coherence.Generation(at))}))
		p.Add(at, []descriptor.ExtentID{x(coherence.Generation(at - 1))})
		due = p.Due(h, at, all)
		p.Remove(due)
		return due
	}
	for at := store.Revision(41); at < last; at++ {
		retired += len(step(at))
	}
	require.Equal(t, last-42, retired)
	require.Equal(t, []descriptor.ExtentID{x(40)}, slices.Collect(p.All()))
	h.Hold([]store.Revision{40, 100})
	require.Empty(t, step(last), "what 100 had is forgotten (HZ3)")
	h.Hold([]store.Revision{40})
	require.Equal(t, []descriptor.ExtentID{x(last - 1)}, p.Due(h, last, all))
	h.Hold(nil)
	require.Equal(t, []descriptor.ExtentID{x(40), x(last - 1)}, p.Due(h, last, all))
}
