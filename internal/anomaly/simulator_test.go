package anomaly_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/anomaly"
)

// fault is one deliberate fault of the simulated database.
type fault string

const (
	none            fault = ""
	overwrites      fault = "no first committer wins: the last one writes over the others"
	merges          fault = "no first committer wins: appends are put behind the others'"
	lateSnapshot    fault = "each statement of a transaction with a snapshot sees what is newest"
	dirtyReads      fault = "what is not committed is seen"
	keepsAborted    fault = "what was rolled back is kept"
	keepsUndone     fault = "what was taken back to a savepoint is kept"
	tornCommit      fault = "objects of one commit are shown one after the other"
	staleSnapshot   fault = "snapshots are one commit behind"
	laggingSets     fault = "snapshots of sets are one commit behind those of lists"
	losesCommits    fault = "some commits are acknowledged and not made"
	repeatsCommits  fault = "some commits are made twice"
	noValidation    fault = "serializable transactions commit whatever was changed"
	hidesOwn        fault = "a transaction does not see what it did"
	swapsForSome    fault = "some sessions see the last two values in another order"
	forgetsOnUpdate fault = "an append now and then forgets the value before"
)

// state is the contents of all objects. Immutable.
type state map[anomaly.Key][]anomaly.Value

// database is a naive one that keeps every state there ever was. Whatever happens in it happens at once; when, a random schedule decides.
type database struct {
	*rand.Rand
	fault   fault
	states  []state
	clock   anomaly.Moment
	holders map[anomaly.Key]*holder // of lists, until their transaction ends
	next    anomaly.Value
	history anomaly.History
	later   []func() // commits of which the clients get no answer
}

// holder is a transaction that has appended to a list.
type holder struct {
	own map[anomaly.Key][]anomaly.Value
}

// session is one client's conversation: it asks, then that is done, then it is answered, with others between.
type session struct {
	number   int
	phase    int
	open     bool
	snapshot int
	now      anomaly.Transaction
	ask      anomaly.Statement
	ends     bool
	*holder
	undone map[anomaly.Key][]anomaly.Value
	read   map[anomaly.Key]bool
	failed bool
}

var (
	lists = []anomaly.Key{"x", "y"}
	sets  = []anomaly.Key{"S", "T"}
)

func isSet(k anomaly.Key) bool { return slices.Contains(sets, k) }

func simulate(seed uint64, f fault) anomaly.History {
	d := &database{Rand: rand.New(rand.NewPCG(seed, 1)), fault: f, states: []state{{}}, holders: map[anomaly.Key]*holder{}}
	sessions := make([]*session, 4)
	for i := range sessions {
		sessions[i] = &session{number: i}
	}
	for range 400 {
		if len(d.later) > 0 && d.IntN(10) == 0 {
			d.later[0]()
			d.later = d.later[1:]
		}
		d.step(sessions[d.IntN(len(sessions))])
	}
	for _, s := range sessions {
		for s.phase != 0 || s.open {
			d.step(s)
		}
	}
	for range 3 { // all is looked at in the end
		last := &session{number: 9, open: true, holder: &holder{own: map[anomaly.Key][]anomaly.Value{}},
			undone: map[anomaly.Key][]anomaly.Value{}, now: anomaly.Transaction{Session: 9, Level: anomaly.SnapshotIsolation},
		}
		for _, key := range slices.Concat(lists, sets) {
			last.ask.Operations = append(last.ask.Operations, anomaly.Read(key))
		}
		last.phase = 1
		for last.phase != 0 || last.open {
			d.step(last)
		}
	}
	return d.history
}

func (d *database) tick() anomaly.Moment { d.clock++; return d.clock }

func (d *database) newest() state { return d.states[len(d.states)-1] }

func (d *database) step(s *session) {
	switch s.phase {
	case 0:
		d.asks(s)
	case 1:
		if s.ask.Begin == 0 {
			s.ask.Begin = d.tick()
		}
		if s.ends {
			d.end(s)
		} else {
			d.do(s)
		}
	case 2:
		d.answer(s)
		return
	}
	s.phase++
}

