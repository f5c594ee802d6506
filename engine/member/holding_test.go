package member_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/engine/custody"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/memregion"
)

const region = 7

// numbers is a space that grants the numbers 1, 2, …
type numbers struct {
	catalog.Space
	last coherence.Generation
}

func (*numbers) Region() memregion.RegionID { return region }

func (n *numbers) Grant(string, int64) (catalog.Grant, error) {
	n.last++
	return granted{generation: n.last}, nil
}

type granted struct {
	catalog.Grant
	generation coherence.Generation
}

func (g granted) Generation() coherence.Generation { return g.generation }
func (granted) Abort() error                       { return nil }

// A holder that ends with extents is a mistake of this program, which its log and its figures show; one that ends
// without is none.
func TestWhatIsLeftAtAHoldersEndIsLogged(t *testing.T) {
	var text strings.Builder
	n := member.Holding(slog.New(slog.NewTextHandler(&text, nil)))
	space := &numbers{}
	for _, left := range []bool{false, true} {
		h := n.Hold("a load")
		for range 3 {
			g, err := n.Held(custody.With(t.Context(), h), space).Grant("t", 1)
			require.NoError(t, err)
			if !left {
				require.NoError(t, g.Abort())
			}
		}
		require.Empty(t, text.String())
		require.Zero(t, n.Strays().HeldTooLong)
		n.LetGo(h)
		require.Empty(t, n.Book().Held(region))
	}
	require.EqualValues(t, 3, n.Strays().HeldTooLong)
	require.Contains(t, text.String(), `"memory was held beyond its holder's end" holder="a load" extents=3`)
}

// lender gives back all that it is asked to, or says that it cannot.
type lender struct {
	catalog.Lender
	err error
}

func (l lender) Discard(...catalog.ExtentID) error { return l.err }
func (l lender) Retire(...catalog.ExtentID) error  { return l.err }

// What the catalog gave back is unowned here, also if the lender did not receive it: then the janitor finds it.
func TestWhatWasGivenBackIsUnowned(t *testing.T) {
	for _, lost := range []error{nil, errors.New("lost")} {
		for name, giveBack := range map[string]func(catalog.Lender, ...catalog.ExtentID) error{"discard": catalog.Lender.Discard, "retire": catalog.Lender.Retire} {
			t.Run(name, func(t *testing.T) {
				var book custody.Book
				space := book.Open("a load").Space(&numbers{})
				var ids []catalog.ExtentID
				for range 2 {
					g, err := space.Grant("t", 1)
					require.NoError(t, err)
					ids = append(ids, catalog.ExtentID{Region: region, Generation: g.Generation()})
				}
				require.Equal(t, lost, giveBack(member.Keeping(lender{err: lost}, &book), ids[0]))
				require.Equal(t, map[coherence.Generation]string{ids[1].Generation: "a load"}, book.Held(region))
			})
		}
	}
}
