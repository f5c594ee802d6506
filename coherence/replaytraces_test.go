package coherence_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/coherence/model"
	"github.com/csmsql/csmsql/internal/testsuite"
	"github.com/csmsql/csmsql/memregion"
)

// TestWalksReplayOnTheRealCores: whatever the scripts and the hardware do, the cores order what the model orders.
func TestWalksReplayOnTheRealCores(t *testing.T) {
	for _, class := range model.Classes() {
		for seed := range uint64(60 * testsuite.Effort()) {
			m := model.New(model.Config{Class: class, Explicit: true, Halves: true})
			trace := m.Walk(rand.New(rand.NewPCG(seed, 1)), 300)
			require.NoError(t, newReplay(class, trace, model.Addresses*memregion.PageSize).run(), "in halves, seed %d", seed)
		}
		replayAbove(t, class)
		m := model.New(model.Config{Class: class, Explicit: true, Mismatches: true})
		steps, kinds := 0, map[model.Kind]int{}
		for seed := range uint64(60 * testsuite.Effort()) {
			trace := m.Walk(rand.New(rand.NewPCG(seed, 0)), 500)
			require.NoError(t, newReplay(class, trace, memregion.PageSize).run(), "seed %d", seed)
			for _, moment := range trace.Moments {
				kinds[moment.Step.Kind]++
				steps++
			}
		}
		for kind := model.Grant; kind <= model.Evict; kind++ {
			free := kind == model.Zero || kind == model.DropAhead || kind == model.DroppedAhead
			if kind != model.LateStore && kind != model.Reject && !slices.Contains(above, kind) && (kind != model.HomeFlushed || class == coherence.IncoherentHomeSnoop) && (!free || class == coherence.Incoherent) {
				require.Greater(t, kinds[kind], 50, "%v happens too rarely to be tested", kind)
			}
		}
		t.Logf("%v: %d steps, %v", class, steps, kinds)
	}
}

// above are the steps of what lending, borrowing and the engine do above the protocol, of copies, and of hardware that
// takes its time.
var above = []model.Kind{model.Restart, model.Grow, model.Reallocate, model.Replicate, model.Beside, model.Stream, model.Pass, model.Land, model.Drain}

// replayAbove is with restarts, extents that move, replicas, several processes of a machine, all ways to copy, and
// write-backs that take their time.
func replayAbove(t *testing.T, class coherence.Class) {
	m := model.New(model.Config{Class: class, Explicit: true, Restarts: true, Grows: true, Replicas: true, Processes: true, Evictions: true, Copies: true})
	kinds := map[model.Kind]int{}
	for seed := range uint64(120 * testsuite.Effort()) {
		trace := m.Walk(rand.New(rand.NewPCG(seed, 2)), 500)
		require.NoError(t, newReplay(class, trace, memregion.PageSize).run(), "seed %d", seed)
		for _, moment := range trace.Moments {
			kinds[moment.Step.Kind]++
		}
	}
	for _, kind := range above {
		config := model.Config{Class: class, Explicit: true, Restarts: true, Grows: true, Replicas: true, Processes: true}
		if kind >= model.Stream {
			config = model.Config{Class: class, Explicit: true, Evictions: true, Copies: true}
		}
		trace, err := model.New(config).Reach(kind)
		require.NoError(t, err)
		require.NotNil(t, trace, "%v never happens", kind)
		require.NoError(t, newReplay(class, trace, memregion.PageSize).run(), "%v", kind)
		require.True(t, kinds[kind] > 20 || kind == model.Replicate, "%v happens too rarely to be tested", kind) // a copy needs a read before: few walks get there
	}
	t.Logf("%v, above: %v", class, kinds)
}

// TestALostHalfLineIsRejected: the run of decision 0016, which hardly any walk finds.
func TestALostHalfLineIsRejected(t *testing.T) {
	for _, class := range model.Classes() {
		trace, err := model.New(model.Config{Class: class, Halves: true}).Reach(model.Reject)
		require.NoError(t, err)
		require.Equal(t, class == coherence.IncoherentHomeSnoop, trace != nil)
		if trace != nil {
			t.Logf("\n%v", trace)
			require.NoError(t, newReplay(class, trace, model.Addresses*memregion.PageSize).run())
		}
	}
}

// TestShortestRunsReplayOnTheRealCores: every shortest run to every protocol state.
func TestShortestRunsReplayOnTheRealCores(t *testing.T) {
	for _, class := range model.Classes() {
		runs, steps := 0, 0
		for label, traces := range model.New(model.Config{Class: class, Explicit: true, Mismatches: true}).Shortest() {
			for _, trace := range traces {
				require.NoError(t, newReplay(class, trace, memregion.PageSize).run(), label)
				runs++
				steps += len(trace.Moments)
			}
		}
		t.Logf("%v: %d runs, %d steps", class, runs, steps)
	}
}

// TestCounterexamplesReplayOnTheMachine: what the model finds wrong with a mutation, a reader of the emulated memory
// loads too.
func TestCounterexamplesReplayOnTheMachine(t *testing.T) {
	for _, mutation := range model.Mutations() {
		for _, class := range mutation.Classes() {
			trace := counterexample(t, mutation, class)
			require.NotNil(t, trace, "%v, %v", mutation, class)
			line := memregion.PageSize
			if mutation == model.TwoExtentsInOneLine || mutation == model.LenderDoesNotLook {
				line *= model.Addresses
			}
			r := newReplay(class, trace, line)
			for i, moment := range trace.Moments {
				if moment.Step.Kind == model.Grant {
					r.numbers[moment.Step.Slot] = coherence.Generation(i + 1)
				}
				if moment.Step.Kind == model.Reallocate {
					r.numbers[moment.Step.First] = coherence.Generation(i + 1)
				}
				r.touch(moment)
				if _, _, count, _ := moment.After.Generation(model.Addresses); count > 0 && r.numbers[model.Addresses] == 0 {
					r.numbers[model.Addresses] = r.numbers[moment.Step.Slot] // it is over, and a node still reads it
				}
				require.NoError(t, r.compareBytes(&moment.After), "%v, %v, step %d\n%v", mutation, class, i+1, trace)
			}
			v := trace.Violation
			from := int(v.Address) * memregion.PageSize
			loaded := slices.Clone(r.cpus[v.Node].load(from, from+64))
			require.NotEqual(t, r.content(int(v.Slot), int(v.Address))[:64], loaded, "%v, %v\n%v", mutation, class, trace)
		}
	}
}
