package coherence_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// mutation takes one step out of the protocol, or puts it in the wrong place. The zero value is the protocol.
type mutation struct {
	name       string
	classes    []coherence.Class
	line       int     // emulated line size, if the mutation needs a special one
	noFlush    []phase // these flushes do nothing
	noFence    []phase // these full fences do nothing
	lineShort  []phase // these flushes end one line early
	lateFlush  bool    // the writer's flush is done after the publish
	earlyFlush bool    // readers flush when the extent is granted
	earlyHome  bool    // the home flushes before the writer does
	byAddress  bool    // readers remember by address
	earlyUnpin bool    // readers give the pin back before they load
	lateStore  bool    // the writer stores into a sealed line
}

func has(list []phase, p phase) bool {
	for _, one := range list {
		if one == p {
			return true
		}
	}
	return false
}

func (m mutation) flush(s *simulation, from, to int) (int, int) {
	p := s.current.phase
	if has(m.noFlush, p) || m.lateFlush && p == clean {
		return from, from
	}
	if has(m.lineShort, p) {
		return from, max(from, to-s.line)
	}
	return from, to
}

func (m mutation) dropFence(p phase) bool { return has(m.noFence, p) }

// granted is the papers' step before the write.
func (m mutation) granted(s *simulation, r memregion.Range) {
	if m.earlyFlush {
		s.flushAt(r, s.cpus...)
	}
}

func (s *simulation) flushAt(r memregion.Range, cpus ...*cpu) {
	for _, c := range cpus {
		c.flush(int(r.Offset), int(r.End()))
		c.fence()
		s.yield()
	}
}

func (m mutation) beforeClean(s *simulation, r memregion.Range) {
	if m.earlyHome {
		s.flushAt(r, s.home)
	}
}

func (m mutation) afterPublish(s *simulation, c *cpu, r memregion.Range) {
	if m.lateFlush {
		s.flushAt(r, c)
	}
	if m.lateStore {
		c.store(int(r.Offset), []byte("late"))
	}
}

func (m mutation) remember(x publishedExtent) coherence.Generation {
	if m.byAddress {
		return coherence.Generation(1<<40 + x.memory.Offset)
	}
	return x.generation
}

func (m mutation) releaseEarly() bool { return m.earlyUnpin }

var (
	bothFabrics = []coherence.Class{coherence.Incoherent, coherence.IncoherentHomeSnoop}
	homeSnoop   = []coherence.Class{coherence.IncoherentHomeSnoop}
)

// mutations are the rows of DESIGN §5, and three that the implementation added.
var mutations = []mutation{
	{name: "no writer flush", classes: bothFabrics, noFlush: []phase{clean}},
	{name: "no fence before publish", classes: bothFabrics, noFence: []phase{clean}},
	{name: "publish before flush", classes: bothFabrics, lateFlush: true},
	{name: "no reader flush", classes: bothFabrics, noFlush: []phase{acquire}},
	{name: "reader flushes only before the write", classes: bothFabrics, noFlush: []phase{acquire}, earlyFlush: true},
	{name: "no fence between reader flush and load", classes: bothFabrics, noFence: []phase{acquire}},
	{name: "home not flushed", classes: homeSnoop, noFlush: []phase{homeClean}},
	{name: "home flushed before the writer's flush", classes: homeSnoop, noFlush: []phase{homeClean}, earlyHome: true},
	{name: "two extents in one line", classes: bothFabrics, line: 2 * memregion.PageSize},
	{name: "re-use before the last release", classes: bothFabrics, earlyUnpin: true},
	{name: "an aborted writer's dirty lines survive", classes: bothFabrics, noFlush: []phase{abort}},
	{name: "acquire remembered by address", classes: bothFabrics, byAddress: true},
	{name: "a store into a sealed line", classes: bothFabrics, lateStore: true},
	{name: "writer's range one line short", classes: bothFabrics, lineShort: []phase{clean}},
	{name: "reader's range one line short", classes: bothFabrics, lineShort: []phase{acquire}},
	{name: "home's range one line short", classes: homeSnoop, lineShort: []phase{homeClean}},
	{name: "the papers' own order", classes: bothFabrics, noFlush: []phase{acquire, homeClean}, earlyFlush: true},
	{name: "lender's zeroes not flushed before a foreign grant", classes: bothFabrics, noFlush: []phase{prepare}},
	{name: "a shrunk tail's dirty lines survive", classes: bothFabrics, noFlush: []phase{shrink}},
}

