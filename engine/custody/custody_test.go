package custody_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/memregion"
)

const region = 7

// fake is a space that grants numbers. Its lender has on record what it granted and was not given back.
type fake struct {
	last     coherence.Generation
	record   map[coherence.Generation]bool
	fail     error
	granting func() // while a grant is under way, after it is on record
}

func (f *fake) Region() memregion.RegionID { return region }

func (f *fake) Grant(string, int64) (catalog.Grant, error) {
	if f.fail != nil {
		return nil, f.fail
	}
	g := f.give()
	if f.granting != nil {
		f.granting()
	}
	return g, nil
}

func (f *fake) give() *fakeGrant {
	f.last++
	f.record[f.last] = true
	return &fakeGrant{fake: f, generation: f.last}
}

func (f *fake) Discard(list ...coherence.Generation) error {
	for _, g := range list {
		delete(f.record, g)
	}
	return nil
}

func (f *fake) onRecord() (ids []catalog.ExtentID) {
	for g := range f.record {
		ids = append(ids, id(g))
	}
	return ids
}

type fakeGrant struct {
	chunk.Grant
	fake       *fake
	generation coherence.Generation
	sealed     bool
	lost       error // what Abort and Grow say of the extent that they give back
}

func (g *fakeGrant) Generation() coherence.Generation { return g.generation }

func (g *fakeGrant) Seal(coherence.Seal) error {
	g.sealed = true
	return nil
}

func (g *fakeGrant) Abort() error {
	if !g.sealed && g.lost == nil {
		delete(g.fake.record, g.generation)
	}
	return g.lost
}

func (g *fakeGrant) Grow(int64, int64) error {
	longer := g.fake.give()
	if g.lost == nil {
		delete(g.fake.record, g.generation)
	}
	g.generation = longer.generation
	return g.lost
}

func id(g coherence.Generation) catalog.ExtentID {
	return catalog.ExtentID{Region: region, Generation: g}
}

var errLost = errors.New("lost")

// H1, H2: whatever order grants, seals, commits, ends and lost answers come in, what is held is never disclaimed, and what is not held is, after two
// answers, unless a call of before is still under way. The twin is a list of holders and their extents.
func TestDisclaimerModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var book custody.Book
		f := &fake{record: map[coherence.Generation]bool{}}
		holders := []*custody.Holder{book.Open("a"), book.Open("b")}
		type extent struct {
			grant catalog.Grant
			by    int
		}
		held := map[coherence.Generation]extent{}
		missed := map[coherence.Generation]int{} // in how many answers, one after the other
		var d custody.Disclaimer
		answer := func(granting coherence.Generation) {
			list := d.Answer(&book, f.onRecord())
			for _, x := range list {
				require.NotContains(rt, held, x.Generation, "it is held")
				require.NotEqual(rt, granting, x.Generation, "it is being granted")
			}
			for g := range f.record {
				if _, ok := held[g]; ok || g == granting {
					delete(missed, g)
				} else if missed[g]++; missed[g] > 1 && granting == 0 {
					require.Contains(rt, list, id(g), "it has no holder")
				}
			}
			require.NoError(rt, f.Discard(generations(list)...))
		}
		pick := func() coherence.Generation {
			var list []coherence.Generation
			for g := range held {
				list = append(list, g)
			}
			if len(list) == 0 {
				return 0
			}
			slices.Sort(list)
			return rapid.SampledFrom(list).Draw(rt, "which")
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			who := rapid.IntRange(0, 1).Draw(rt, "who")
			switch op := rapid.SampledFrom([]string{"grant", "grant during answers", "refused", "lost", "seal", "abort", "abort lost", "grow", "discard", "committed", "end", "answer", "answer"}).Draw(rt, "op"); op {
			case "grant", "grant during answers":
				f.granting = nil
				if op != "grant" {
					f.granting = func() { answer(f.last); answer(f.last); answer(f.last) }
				}
				g, err := holders[who].Space(f).Grant("t", 1)
				require.NoError(rt, err)
				held[g.Generation()] = extent{g, who}
			case "refused":
				f.fail = errLost
				_, err := holders[who].Space(f).Grant("t", 1)
				require.ErrorIs(rt, err, errLost)
				f.fail = nil
			case "lost":
				f.give() // its answer is lost, and the caller has forgotten the call
			case "answer":
				answer(0)
			case "end":
				left := holders[who].Close()
				var want []catalog.ExtentID
				for g, x := range held {
					if x.by == who {
						want = append(want, id(g))
						delete(held, g)
					}
				}
				require.ElementsMatch(rt, want, left)
				holders[who] = book.Open("again")
			default:
				g := pick()
				if g == 0 {
					continue
				}
				x := held[g]
				inner := innerOf(x.grant)
				switch op {
				case "seal":
					require.NoError(rt, x.grant.Seal(coherence.Seal{}))
				case "abort", "abort lost":
					inner.lost = nil
					if op == "abort lost" {
						inner.lost = errLost
					}
					require.Equal(rt, inner.lost, x.grant.Abort())
					if !inner.sealed {
						delete(held, g)
					}
				case "grow":
					inner.lost = rapid.SampledFrom([]error{nil, errLost}).Draw(rt, "how")
					require.Equal(rt, inner.lost, x.grant.(chunk.Growing).Grow(2, 1))
					require.NotEqual(rt, g, x.grant.Generation())
					delete(held, g)
					held[x.grant.Generation()] = x
				case "discard":
					require.NoError(rt, holders[who].Space(f).Discard(g))
					delete(held, g)
				case "committed":
					book.Over(id(g))
					delete(held, g)
					delete(f.record, g)
				}
			}
			want := map[coherence.Generation]string{}
			for g, x := range held {
				want[g] = holders[x.by].Name()
			}
			require.Equal(rt, want, book.Held(region))
			require.Empty(rt, book.Held(region+1))
			require.False(rt, book.Calling())
		}
	})
}

