package coherence_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// twin is the lender's protocol written down as simply as it can be: a map of generations, a list of pins, and a copy
// of everything before each step, so that all-or-nothing needs no thought.
type twin struct {
	snoop bool
	next  coherence.Generation
	live  map[coherence.Generation]twinExtent
	pins  []twinPin
	over  []coherence.Generation // reclaimed by the last step
}

type twinExtent struct {
	state  coherence.State
	seen   coherence.Seal // as the lender has seen it, before it seals
	writer coherence.Domain
	memory memregion.Range
}

type twinPin struct {
	domain     coherence.Domain
	generation coherence.Generation
}

func (w twin) clone() twin {
	w.live, w.pins, w.over = maps.Clone(w.live), slices.Clone(w.pins), nil
	return w
}

// step returns the state afterwards, or false and nothing has happened.
func (w twin) step(e coherence.Event) (twin, bool) {
	n := w.clone()
	ok := n.apply(e)
	if !ok {
		n = w.clone()
	}
	slices.Sort(n.over)
	return n, ok
}

func (w *twin) set(g coherence.Generation, s coherence.State) {
	x := w.live[g]
	x.state = s
	w.live[g] = x
}

func (w *twin) end(g coherence.Generation) {
	delete(w.live, g)
	w.over = append(w.over, g)
}

func (w *twin) pinned(g coherence.Generation, d coherence.Domain) bool {
	return slices.ContainsFunc(w.pins, func(p twinPin) bool { return p.generation == g && (d == "" || p.domain == d) })
}

func (w *twin) overlaps(r memregion.Range) bool {
	for _, x := range w.live {
		if r.Offset < x.memory.End() && x.memory.Offset < r.End() {
			return true
		}
	}
	return false
}

// endUnpinned ends what is retired and not pinned.
func (w *twin) endUnpinned() {
	for g, x := range w.live {
		if x.state == coherence.Retired && !w.pinned(g, "") {
			w.end(g)
		}
	}
}

// from takes one of the states of a bulk step.
func (w *twin) from(gens []coherence.Generation, s coherence.State, then func(coherence.Generation)) bool {
	for _, g := range gens {
		if w.live[g].state != s {
			return false
		}
		then(g) // a generation named twice is in another state the second time
	}
	return true
}

func (w *twin) apply(e coherence.Event) bool {
	x := w.live[e.Generation]
	foreign := w.snoop && x.writer != "home"
	switch e.Kind {
	case coherence.EventGrant:
		if w.overlaps(e.Range) {
			return false
		}
		w.live[w.next] = twinExtent{state: coherence.Granted, writer: e.Domain, memory: e.Range}
		w.next++
	case coherence.EventAdopt:
		if x.state != coherence.Free || e.Generation == 0 || e.Generation >= twinFirst || w.overlaps(e.Range) || !fits(e.Seal, e.Range) {
			return false
		}
		w.live[e.Generation] = twinExtent{state: coherence.Published, writer: "home", memory: e.Range}
	case coherence.EventShrunk:
		if x.state != coherence.Granted || e.Range.Offset != x.memory.Offset || e.Range.Length > x.memory.Length {
			return false
		}
		x.memory = e.Range
		w.live[e.Generation] = x
	case coherence.EventCleaned:
		switch x.state {
		case coherence.Granted:
			w.set(e.Generation, coherence.Cleaned)
		case coherence.Aborting:
			w.end(e.Generation)
		default:
			return false
		}
	case coherence.EventHomeCleaned:
		if x.state != coherence.Cleaned || !foreign {
			return false
		}
		w.set(e.Generation, coherence.HomeCleaned)
	case coherence.EventSeal:
		if x.state != coherence.HomeCleaned && (x.state != coherence.Cleaned || foreign) {
			return false
		}
		if !fits(e.Seal, x.memory) {
			return false
		}
		if foreign && x.seen != e.Seal {
			return true // it is asked to look first
		}
		w.set(e.Generation, coherence.Sealed)
	case coherence.EventVerified:
		if x.state != coherence.HomeCleaned {
			return false
		}
		x.seen = e.Seal
		w.live[e.Generation] = x
	case coherence.EventPublish:
		return w.from(e.Generations, coherence.Sealed, func(g coherence.Generation) { w.set(g, coherence.Published) })
	case coherence.EventDiscard:
		return w.from(e.Generations, coherence.Sealed, w.end)
	case coherence.EventLift:
		return w.from(e.Generations, coherence.Quarantined, w.end)
	case coherence.EventRetire:
		ok := w.from(e.Generations, coherence.Published, func(g coherence.Generation) { w.set(g, coherence.Retired) })
		w.endUnpinned()
		return ok
	case coherence.EventPin:
		for _, g := range e.Generations {
			s := w.live[g].state
			if s != coherence.Published && (s != coherence.Retired || !w.pinned(g, e.Domain)) {
				return false
			}
			w.pins = append(w.pins, twinPin{e.Domain, g})
		}
	case coherence.EventUnpin:
		for _, g := range e.Generations {
			at := slices.Index(w.pins, twinPin{e.Domain, g})
			if at < 0 {
				return false
			}
			w.pins = slices.Delete(w.pins, at, at+1)
		}
		w.endUnpinned()
	case coherence.EventExpire:
		w.pins = slices.DeleteFunc(w.pins, func(p twinPin) bool { return p.domain == e.Domain })
		w.endUnpinned()
	case coherence.EventAbort:
		switch x.state {
		case coherence.Granted:
			w.set(e.Generation, coherence.Aborting)
		case coherence.Cleaned, coherence.HomeCleaned:
			w.end(e.Generation)
		default:
			return false
		}
	case coherence.EventFenceOff:
		return w.fenceOff(e.Domain)
	}
	return true
}