// asks chooses what the session asks next.
func (d *database) asks(s *session) {
	if !s.open {
		*s = session{number: s.number, open: true}
		s.now = anomaly.Transaction{Session: s.number, Level: anomaly.Level(d.IntN(3))}
		s.holder, s.undone = &holder{own: map[anomaly.Key][]anomaly.Value{}}, map[anomaly.Key][]anomaly.Value{}
	}
	s.ends = s.failed || len(s.now.Statements) > 0 && d.IntN(4) == 0
	s.ask = anomaly.Statement{Begin: d.tick()}
	if s.ends {
		s.now.Ending = s.ask.Begin
		return
	}
	for range 1 + d.IntN(2) {
		key := slices.Concat(lists, sets)[d.IntN(4)]
		o := anomaly.Read(key)
		if d.IntN(2) == 0 {
			d.next++
			o = anomaly.Append(key, d.next)
			o.Undone = d.IntN(6) == 0
		}
		s.ask.Operations = append(s.ask.Operations, o)
	}
}

// do does a statement.
func (d *database) do(s *session) {
	if s.read == nil {
		s.read, s.snapshot = map[anomaly.Key]bool{}, len(d.states)-1
		if d.fault == staleSnapshot {
			s.snapshot = max(0, s.snapshot-1)
		}
	}
	at := s.snapshot
	if s.now.Level == anomaly.ReadCommitted || d.fault == lateSnapshot {
		at = len(d.states) - 1
	}
	for i := range s.ask.Operations {
		o := &s.ask.Operations[i]
		switch {
		case !o.Append:
			o.Values = d.see(s, at, o.Key)
			s.read[o.Key] = true
		case !isSet(o.Key) && d.holders[o.Key] != nil && d.holders[o.Key] != s.holder:
			s.failed = true // it does not wait
		default:
			if !isSet(o.Key) && d.fault != overwrites && d.fault != merges {
				d.holders[o.Key] = s.holder
			}
			if o.Undone {
				s.undone[o.Key] = append(s.undone[o.Key], o.Value)
			} else {
				s.own[o.Key] = append(s.own[o.Key], o.Value)
			}
		}
	}
}

// see is what an object is to a session.
func (d *database) see(s *session, at int, key anomaly.Key) []anomaly.Value {
	if d.fault == laggingSets && isSet(key) {
		at = max(0, at-1)
	}
	values := slices.Clone(d.states[at][key])
	if d.fault == dirtyReads {
		if other := d.holders[key]; other != nil && other != s.holder {
			values = append(values, other.own[key]...)
		}
	}
	if n := len(values); d.fault == swapsForSome && n > 1 && s.number%2 == 1 {
		values[n-1], values[n-2] = values[n-2], values[n-1]
	}
	if d.fault != hidesOwn {
		values = append(values, s.own[key]...)
	}
	if isSet(key) {
		d.Shuffle(len(values), func(i, k int) { values[i], values[k] = values[k], values[i] })
	}
	return values
}

// end rolls back or commits.
func (d *database) end(s *session) {
	mine := s.holder
	unlock := func() {
		maps.DeleteFunc(d.holders, func(_ anomaly.Key, h *holder) bool { return h == mine })
	}
	if s.failed || d.IntN(8) == 0 {
		s.now.Outcome = anomaly.Aborted
		if d.fault == keepsAborted {
			d.make(s)
		}
		unlock()
		return
	}
	if d.conflicts(s) {
		s.now.Outcome = anomaly.Aborted
		unlock()
		return
	}
	if d.IntN(20) > 0 {
		d.make(s)
		unlock()
		return
	}
	s.now.Outcome = anomaly.Unknown
	gone := *s
	switch d.IntN(3) {
	case 0: // it was made, and the answer was lost
		d.make(s)
		unlock()
	case 1: // it will be
		d.later = append(d.later, func() {
			if !d.conflicts(&gone) {
				d.make(&gone)
			}
			unlock()
		})
	default: // it never was
		unlock()
	}
}

// conflicts reports whether a commit must fail.
func (d *database) conflicts(s *session) bool {
	changed := func(key anomaly.Key) bool { return !slices.Equal(d.newest()[key], d.states[s.snapshot][key]) }
	wrote := len(s.own) > 0
	for key := range s.own {
		if s.now.Level != anomaly.ReadCommitted && !isSet(key) && changed(key) && d.fault != overwrites && d.fault != merges {
			return true
		}
	}
	for key := range s.read {
		if s.now.Level == anomaly.Serializable && wrote && changed(key) && d.fault != noValidation {
			return true
		}
	}
	return false
}