// innerOf finds the grant of the space below.
func innerOf(g catalog.Grant) *fakeGrant { return custody.Inner(g).(*fakeGrant) }

func generations(ids []catalog.ExtentID) (list []coherence.Generation) {
	for _, x := range ids {
		list = append(list, x.Generation)
	}
	return list
}

// H3: in every history of extents that are held, passed on and lost, a stray is an extent that had no holder in Rounds
// rounds in the same state, and nothing else; and the accounts have every byte, once. The twin counts for each extent
// its rounds without a holder.
func TestAuditModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type twin struct {
			custody.Extent
			holder string
			lonely int // rounds without a holder
			was    coherence.State
		}
		var audit custody.Audit
		twins := map[coherence.Generation]*twin{}
		names := []string{"", "", "session 1", "load", "node n2"}
		states := []coherence.State{coherence.Granted, coherence.Sealed, coherence.Published, coherence.Retired, coherence.Quarantined}
		next := coherence.Generation(1)
		for range rapid.IntRange(1, 40).Draw(rt, "rounds") {
			for range rapid.IntRange(0, 4).Draw(rt, "changes") {
				if len(twins) == 0 || rapid.Bool().Draw(rt, "new") {
					twins[next] = &twin{Extent: custody.Extent{Generation: next, State: rapid.SampledFrom(states).Draw(rt, "state"), Bytes: rapid.Int64Range(1, 1<<40).Draw(rt, "bytes"), Own: rapid.Bool().Draw(rt, "own")}, holder: rapid.SampledFrom(names).Draw(rt, "holder")}
					next++
					continue
				}
				g := coherence.Generation(rapid.Uint64Range(1, uint64(next-1)).Draw(rt, "which"))
				x := twins[g]
				switch {
				case x == nil:
				case rapid.IntRange(0, 3).Draw(rt, "how") == 0:
					delete(twins, g)
				case rapid.Bool().Draw(rt, "pass on"):
					x.holder = rapid.SampledFrom(names).Draw(rt, "holder")
				default:
					x.State = rapid.SampledFrom(states).Draw(rt, "state")
				}
			}
			var living, strays []custody.Extent
			accounts, suspects, sum := map[string]custody.Account{}, custody.Account{}, int64(0)
			for _, x := range twins {
				living = append(living, x.Extent)
				sum += x.Bytes
				if x.holder != "" {
					x.lonely = 0
					a := accounts[x.holder]
					accounts[x.holder] = custody.Account{Holder: x.holder, Extents: a.Extents + 1, Bytes: a.Bytes + x.Bytes}
					continue
				}
				if x.lonely++; x.was != x.State {
					x.lonely = 1
				}
				x.was = x.State
				suspects.Extents, suspects.Bytes = suspects.Extents+1, suspects.Bytes+x.Bytes
				if x.lonely >= custody.Rounds {
					strays = append(strays, x.Extent)
				}
			}
			r := audit.Round(living, func(x custody.Extent) string { return twins[x.Generation].holder })
			require.ElementsMatch(rt, strays, r.Strays)
			require.Equal(rt, suspects, r.Suspects)
			require.Len(rt, r.Accounts, len(accounts))
			for _, a := range r.Accounts {
				require.Equal(rt, accounts[a.Holder], a)
			}
			require.Equal(rt, sum, r.Bytes(), "to the byte")
		}
	})
}

// H4.
func TestRemedies(t *testing.T) {
	for state := coherence.Granted; state <= coherence.Quarantined; state++ {
		want := custody.ReportOnly
		switch state {
		case coherence.Sealed:
			want = custody.Discard
		case coherence.Published:
			want = custody.Abandon
		}
		require.Equal(t, want, custody.RemedyOf(custody.Extent{State: state}), "%v", state)
		require.Equal(t, want, custody.RemedyOf(custody.Extent{State: state, Own: true}), "%v", state)
	}
}

func TestForWhom(t *testing.T) {
	var book custody.Book
	h := book.Open("load of t")
	require.Nil(t, custody.From(context.Background()))
	require.Same(t, h, custody.From(custody.With(context.Background(), h)))
	require.Equal(t, "load of t", fmt.Sprint(h.Name()))
	require.Empty(t, h.Close())
}

// What a commit in doubt has published outlives its session's holder: it is not disclaimed, and it is no stray.
func TestDoubtOutlivesItsSession(t *testing.T) {
	f := &fake{record: map[coherence.Generation]bool{}}
	var book custody.Book
	session, doubt := book.Open("session"), book.Open("doubt")
	space := session.Space(f)
	published, err := space.Grant("", 1)
	require.NoError(t, err)
	require.NoError(t, published.Seal(coherence.Seal{}))
	forgotten, err := space.Grant("", 1)
	require.NoError(t, err)
	require.NoError(t, forgotten.Seal(coherence.Seal{}))
	book.Pass(doubt, id(published.Generation()), id(99))
	require.Equal(t, []catalog.ExtentID{id(forgotten.Generation())}, session.Close())
	require.Equal(t, map[coherence.Generation]string{published.Generation(): "doubt"}, book.Held(region))
	var d custody.Disclaimer
	for range 3 {
		require.NotContains(t, d.Answer(&book, f.onRecord()), id(published.Generation()))
	}
	book.Committed(id(published.Generation()))
	require.Empty(t, book.Held(region))
}