func (w *twin) fenceOff(d coherence.Domain) bool {
	if d == "home" {
		return false
	}
	for g, x := range w.live {
		switch {
		case x.writer != d:
		case x.state == coherence.Granted || x.state == coherence.Aborting:
			w.set(g, coherence.Quarantined)
		case x.state == coherence.Cleaned || x.state == coherence.HomeCleaned:
			w.end(g)
		}
	}
	return true
}

func fits(s coherence.Seal, memory memregion.Range) bool {
	return s.Length >= 0 && s.Length <= memory.Length
}

// twinFirst leaves room for adoptions below.
const twinFirst = 6

var (
	twinDomains = []coherence.Domain{"home", "alpha", "beta"}
	twinEvents  = []coherence.EventKind{
		coherence.EventGrant, coherence.EventGrant, coherence.EventCleaned, coherence.EventCleaned, coherence.EventHomeCleaned,
		coherence.EventHomeCleaned, coherence.EventAbort,
		coherence.EventVerified, coherence.EventSeal, coherence.EventSeal, coherence.EventSeal, coherence.EventPublish, coherence.EventPublish, coherence.EventDiscard, coherence.EventPin,
		coherence.EventPin, coherence.EventUnpin, coherence.EventExpire, coherence.EventRetire, coherence.EventAbort, coherence.EventFenceOff,
		coherence.EventLift, coherence.EventAdopt, coherence.EventShrunk,
	}
)

// drawEvent prefers generations that are alive, so that long lives happen, and names dead and future ones too.
func drawEvent(t *rapid.T, w twin) coherence.Event {
	generation := rapid.Uint64Range(0, uint64(w.next)+1)
	if live := slices.Sorted(maps.Keys(w.live)); len(live) > 0 {
		generation = rapid.OneOf(generation, rapid.Map(rapid.SampledFrom(live), func(g coherence.Generation) uint64 { return uint64(g) }),
			rapid.Map(rapid.SampledFrom(live), func(g coherence.Generation) uint64 { return uint64(g) }))
	}
	one := rapid.Map(generation, func(g uint64) coherence.Generation { return coherence.Generation(g) })
	e := coherence.Event{
		Kind:        rapid.SampledFrom(twinEvents).Draw(t, "kind"),
		Generation:  one.Draw(t, "generation"),
		Generations: rapid.SliceOfN(one, 0, 3).Draw(t, "generations"),
		Domain:      rapid.SampledFrom(twinDomains).Draw(t, "domain"),
		Owner:       "t",
		Range: memregion.Range{
			// Around the start of the occupancy map, and around the border of two of its pieces.
			Offset: memregion.PageSize * rapid.OneOf(rapid.Int64Range(0, 80), rapid.Int64Range(1<<15-80, 1<<15+80)).Draw(t, "page"),
			Length: memregion.PageSize * rapid.OneOf(rapid.Int64Range(1, 3), rapid.Int64Range(1, 3), rapid.Int64Range(1, 70)).Draw(t, "pages"),
		},
		Seal: coherence.Seal{Length: rapid.SampledFrom([]int64{1, 1, 1, 1, -1, 71 * memregion.PageSize}).Draw(t, "bytes"), Checksum: rapid.Uint64Range(0, 1).Draw(t, "checksum")},
	}
	if x, alive := w.live[e.Generation]; alive && e.Kind == coherence.EventShrunk && rapid.Bool().Draw(t, "fits") {
		e.Range.Offset = x.memory.Offset
	}
	return e
}