const (
	simulationRounds = 12
	mutationSeeds    = 200 // at most, to find one wrong value
)

// TestEveryMutationIsSeenAsAWrongValue takes each step out in turn: some reader must load a foreign byte.
func TestEveryMutationIsSeenAsAWrongValue(t *testing.T) {
	for _, m := range mutations {
		for _, class := range m.classes {
			t.Run(fmt.Sprintf("%s/%v", m.name, class), func(t *testing.T) {
				line := max(m.line, 512)
				for seed := range uint64(mutationSeeds) {
					s := newSimulation(class, line, seed, m)
					if wrong := s.run(simulationRounds); wrong != nil {
						t.Logf("seed %d: %v", seed, wrong)
						return
					}
					require.NoError(t, s.broken)
				}
				t.Fatalf("survived %d seeds", mutationSeeds)
			})
		}
	}
}

// TestProtocolHoldsOnIncoherentMemory is the other half: nothing wrong, with every step in its place (C1–C5).
func TestProtocolHoldsOnIncoherentMemory(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 20
	}
	for _, class := range bothFabrics {
		for _, line := range []int{64, 128, 512, 4096} {
			t.Run(fmt.Sprintf("%v/%d", class, line), func(t *testing.T) {
				for seed := range seeds {
					s := newSimulation(class, line, seed, mutation{})
					require.NoError(t, s.run(simulationRounds), "seed %d", seed)
					require.NoError(t, s.broken, "seed %d", seed)
					require.Positive(t, s.scans, "seed %d: somebody read something", seed)
					for len(s.published) > 0 {
						s.retireOne()
					}
					require.Empty(t, s.allocator.live, "seed %d: every page went back", seed)
				}
			})
		}
	}
}

// TestThePapersOrderLeavesAStaleLine plays the trace of doc.go by hand, without any chance: every cache flushes before
// the write, the writer flushes after it, and one prefetch in between is enough.
func TestThePapersOrderLeavesAStaleLine(t *testing.T) {
	for _, class := range bothFabrics {
		m := newMachine(class, 64, 1, nil, "home", "alpha", "beta")
		writer, reader := m.cpus[1], m.cpus[2]
		for _, c := range m.cpus {
			c.flush(0, 64)
			c.fence()
		}
		reader.fetch(0) // a prefetch
		writer.store(0, []byte("new"))
		writer.flush(0, 64)
		writer.fence()
		require.Equal(t, "new", string(m.memory[:3]), "memory is right")
		require.NotEqual(t, "new", string(reader.load(0, 3)), "the reader is not, and never will be")
		reader.flush(0, 64)
		reader.fence()
		require.Equal(t, "new", string(reader.load(0, 3)), "step 6 cures it")
	}
}

// TestALineInTheHomesCacheAnswersForEver is why step 4 exists, and why it comes after step 3.
func TestALineInTheHomesCacheAnswersForEver(t *testing.T) {
	m := newMachine(coherence.IncoherentHomeSnoop, 64, 1, nil, "home", "alpha", "beta")
	writer, reader := m.cpus[1], m.cpus[2]
	writer.store(0, []byte("new"))
	m.home.fetch(0) // a prefetch of the lender, before the write-back
	writer.flush(0, 64)
	writer.fence()
	reader.flush(0, 64)
	reader.fence()
	require.NotEqual(t, "new", string(reader.load(0, 3)), "the reader did its step; the home's line answered")
	reader.drop(0)
	m.home.flush(0, 64)
	m.home.fence()
	require.Equal(t, "new", string(reader.load(0, 3)))
}
