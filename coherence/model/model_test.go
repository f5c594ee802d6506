package model

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/testsuite"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected outputs")

// TestTheProtocolHolds visits every state, with lines that are stored at once and with lines that are stored in two
// pieces. The numbers are those of the model as it is: one that changes shows that the model has changed, and a commit
// that changes it says why.
func TestTheProtocolHolds(t *testing.T) {
	for _, c := range []struct {
		config Config
		states int
	}{
		// All that they reach with neither of these two, TestMutationTable of package coherence visits by itself.
		{Config{Class: coherence.Incoherent, Evictions: true, Copies: true}, 336317},
		{Config{Class: coherence.IncoherentHomeSnoop, Evictions: true, Copies: true}, 135835},
		{Config{Class: coherence.Incoherent, Halves: true, Evictions: true, Copies: true}, 1297},
		{Config{Class: coherence.IncoherentHomeSnoop, Halves: true, Evictions: true, Copies: true}, 1053},
		{Config{Class: coherence.Incoherent, Restarts: true}, 406199},
		{Config{Class: coherence.Incoherent, Grows: true}, 428528},
		{Config{Class: coherence.Incoherent, Replicas: true}, 271342}, // a replica is stored as anything else is
		{Config{Class: coherence.Incoherent, Processes: true}, 705078},
		{Config{Class: coherence.IncoherentHomeSnoop, Restarts: true, Grows: true, Replicas: true, Processes: true}, 242905},
		{Config{Class: coherence.IncoherentHomeSnoop, Restarts: true, Grows: true, Replicas: true, Processes: true, Evictions: true, Copies: true}, 432712},
		{Config{Class: coherence.Incoherent, Restarts: true, Grows: true, Replicas: true, Processes: true, Evictions: true, Copies: true}, 1442811},
	} {
		t.Run(c.config.String(), func(t *testing.T) {
			everything := c.config.Restarts && c.config.Processes && c.config.Evictions
			if (everything || c.config.Class == coherence.Incoherent && c.config.Processes) && testsuite.Effort() == 1 {
				t.Skip("a minute: " + testsuite.EffortVariable + "=2")
			}
			t.Parallel()
			m := New(c.config)
			r, err := m.Search(Everything)
			require.NoError(t, err)
			if r.Violation != nil {
				t.Fatalf("%v\n%v", r.Violation, m.Trace(r))
			}
			t.Logf("%d states, %d steps between them, at most %d from the beginning", r.States, r.Steps, r.Depth)
			require.Equal(t, c.states, r.States)
		})
	}
}

// TestAcquiresEndWithWrongChecksums is C6 where every checksum is wrong: on one place by default, on both with effort.
func TestAcquiresEndWithWrongChecksums(t *testing.T) {
	for _, class := range Classes() {
		m := New(Config{Class: class, Mismatches: true, Addresses: min(testsuite.Effort(), Addresses)})
		r, err := m.Search(Everything)
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		t.Logf("%v: %d states", class, r.States)
	}
}

// TestEveryMutationLeadsToAWrongValue: X3, and the traces as one reads them.
func TestEveryMutationLeadsToAWrongValue(t *testing.T) {
	var traces strings.Builder
	for _, mutation := range Mutations() {
		for _, class := range mutation.Classes() {
			m := New(Config{Class: class, Mutation: mutation})
			r, err := m.Search(C1)
			require.NoError(t, err)
			require.NotNil(t, r.Violation, "%v survives on %v", mutation, class)
			fmt.Fprintf(&traces, "%v, %v\n\n%v\n", mutation, class, m.Trace(r))
		}
	}
	golden(t, "testdata/traces.txt", traces.String())
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "if it is meant, go test with -rewrite and look at the difference")
}

// TestHardwareThatWaitsIsNeeded: what these mutations leave out is missed where write-backs, or stores past the caches,
// take their time, and nowhere else.
func TestHardwareThatWaitsIsNeeded(t *testing.T) {
	for _, mutation := range []Mutation{EvictedNotFlushed, StreamedNotFenced, StoreIntoPassed} {
		for _, class := range mutation.Classes() {
			m := New(Config{Class: class, Mutation: mutation, Addresses: 1})
			r, err := m.Search(C1)
			require.NoError(t, err)
			require.NotNil(t, r.Violation, "%v on %v", mutation, class)
			m.effects.evictions, m.effects.copies = false, false
			r, err = m.Search(Everything)
			require.NoError(t, err)
			require.Nil(t, r.Violation, "%v on %v", mutation, class)
		}
	}
}

