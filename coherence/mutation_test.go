package coherence_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/coherence/model"
	"github.com/csmsql/csmsql/internal/testsuite"
	"github.com/csmsql/csmsql/memregion"
)

// effects is what a mutation of the common table (package model) does in the emulated memory. The zero value is the
// protocol.
type effects struct {
	line        int     // emulated line size, if the mutation needs a special one
	noFlush     []phase // these flushes do nothing
	noFence     []phase // these full fences do nothing
	lineShort   []phase // these flushes end one line early
	lateFlush   bool    // the writer's flush is done after the publish
	earlyFlush  bool    // every cache flushes when the extent is granted
	localKeeps  bool    // the lender as a writer does not flush where its cache is snooped
	earlyHome   bool    // the home flushes before the writer does
	speculative bool    // the reader's flush is done before it looks for a descriptor
	byAddress   bool    // readers remember by address
	earlyUnpin  bool    // readers give the pin back before they load
	lateStore   bool    // the writer stores into a sealed line
	halves      bool    // lines are stored in two pieces now and then, as they are without a mutation
	storesAgain bool    // a writer stores into a line that it has copied and flushed
	unfenced    bool    // stores past the caches do not wait at their end
	evicted     bool    // the writer's flush leaves out what has left its cache
	forgets     bool    // the allocator zeroes pages and still takes their lines for dropped
	notHeld     bool    // memory is granted and zeroed while its lines are dropped ahead
	leaks       bool    // a host that is fenced off keeps its caches, and its way to the memory
}

var effectsOf = map[model.Mutation]effects{
	model.NoWriterFlush:            {noFlush: []phase{clean}},
	model.NoFenceBeforePublish:     {noFence: []phase{clean}},
	model.PublishBeforeFlush:       {lateFlush: true},
	model.NoReaderFlush:            {noFlush: []phase{acquire}},
	model.ReaderFlushesBeforeWrite: {noFlush: []phase{acquire}, earlyFlush: true},
	model.NoFenceBeforeLoad:        {noFence: []phase{acquire}},
	model.HomeNotFlushed:           {noFlush: []phase{homeClean}},
	model.HomeFlushedBeforeWriter:  {noFlush: []phase{homeClean}, earlyHome: true},
	model.TwoExtentsInOneLine:      {line: 2 * memregion.PageSize},
	model.ReuseBeforeRelease:       {earlyUnpin: true},
	model.AbortedLinesSurvive:      {noFlush: []phase{abort}},
	model.RememberedByAddress:      {byAddress: true},
	model.StoreIntoSealed:          {lateStore: true},
	model.WriterOneLineShort:       {lineShort: []phase{clean}},
	model.ReaderOneLineShort:       {lineShort: []phase{acquire}},
	model.PapersOrder:              {noFlush: []phase{prepare, acquire, homeClean}, earlyFlush: true, localKeeps: true},
	model.HomeOneLineShort:         {lineShort: []phase{homeClean}},
	model.ZeroesNotFlushed:         {noFlush: []phase{prepare}},
	model.ShrunkTailSurvives:       {noFlush: []phase{shrink}},
	model.ReaderStoreFence:         {noFence: []phase{acquire}}, // for loads it waits for no flush
	model.NoFenceBeforeReaderFlush: {noFlush: []phase{acquire}, speculative: true},
	model.FencedWriterReaches:      {leaks: true},
	model.LenderDoesNotLook:        {halves: true},
	model.ZeroesForgotten:          {forgets: true},
	model.StoredWhileAhead:         {notHeld: true},
	model.NoFenceAhead:             {noFence: []phase{ahead}},
	model.EvictedNotFlushed:        {evicted: true},
	model.StreamedNotFenced:        {unfenced: true},    // why streamCopy and streamBehind end with a store fence
	model.StoreIntoPassed:          {storesAgain: true}, // why Grant.Copy forbids it
}

func has(list []phase, p phase) bool {
	for _, one := range list {
		if one == p {
			return true
		}
	}
	return false
}

func (e effects) flush(s *simulation, cpu *cpu, from, to int) (int, int) {
	p := s.current.phase
	keeps := e.localKeeps && s.class == coherence.IncoherentHomeSnoop && cpu == s.home
	if has(e.noFlush, p) || p == clean && (e.lateFlush || keeps) {
		return from, from
	}
	if has(e.lineShort, p) {
		return from, max(from, to-s.line)
	}
	return from, to
}