// TestCoreAgreesWithItsTwin: the same steps are refused, the same generations end, the same states and pins remain.
func TestCoreAgreesWithItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		class := rapid.SampledFrom([]coherence.Class{coherence.Coherent, coherence.Incoherent, coherence.IncoherentHomeSnoop}).Draw(t, "class")
		core, err := coherence.NewCore(coherence.CoreConfig{Class: class, Home: "home", First: twinFirst, Unreserved: true})
		require.NoError(t, err)
		w := twin{snoop: class == coherence.IncoherentHomeSnoop, next: twinFirst, live: map[coherence.Generation]twinExtent{}}
		for range rapid.IntRange(50, 250).Draw(t, "steps") {
			e := drawEvent(t, w)
			list, err := core.Step(e)
			after, ok := w.step(e)
			require.Equal(t, ok, err == nil, "%v %+v: %v", e.Kind, e, err)
			require.Equal(t, after.over, released(list), "%v", e.Kind)
			w = after
			compare(t, core, w)
		}
	})
}

func released(list []coherence.Action) (gens []coherence.Generation) {
	for _, a := range list {
		if a.Kind == coherence.ActionReleaseMemory {
			gens = append(gens, a.Generation)
		}
	}
	slices.Sort(gens)
	return gens
}

func compare(t *rapid.T, core *coherence.Core, w twin) {
	var want coherence.Census
	want.Next, want.Pins = w.next, len(w.pins)
	holding := map[coherence.Domain]map[coherence.Generation]bool{}
	for _, p := range w.pins {
		if holding[p.domain] == nil {
			holding[p.domain] = map[coherence.Generation]bool{}
		}
		holding[p.domain][p.generation] = true
	}
	want.Domains = len(holding)
	for _, d := range twinDomains {
		require.Equal(t, len(holding[d]), core.Held(d))
	}
	for g := range w.next + 2 {
		x := w.live[g]
		view := core.View(g)
		require.Equal(t, x.state, view.State, "generation %d", g)
		require.Equal(t, x.memory, view.Range)
		if x.state != coherence.Free {
			want.Extents[x.state]++
			want.Bytes[x.state] += x.memory.Length
		}
	}
	require.Equal(t, want, core.Census(), fmt.Sprintf("%d pins", len(w.pins)))
}

// TestHostileEventsAreRefused: whatever a message says, the core answers with an error and stays whole.
func TestHostileEventsAreRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		core, err := coherence.NewCore(coherence.CoreConfig{Class: coherence.Incoherent, Home: "home", First: 10, Capacity: 1 << 20, Unreserved: true})
		require.NoError(t, err)
		number := rapid.OneOf(rapid.Int64(), rapid.Map(rapid.Int64Range(-1, 300), func(n int64) int64 { return n * memregion.PageSize }))
		generation := rapid.Map(rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 20)), func(g uint64) coherence.Generation { return coherence.Generation(g) })
		for range 100 {
			e := coherence.Event{
				Kind:        coherence.EventKind(rapid.IntRange(int(coherence.EventGrant), 40).Draw(t, "kind")),
				Generation:  generation.Draw(t, "generation"),
				Generations: rapid.SliceOfN(generation, 0, 4).Draw(t, "generations"),
				Domain:      coherence.Domain(rapid.SampledFrom([]string{"", "home", "alpha"}).Draw(t, "domain")),
				Range:       memregion.Range{Offset: number.Draw(t, "offset"), Length: number.Draw(t, "length")},
				Seal:        coherence.Seal{Length: number.Draw(t, "bytes")},
			}
			before := core.Census()
			if _, err := core.Step(e); err != nil {
				require.Equal(t, before, core.Census(), "a refused step changes nothing")
			}
		}
	})
}
