package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/store"
	"github.com/csmsql/csmsql/internal/faults"
)

// flawed is a world's store, of which some transactions fail: those that put notes, and those that seal them.
type flawed struct {
	*store.Memory
	w *world
}

// flaw is what the store does wrong. What is zero goes right.
type flaw struct {
	after   int  // so many of its kind have gone right
	seals   bool // its kind: those that seal; else those that put notes
	err     error
	happens bool
	silent  bool // it does not say what has happened
}

var errFlaw = errors.New("the store has a flaw")

// takes reports whether the flaw is that of a transaction. It is met once.
func (f *flaw) takes(t store.Transaction) bool {
	var puts, seals bool
	for _, item := range t.Puts {
		_, _, is := keys.ParseNote(item.Key)
		puts = puts || is
	}
	for _, key := range t.Deletes {
		_, _, is := keys.ParseNote(key)
		seals = seals || is
	}
	if !(puts || seals) || seals != f.seals {
		return false
	}
	f.after--
	return f.after == -1
}

func (s *flawed) Commit(ctx context.Context, t store.Transaction) (revision store.Revision, err error) {
	f := &s.w.flaw
	if f.err == nil || !f.takes(t) {
		return s.Memory.Commit(ctx, t)
	}
	if f.happens {
		if _, err := s.Memory.Commit(ctx, t); err != nil {
			return 0, err
		}
	}
	s.w.deltas.doubt = s.w.deltas.doubt || f.silent
	return 0, f.err
}

func (s *flawed) Get(ctx context.Context, key string) (store.Item, bool, error) {
	if f := s.w.flaw; f.err != nil && f.silent && f.after < 0 {
		return store.Item{}, false, errFlaw
	}
	return s.Memory.Get(ctx, key)
}

// someFlaw is one that the store has now and then.
func someFlaw(rng *rand.Rand) (f flaw) {
	if rng.IntN(6) > 0 {
		return f
	}
	f = flaw{after: rng.IntN(2), seals: rng.IntN(2) == 0, err: fmt.Errorf("%w: %w", store.ErrUnknown, errFlaw)}
	if rng.IntN(3) == 0 {
		f.err = errFlaw
		return f
	}
	f.happens, f.silent = rng.IntN(2) == 0, rng.IntN(4) == 0
	return f
}

// meeting is notes of several sessions that come while something else is under way, so that they are in one group.
type meeting struct {
	w       *world
	others  []*note
	leaves  map[*note]bool // is cancelled while it waits
	late    map[*note]bool // is cancelled in the turn of the first one, before it is asked itself
	cancel  map[*note]context.CancelFunc
	started bool
	wait    sync.WaitGroup

	session *session // whose commit comes, too; nil: none does
	behind  bool     // it waits with the notes
	commits func(now *twin)
	starts  func() // when the next commit begins
	begun   bool   // that commit
	commit  error
}

func (w *world) newNote(rng *rand.Rand, names []catalog.TableName, clock int64) *note {
	n := &note{w: w, name: pick(rng, names), full: rng.IntN(10) == 0, refused: rng.IntN(10) == 0}
	for range 1 + rng.IntN(3) {
		n.values = append(n.values, w.next)
		w.next++
	}
	n.apply = func(now *twin) {
		require.Contains(w.t, now.tables, n.name)
		now.append(n.name, n.id, n.values, clock)
	}
	n.misses = func(now *twin) { require.NotContains(w.t, now.tables, n.name) }
	return n
}

// meet has notes come while a note, a commit of s, or a seal is under way; the commit may wait with them. It reports
// whether s has ended, and whether the catalog has to be opened again.
func (w *world) meet(rng *rand.Rand, now *twin, names []catalog.TableName, s *session, clock int64) (over, doubt bool) {
	m := &meeting{w: w, leaves: map[*note]bool{}, late: map[*note]bool{}, cancel: map[*note]context.CancelFunc{}}
	contexts := map[*note]context.Context{}
	for i := range rng.IntN(6) {
		n := w.newNote(rng, names, clock)
		m.others = append(m.others, n)
		contexts[n], m.cancel[n] = context.WithCancel(ctx)
		m.leaves[n] = rng.IntN(12) == 0
		m.late[n] = i > 0 && rng.IntN(12) == 0
	}
	if len(m.others) > 0 {
		m.others[0].meanwhile = m.cancelLate
	}
	if s != nil && rng.IntN(2) == 0 {
		m.session = s
		m.commits = func(now *twin) {
			if !errors.Is(m.commit, errFlaw) { // else the catalog is in doubt, and nothing has changed
				*now = *w.commit(s, now, clock, m.commit)
			}
		}
	}
	w.flaw, w.fault = someFlaw(rng), m.fault
	first, kind := w.newNote(rng, names, clock), rng.IntN(3)
	var seal error
	switch {
	case kind == 0 && m.session != nil:
		m.goes(contexts)
		m.commit = s.tx.Commit(ctx)
	case kind == 1 && len(w.deltas.tables) > 0:
		m.behind = m.session != nil
		m.goes(contexts)
		var snapshot *catalog.Snapshot
		if snapshot, seal = w.catalog.Snapshot(ctx, catalog.Holder{}); seal == nil {
			snapshot.Close()
		} else {
			require.ErrorIs(w.t, seal, errFlaw)
		}
	default:
		m.behind = m.session != nil
		first.meanwhile = func() { m.start(contexts) }
		first.start(ctx)
		m.check(first)
	}
	m.wait.Wait()
	w.fault, w.flaw = nil, flaw{}
	if !m.started { // nothing was under way
		m.others = nil
		if over = m.commit != nil || m.begun; !over {
			m.session = nil
		}
	}
	for _, n := range m.others {
		m.cancel[n]()
		m.check(n)
		doubt = doubt || errors.Is(n.err, catalog.ErrOutcomeUnknown)
	}
	if m.session != nil && !m.begun {
		require.ErrorIs(w.t, m.commit, errFlaw, "rows that were noted could not be sealed")
	}
	require.Empty(w.t, w.faults)
	w.settle(now)
	for _, err := range []error{m.commit, seal, first.err} {
		doubt = doubt || errors.Is(err, catalog.ErrOutcomeUnknown)
	}
	return m.session != nil, doubt
}