func (e effects) dropFence(p phase) bool { return has(e.noFence, p) }

// granted is the papers' step before the write.
func (e effects) granted(s *simulation, r memregion.Range) {
	if e.earlyFlush {
		s.flushAt(r, s.cpus...)
	}
}

func (s *simulation) flushAt(r memregion.Range, cpus ...*cpu) {
	for _, c := range cpus {
		c.flushNow(int(r.Offset), int(r.End()))
		s.yield()
	}
}

// beforeLooking is a reader's flush that went ahead of the fence before it.
func (e effects) beforeLooking(s *simulation, c *cpu) {
	if e.speculative {
		c.flushNow(0, len(s.memory))
		for range s.random.IntN(30) {
			s.yield()
		}
	}
}

func (e effects) beforeClean(s *simulation, r memregion.Range) {
	if e.earlyHome {
		s.flushAt(r, s.home)
	}
}

func (e effects) afterPublish(s *simulation, c *cpu, r memregion.Range) {
	if e.lateFlush {
		for range 20 { // late enough for a reader to come in between
			s.yield()
		}
		s.flushAt(r, c)
	}
	if e.lateStore {
		c.store(int(r.Offset), []byte("late"))
	}
}

func (e effects) remember(x publishedExtent) coherence.Generation {
	if e.byAddress {
		return coherence.Generation(1<<40 + x.memory.Offset)
	}
	return x.generation
}

func (e effects) releaseEarly() bool { return e.earlyUnpin }

const simulationRounds = 12

// TestProtocolHoldsOnIncoherentMemory is the other half: nothing wrong, with every step in its place (C1–C5).
func TestProtocolHoldsOnIncoherentMemory(t *testing.T) {
	seeds := uint64(100 * testsuite.Effort())
	for _, class := range model.Classes() {
		for _, line := range []int{64, 128, 512, 4096} {
			t.Run(fmt.Sprintf("%v/%d", class, line), func(t *testing.T) {
				lost := 0
				for seed := range seeds {
					s := newSimulation(class, line, seed, model.None)
					require.NoError(t, s.run(simulationRounds), "seed %d", seed)
					require.NoError(t, s.broken, "seed %d", seed)
					lost += s.lost
					require.Positive(t, s.scans, "seed %d: there were reads", seed)
					for len(s.published) > 0 {
						s.retireOne()
					}
					require.Empty(t, s.allocator.live, "seed %d: every page went back", seed)
				}
				require.Equal(t, class == coherence.IncoherentHomeSnoop, lost > 0, "%d writings lost half a line and were rejected", lost)
			})
		}
	}
}

// TestThePapersOrderLeavesAStaleLine plays the trace of doc.go by hand, without any chance: every cache flushes before
// the write, the writer flushes after it, and one prefetch in between is enough.
func TestThePapersOrderLeavesAStaleLine(t *testing.T) {
	for _, class := range model.Classes() {
		m := newMachine(class, 64, 1, nil, "home", "alpha", "beta")
		writer, reader := m.cpus[1], m.cpus[2]
		for _, c := range m.cpus {
			c.flushNow(0, 64)
		}
		reader.fetch(0) // a prefetch
		writer.store(0, []byte("new"))
		writer.flushNow(0, 64)
		require.Equal(t, "new", string(m.memory[:3]), "memory is right")
		require.NotEqual(t, "new", string(reader.load(0, 3)), "the reader is not, and never will be")
		reader.flushNow(0, 64)
		require.Equal(t, "new", string(reader.load(0, 3)), "step 6 cures it")
	}
}

// TestALineInTheHomesCacheAnswersForEver is why step 4 exists, and why it comes after step 3.
func TestALineInTheHomesCacheAnswersForEver(t *testing.T) {
	m := newMachine(coherence.IncoherentHomeSnoop, 64, 1, nil, "home", "alpha", "beta")
	writer, reader := m.cpus[1], m.cpus[2]
	writer.store(0, []byte("new"))
	m.home.fetch(0) // a prefetch of the lender, before the write-back
	writer.flushNow(0, 64)
	reader.flushNow(0, 64)
	require.NotEqual(t, "new", string(reader.load(0, 3)), "the reader did its step; the home's line answered")
	reader.drop(0)
	m.home.flushNow(0, 64)
	require.Equal(t, "new", string(reader.load(0, 3)))
}