// make makes the changes visible.
func (d *database) make(s *session) {
	if len(s.own) == 0 && len(s.undone) == 0 || d.fault == losesCommits && d.IntN(3) == 0 {
		return
	}
	own := maps.Clone(s.own)
	if d.fault == keepsUndone {
		for key, values := range s.undone {
			own[key] = slices.Concat(own[key], values)
		}
	}
	next := maps.Clone(d.newest())
	for i, key := range slices.Sorted(maps.Keys(own)) {
		if d.fault == tornCommit && i > 0 {
			d.later = append(d.later, func() {
				next := maps.Clone(d.newest())
				next[key] = slices.Concat(next[key], own[key])
				d.states = append(d.states, next)
			})
			continue
		}
		base := next[key]
		if d.fault == overwrites && !isSet(key) {
			base = d.states[s.snapshot][key]
		}
		if d.fault == forgetsOnUpdate && len(base) > 0 && d.IntN(3) == 0 {
			base = base[:len(base)-1]
		}
		next[key] = slices.Concat(base, own[key])
		if d.fault == repeatsCommits && d.IntN(3) == 0 {
			next[key] = slices.Concat(next[key], own[key])
		}
	}
	d.states = append(d.states, next)
}

// answer answers the session, and adds its transaction to the history if that is over.
func (d *database) answer(s *session) {
	at := d.tick()
	s.phase = 0
	if !s.ends {
		if s.failed { // it says nothing but that
			s.ask.Operations = slices.DeleteFunc(s.ask.Operations, func(o anomaly.Operation) bool { return !o.Append })
		}
		s.ask.End = at
		s.now.Statements = append(s.now.Statements, s.ask)
		return
	}
	s.now.End = at
	d.history = append(d.history, s.now)
	s.open = false
}

var everything = anomaly.Options{Set: isSet, RealTime: true, EveryRead: true}

// AN1: what a database that keeps its promises can show is sound.
func TestSoundHistories(t *testing.T) {
	committed, observed := 0, 0
	for seed := range uint64(2000) {
		history := simulate(seed, none)
		found, err := anomaly.Check(history, everything)
		require.NoError(t, err)
		for _, a := range found {
			require.Fail(t, "an anomaly where there is none", "seed %d: %v", seed, a)
		}
		for _, one := range history {
			if one.Outcome != anomaly.Committed {
				continue
			}
			committed++
			for _, s := range one.Statements {
				for _, o := range s.Operations {
					observed += len(o.Values)
				}
			}
		}
	}
	require.Greater(t, committed, 20_000)
	require.Greater(t, observed, 100_000)
}

// Each fault of the database is seen, most of them at once, by an anomaly that it makes.
func TestFaultsAreSeen(t *testing.T) {
	for f, kinds := range map[fault][]anomaly.Kind{
		overwrites:      {anomaly.LostUpdate, anomaly.LostAppend},
		merges:          {anomaly.LostUpdate},
		lateSnapshot:    {anomaly.Internal, anomaly.GSingle},
		dirtyReads:      {anomaly.G1a},
		keepsAborted:    {anomaly.G1a},
		keepsUndone:     {anomaly.G1a},
		tornCommit:      {anomaly.GSingle},
		staleSnapshot:   {anomaly.GSingle + "-realtime"},
		laggingSets:     {anomaly.GSingle},
		losesCommits:    {anomaly.LostAppend},
		repeatsCommits:  {anomaly.Duplicate},
		noValidation:    {anomaly.G2},
		hidesOwn:        {anomaly.Internal},
		swapsForSome:    {anomaly.IncompatibleOrder},
		forgetsOnUpdate: {anomaly.IncompatibleOrder, anomaly.LostAppend},
	} {
		t.Run(string(f), func(t *testing.T) {
			const most = 100
			seen, red := map[anomaly.Kind]int{}, 0
			for seed := range uint64(most) {
				found, err := anomaly.Check(simulate(seed, f), everything)
				require.NoError(t, err)
				for _, a := range found {
					seen[a.Kind]++
				}
				if len(found) > 0 {
					red++
				}
			}
			for _, kind := range kinds {
				require.Positive(t, seen[kind], "%s of %v", kind, seen)
			}
			var list []string
			for _, kind := range slices.Sorted(maps.Keys(seen)) {
				list = append(list, string(kind))
			}
			t.Logf("in %d of %d histories: %s", red, most, strings.Join(list, ", "))
		})
	}
}

// A history is sound under whatever is asked of it if it is under all.
func TestOptionsAskForLess(t *testing.T) {
	for seed := range uint64(100) {
		history := simulate(seed, none)
		for i := range 8 {
			o := anomaly.Options{Set: isSet, Session: i&1 > 0, RealTime: i&2 > 0, EveryRead: i&4 > 0}
			found, err := anomaly.Check(history, o)
			require.NoError(t, err)
			require.Empty(t, found, "seed %d, %+v", seed, o)
		}
	}
}