// TestEveryInvariantCanBreak: a check that no mutation can break checks nothing.
func TestEveryInvariantCanBreak(t *testing.T) {
	for invariant, config := range map[Invariant]Config{
		C1: {Mutation: NoReaderFlush},
		C2: {Mutation: NoWriterFlush},
		C3: {Mutation: AbortedLinesSurvive},
		C4: {Mutation: TwoExtentsInOneLine},
		C5: {Mutation: ReuseBeforeRelease},
		C6: {Addresses: 1, keepPins: true},
	} {
		for _, class := range Classes() {
			config.Class = class
			m := New(config)
			r, err := m.Search(invariant)
			require.NoError(t, err)
			require.NotNil(t, r.Violation, "%v on %v", invariant, class)
			require.Equal(t, invariant, r.Violation.Invariant)
			require.Contains(t, m.Trace(r).String(), invariant.describedBy())
		}
	}
}

// describedBy is a piece of the last line of a trace that breaks i.
func (i Invariant) describedBy() string {
	if i == C1 {
		return "loads place"
	}
	return i.String() + ": "
}

// TestReductionsLoseNothing searches without the reductions, reduces what it found, and finds the same. Mutations lead
// to states that the protocol never sees.
func TestReductionsLoseNothing(t *testing.T) {
	mutations := []Mutation{None, AbortedLinesSurvive, ZeroesNotFlushed, StoreIntoSealed, NoFenceBeforeLoad, LenderDoesNotLook, StoredWhileAhead, EvictedNotFlushed, StreamedNotFenced, StoreIntoPassed}
	if testsuite.Effort() > 1 {
		mutations = append([]Mutation{None}, Mutations()...)
	}
	for _, mutation := range mutations {
		places := 1
		if mutation == LenderDoesNotLook || mutation == TwoExtentsInOneLine {
			places = 2 // of one line
		}
		for _, class := range mutation.Classes() {
			config := Config{Class: class, Mutation: mutation, Addresses: places}
			reduced := New(config)
			want := map[Key]bool{}
			config.Explicit = true
			all := states(New(config))
			for k := range all {
				s := unpack(k)
				reduced.canonicalize(&s)
				want[s.key()] = true
			}
			got := states(reduced)
			require.Equal(t, len(want), len(got), "%v, %v", mutation, class)
			for k := range got {
				require.True(t, want[k], "%v, %v: a state that nothing leads to", mutation, class)
			}
			t.Logf("%v, %v: %d states are %d", mutation, class, len(all), len(got))
		}
	}
}

// states visits everything, in the simplest way.
func states(m *Model) map[Key]bool {
	var initial State
	seen := map[Key]bool{m.Key(&initial): true}
	queue := []Key{m.Key(&initial)}
	for len(queue) > 0 {
		s := unpack(queue[0])
		queue = queue[1:]
		m.successors(&s, func(_ Step, next State) {
			if k := m.Key(&next); !seen[k] {
				seen[k] = true
				queue = append(queue, k)
			}
		})
	}
	return seen
}

// TestKeysNameStates: packing loses nothing, and swapping the borrowers twice is nothing.
func TestKeysNameStates(t *testing.T) {
	for _, class := range Classes() {
		m := New(Config{Class: class, Explicit: true, Mismatches: true})
		for seed := range uint64(20) {
			for _, moment := range m.Walk(rand.New(rand.NewPCG(seed, 0)), 200).Moments {
				s := moment.After
				require.Equal(t, s, unpack(s.pack(false)))
				swapped := unpack(s.pack(true))
				require.Equal(t, s.pack(false), swapped.pack(true))
				require.Equal(t, s.key(), swapped.key())
			}
		}
	}
}

// TestEveryMutationIsInTheTable: a mutation without an effect would be the protocol, and prove nothing.
func TestEveryMutationIsInTheTable(t *testing.T) {
	names := map[string]bool{}
	for _, m := range Mutations() {
		require.NotEmpty(t, m.String())
		require.False(t, names[m.String()], m.String())
		names[m.String()] = true
		require.NotEqual(t, effects{}, effectsOf[m], m.String())
	}
	require.Equal(t, effects{}, effectsOf[None])
}

// TestShortestRunsReachEveryState: each state of the lender's diagram is reached.
func TestShortestRunsReachEveryState(t *testing.T) {
	for _, class := range Classes() {
		runs := New(Config{Class: class, Explicit: true, Mismatches: true}).Shortest()
		for state := coherence.Granted; state <= coherence.Quarantined; state++ {
			if state == coherence.HomeCleaned && class != coherence.IncoherentHomeSnoop {
				continue
			}
			found := false
			for label := range runs {
				found = found || strings.HasPrefix(label, state.String())
			}
			require.True(t, found, "%v", state)
		}
		count := 0
		for _, list := range runs {
			count += len(list)
		}
		t.Logf("%v: %d protocol states, %d shortest runs", class, len(runs), count)
	}
}
