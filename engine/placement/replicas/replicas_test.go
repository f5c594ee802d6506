package replicas_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/engine/placement"
	"github.com/csmsql/csmsql/engine/placement/replicas"
)

// holdersOf reads "a b:away c:gone d:lost".
func holdersOf(text string) (at []replicas.Holder) {
	for _, word := range strings.Fields(text) {
		name, state, _ := strings.Cut(word, ":")
		at = append(at, replicas.Holder{Node: name, State: map[string]replicas.State{"": replicas.Whole, "away": replicas.Away, "gone": replicas.Gone, "lost": replicas.Lost}[state]})
	}
	return at
}

// shown writes places as "a0 +b c2": what is kept has its former position.
func shown(to []replicas.Place) string {
	words := make([]string, len(to))
	for i, p := range to {
		if words[i] = fmt.Sprintf("%s%d", p.Node, p.Have); p.Have < 0 {
			words[i] = "+" + p.Node
		}
	}
	return strings.Join(words, " ")
}

func TestMended(t *testing.T) {
	for _, c := range []struct {
		what, placement string
		replicas        int
		online, at      string
		want            string
	}{
		{"nothing to do", "rows", 2, "a b c", "a b", "a0 b1"},
		{"one is missing", "rows", 2, "a b c", "b", "b0 +c"},
		{"round the end", "rows", 3, "a b c", "c", "c0 +a +b"},
		{"not enough nodes", "rows", 3, "a b", "b", "b0 +a"},
		{"the list's nodes first", "rows(a, d)", 3, "a b c d", "a", "a0 +d +b"},
		{"in the list's order", "hash(k) on (d, b, a)", 2, "a b c d", "b", "b0 +a"},
		{"away is no reason yet", "rows", 2, "a c", "a b:away", "a0 b1"},
		{"gone is", "rows", 2, "a c", "a b:gone", "a0 b1 +c"},
		{"the first is gone", "rows", 2, "a c", "b:gone a", "b0 a1 +c"},
		{"back again", "rows", 2, "a b c", "a b c", "a0 b1"},
		{"the first is back", "rows", 2, "a b c", "b a c", "b0 a1"},
		{"what stands in goes while another one is gone", "rows", 2, "a c", "a c b:gone", "a0 c1"},
		{"it is unknown whether it is gone: what stands in stays", "rows", 2, "a c", "a b:away c", "a0 b1 c2"},
		{"fewer are wanted", "rows", 1, "a b c", "a b c", "a0"},
		{"fewer are wanted, one is away", "rows", 1, "a c", "a b:away", "a0"},
		{"fewer are wanted, only the other one can be read", "rows", 1, "b c", "a:away b", "a0 b1"},
		{"lost", "rows", 2, "a b c", "a b:lost", "a0 +b"},
		{"the first is lost", "rows", 2, "a b c", "a:lost b", "+a b1"},
		{"the first is lost and its node is drained", "rows", 2, "b c", "a:lost b", "b1 +c"},
		{"the next one is away", "rows", 2, "c d", "a:lost b:away c", "c2 b1"},
		{"and with hash", "hash(k)", 2, "b c", "a:lost b", "a0 b1 +c"},
		{"none can be read", "rows", 2, "b c", "a:gone b:lost", "a0 b1"},
	} {
		p, err := placement.Parse(c.placement)
		require.NoError(t, err)
		w := &replicas.Plan{Placement: p, Replicas: c.replicas, Online: strings.Fields(c.online)}
		require.Equal(t, c.want, shown(w.Mended(holdersOf(c.at))), c.what)
	}
}