// goes has the others come when the next commit begins.
func (m *meeting) goes(contexts map[*note]context.Context) { m.starts = func() { m.start(contexts) } }

func (m *meeting) cancelLate() {
	for _, n := range m.others {
		if m.late[n] && !m.leaves[n] {
			m.cancel[n]()
		}
	}
}

// fault is in the turn of a commit that begins: one that seals, or the session's.
func (m *meeting) fault(at faults.Point) {
	if at != faults.CommitBegin {
		return
	}
	if m.session != nil && !m.begun && !m.w.deltas.sealing {
		m.begun = true
		m.w.events = append(m.w.events, m.commits)
	}
	if starts := m.starts; starts != nil {
		m.starts = nil
		starts()
	}
}

// start has the others come, one behind the other, and those leave that are to.
func (m *meeting) start(contexts map[*note]context.Context) {
	m.started = true
	for i, n := range m.others {
		n.left = make(chan struct{})
		m.wait.Go(func() {
			defer close(n.left)
			n.start(contexts[n])
		})
		m.waits(i + 1)
	}
	if m.behind {
		m.wait.Go(func() {
			defer func() {
				if r := recover(); r != nil {
					m.commit = fmt.Errorf("panic: %v %s", r, debug.Stack())
				}
			}()
			m.commit = m.session.tx.Commit(ctx)
		})
		m.waits(len(m.others) + 1)
	}
	for _, n := range m.others {
		if m.leaves[n] {
			m.cancel[n]()
			<-n.left
		}
	}
}

// waits returns when so many wait for their turn.
func (m *meeting) waits(n int) {
	for m.w.catalog.Waiting() < n {
		runtime.Gosched()
	}
}

// check compares what a note was answered with what has happened to its rows.
func (m *meeting) check(n *note) {
	t := m.w.t
	require.Equal(t, n.admitted, n.noted, "each that is admitted hears of it once")
	require.LessOrEqual(t, n.admitted, 1)
	require.Equal(t, n.admitted > 0 && n.err == nil, n.taken)
	switch {
	case n.taken:
		require.True(t, n.durable)
	case n.admitted > 0:
		require.ErrorIs(t, n.err, errFlaw)
		require.True(t, !n.durable || errors.Is(n.err, catalog.ErrOutcomeUnknown))
	case m.leaves[n]:
		require.ErrorIs(t, n.err, context.Canceled)
		require.False(t, n.asked)
	case !n.asked && m.late[n] && errors.Is(n.err, context.Canceled):
	case n.asked && n.said == nil: // it refused
		require.NoError(t, n.err)
	case n.asked && errors.Is(n.said, catalog.ErrConflict):
		require.ErrorIs(t, n.err, catalog.ErrConflict)
	default: // deltas that could not be sealed
		require.ErrorIs(t, n.err, errFlaw)
	}
}

// crash has another process take over, of which now and then the first snapshot finds that the rows cannot be sealed
// that it has to show; later ones do.
func (w *world) crash(rng *rand.Rand, now *twin) {
	w.later++ // no two processes begin at the same time, by which they know their commits
	w.restart()
	w.settle(now)
	if rng.IntN(2) == 0 {
		return
	}
	left := w.deltas.onRecord()
	w.flaw = flaw{seals: true, err: errFlaw}
	s, err := w.catalog.Snapshot(ctx, catalog.Holder{})
	if w.flaw = (flaw{}); err == nil {
		s.Close()
	}
	require.Equal(w.t, len(left) > 0, errors.Is(err, errFlaw), "%v", err)
}
