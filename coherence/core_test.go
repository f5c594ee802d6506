package coherence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// What the twin (twin_test.go) comes upon now and then only is here for certain.

// coreWith is a core with so many generations, from 1 on, of one page each. Those of writer are cleaned, as far as the writer and the lender do that.
func coreWith(t *testing.T, class coherence.Class, writer coherence.Domain, generations int) *coherence.Core {
	core, err := coherence.NewCore(coherence.CoreConfig{Class: class, Home: "home", First: 1, Unreserved: true})
	require.NoError(t, err)
	for i := range generations {
		g := coherence.Generation(i + 1)
		steps(t, core,
			coherence.Event{Kind: coherence.EventGrant, Owner: "t", Domain: writer, Range: memregion.Range{Offset: int64(i) * memregion.PageSize, Length: memregion.PageSize}},
			coherence.Event{Kind: coherence.EventCleaned, Generation: g})
		if class == coherence.IncoherentHomeSnoop && writer != "home" {
			steps(t, core, coherence.Event{Kind: coherence.EventHomeCleaned, Generation: g})
		}
	}
	return core
}

// steps gives what the last one orders.
func steps(t *testing.T, core *coherence.Core, events ...coherence.Event) (list []coherence.Action) {
	t.Helper()
	for _, e := range events {
		var err error
		list, err = core.Step(e)
		require.NoError(t, err, "%v", e.Kind)
	}
	return list
}

// published seals and publishes a generation.
func published(t *testing.T, core *coherence.Core, g coherence.Generation) {
	t.Helper()
	steps(t, core, coherence.Event{Kind: coherence.EventSeal, Generation: g, Seal: coherence.Seal{Length: 1}},
		coherence.Event{Kind: coherence.EventPublish, Generations: []coherence.Generation{g}})
}

// A domain has as many pins of a generation as it has queries that read it; its lease is one, and ends them all.
func TestPinsOfADomainEndTogether(t *testing.T) {
	core := coreWith(t, coherence.Incoherent, "home", 1)
	published(t, core, 1)
	gens := []coherence.Generation{1}
	pin := coherence.Event{Kind: coherence.EventPin, Domain: "alpha", Generations: gens}
	require.Empty(t, steps(t, core, pin, pin, pin, coherence.Event{Kind: coherence.EventRetire, Generations: gens}))
	require.Equal(t, 3, core.Census().Pins)
	require.Equal(t, gens, released(steps(t, core, coherence.Event{Kind: coherence.EventExpire, Domain: "alpha"})))
	require.Zero(t, core.Census().Pins)
}

// A pin of several generations is one step: if one cannot be pinned none is, and none is held afterwards.
func TestAPinThatFailsHoldsNothing(t *testing.T) {
	core := coreWith(t, coherence.Incoherent, "home", 2)
	published(t, core, 1)
	_, err := core.Step(coherence.Event{Kind: coherence.EventPin, Domain: "alpha", Generations: []coherence.Generation{1, 2}})
	require.Error(t, err)
	require.Zero(t, core.Census().Pins)
	require.Zero(t, core.View(1).Pins)
	require.Zero(t, core.Held("alpha"))
	require.Equal(t, []coherence.Generation{1}, released(steps(t, core, coherence.Event{Kind: coherence.EventRetire, Generations: []coherence.Generation{1}})))
}

// The lender looks at what it seals, with the checksum that is sealed: having seen other bytes right counts for nothing (decision 0016).
func TestOnlyWhatWasLookedAtIsSealed(t *testing.T) {
	core := coreWith(t, coherence.IncoherentHomeSnoop, "alpha", 1)
	seen, other := coherence.Seal{Length: 1, Checksum: 1}, coherence.Seal{Length: 1, Checksum: 2}
	list := steps(t, core, coherence.Event{Kind: coherence.EventVerified, Generation: 1, Seal: seen}, coherence.Event{Kind: coherence.EventSeal, Generation: 1, Seal: other})
	require.Equal(t, coherence.ActionVerify, list[0].Kind)
	require.Equal(t, coherence.HomeCleaned, core.View(1).State)
	list = steps(t, core, coherence.Event{Kind: coherence.EventSeal, Generation: 1, Seal: seen})
	require.NotEqual(t, coherence.ActionVerify, list[0].Kind)
	require.Equal(t, coherence.Sealed, core.View(1).State)
}

// C4: what a grant keeps when it shrinks is its beginning. A report of anything else changes nothing.
func TestAGrantShrinksAtItsEnd(t *testing.T) {
	pages := func(first, n int64) memregion.Range {
		return memregion.Range{Offset: first * memregion.PageSize, Length: n * memregion.PageSize}
	}
	core, err := coherence.NewCore(coherence.CoreConfig{Class: coherence.Incoherent, Home: "home", First: 1, Unreserved: true})
	require.NoError(t, err)
	steps(t, core, coherence.Event{Kind: coherence.EventGrant, Owner: "t", Domain: "alpha", Range: pages(2, 4)})
	for _, r := range []memregion.Range{pages(3, 1), pages(3, 3), pages(5, 1), pages(1, 2), pages(1, 5), pages(2, 5), pages(6, 1)} {
		before := core.Census()
		_, err := core.Step(coherence.Event{Kind: coherence.EventShrunk, Generation: 1, Range: r})
		require.ErrorIs(t, err, coherence.ErrInput, "%v", r)
		require.Equal(t, before, core.Census())
	}
	steps(t, core, coherence.Event{Kind: coherence.EventShrunk, Generation: 1, Range: pages(2, 2)})
	steps(t, core, coherence.Event{Kind: coherence.EventGrant, Owner: "t", Domain: "alpha", Range: pages(4, 2)}) // that is free
}