// Nodes come and go, disks are lost, the number is changed: whatever happens, a chunk has no node twice, loses no replica that is needed (RP2), has
// as many as it can once all was mended, is left alone then, and keeps its first node, with hash always.
func TestMendedWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 7))
		all := []string{"a", "b", "c", "d", "e"}
		p, err := placement.Parse([]string{"rows", "rows(b, d, a)", "hash(k) on (c, a, e)", "node(c)", "local"}[rng.IntN(5)])
		require.NoError(rt, err)
		up := map[string]replicas.State{}
		for _, name := range all {
			up[name] = replicas.Whole
		}
		first := all[rng.IntN(len(all))]
		if len(p.Nodes) > 0 {
			first = p.Nodes[rng.IntN(len(p.Nodes))]
		}
		at, k := []replicas.Holder{{Node: first, State: replicas.Whole}}, 1+rng.IntN(3)
		for range 30 {
			switch name := all[rng.IntN(len(all))]; rng.IntN(4) {
			case 0:
				up[name] = []replicas.State{replicas.Whole, replicas.Away, replicas.Gone}[rng.IntN(3)]
			case 1:
				k = 1 + rng.IntN(3)
			case 2:
				up[name] = replicas.Whole
				for i := range at { // it comes back without its memory
					if at[i].Node == name && rng.IntN(3) == 0 {
						at[i].State = replicas.Lost
					}
				}
			}
			var online []string
			for _, name := range all {
				if up[name] == replicas.Whole {
					online = append(online, name)
				}
			}
			for i := range at {
				if at[i].State != replicas.Lost {
					at[i].State = up[at[i].Node]
				}
			}
			if !slices.ContainsFunc(at, func(h replicas.Holder) bool { return h.State == replicas.Whole }) {
				w := &replicas.Plan{Placement: p, Replicas: k, Online: online}
				require.True(rt, replicas.Unchanged(w.Mended(at), len(at)))
				if len(online) == 0 {
					at = []replicas.Holder{{Node: first, State: replicas.Whole}} // the table is loaded again
					up[first] = replicas.Whole
					continue
				}
				at = remade(rt, w, at)
				continue
			}
			w := &replicas.Plan{Placement: p, Replicas: k, Online: online}
			to := w.Mended(at)
			next := make([]replicas.Holder, len(to))
			readable, nodes := 0, map[string]bool{}
			for i, x := range to {
				require.False(rt, nodes[x.Node], "%v", to)
				nodes[x.Node] = true
				next[i] = replicas.Holder{Node: x.Node, State: replicas.Whole}
				if x.Have >= 0 {
					next[i] = at[x.Have]
					require.Equal(rt, at[x.Have].Node, x.Node)
				} else {
					require.Contains(rt, online, x.Node)
				}
				if next[i].State == replicas.Whole {
					readable++
				}
			}
			for i, h := range at {
				if h.State == replicas.Whole && !slices.ContainsFunc(to, func(p replicas.Place) bool { return p.Have == i }) {
					require.GreaterOrEqual(rt, readable, k, "%v of %v", to, at)
				}
			}
			missing := slices.ContainsFunc(next, func(h replicas.Holder) bool { return h.State == replicas.Away })
			if !missing {
				require.GreaterOrEqual(rt, readable, min(k, len(online)), "%v of %v", to, at)
			}
			if p.Kind == placement.Hash || at[0].State != replicas.Lost {
				require.Equal(rt, at[0].Node, next[0].Node)
			}
			require.True(rt, replicas.Unchanged(w.Mended(next), len(next)), "once is enough: %v %v", next, w.Mended(next))
			require.LessOrEqual(rt, len(next), 2*len(all))
			at = next
		}
	})
}

// remade: as many replicas as are wanted are made, none lies on one node with another (RP1), and the first keeps
// its node as far as it may be back, with hash always (RP3). Nothing is left to mend (RP4).
func remade(t require.TestingT, w *replicas.Plan, at []replicas.Holder) []replicas.Holder {
	to := w.Remade(at)
	made, nodes := 0, map[string]bool{}
	next := make([]replicas.Holder, len(to))
	for i, x := range to {
		require.False(t, nodes[x.Node], "%v", to)
		nodes[x.Node] = true
		if next[i] = (replicas.Holder{Node: x.Node, State: replicas.Whole}); x.Have >= 0 {
			next[i] = at[x.Have]
			continue
		}
		made++
		require.Contains(t, w.Online, x.Node)
	}
	require.Equal(t, min(w.Replicas, len(w.Online)), made, "%v of %v", to, at)
	if w.Placement.Kind == placement.Hash || at[0].State != replicas.Lost {
		require.Equal(t, at[0].Node, next[0].Node)
	}
	require.True(t, replicas.Unchanged(w.Mended(next), len(next)), "once is enough: %v %v", next, w.Mended(next))
	return next
}

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		what, placement string
		replicas        int
		online, at      string
		first, want     string
	}{
		{"as it is", "rows", 2, "a b c", "a b", "a", "a0 b1"},
		{"the first one becomes the other one", "node(c)", 2, "a b c", "a b", "c", "+c a0"},
		{"the other one becomes the first", "node(b)", 2, "a b c", "a b", "b", "b1 a0"},
		{"what is not on the list goes", "rows(a, c)", 2, "a b c", "a b", "a", "a0 +c"},
		{"unless the list is too short", "rows(a)", 2, "a b c", "a b", "a", "a0 b1"},
		{"away may stay", "rows", 2, "a c", "a b:away", "a", "a0 b1"},
		{"gone may not", "rows", 2, "a c", "a b:gone", "a", "a0 +c"},
		{"nor what takes no rows any more", "rows", 2, "a c", "a b", "a", "a0 +c"},
	} {
		p, err := placement.Parse(c.placement)
		require.NoError(t, err)
		w := &replicas.Plan{Placement: p, Replicas: c.replicas, Online: strings.Fields(c.online)}
		require.Equal(t, c.want, shown(w.Places(c.first, holdersOf(c.at))), c.what)
	}
}
