package catalog_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/record"
)

// borrow is a snapshot of the node as a borrower has it: all of it, or asking for its tables.
func (n *rackNode) borrow(t require.TestingT, partial bool, asks *int, expected []catalog.TableName) *catalog.Snapshot {
	s, err := n.catalog.Snapshot(ctx, catalog.Holder{Domain: "borrower", TTL: time.Hour, Partial: partial})
	require.NoError(t, err)
	made, err := n.catalog.Record(s)
	require.NoError(t, err)
	received, err := catalog.DecodeSnapshotRecord(made.Encode())
	require.NoError(t, err)
	require.Equal(t, partial, received.Partial)
	if partial {
		require.Empty(t, received.Tables)
	}
	borrowed, err := catalog.NewRemoteSnapshot(received, n.catalog, catalog.RemoteOptions{
		Release: s.Close, Expected: expected,
		Tables: func(asked record.TablesAsked) (record.TablesAnswer, error) {
			*asks++
			return n.catalog.LeasedTables(received.Lease, asked)
		},
	})
	require.NoError(t, err)
	return borrowed
}

// TestPartialSnapshots: a borrower that asks for single tables finds what one finds that received them all, in whatever
// order it looks, and whatever is committed and dropped meanwhile: it sees its snapshot.
func TestPartialSnapshots(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 4))
		onePartial(rt, rng, rapid.IntRange(1, 30).Draw(rt, "steps"))
	})
}

func onePartial(t require.TestingT, rng *rand.Rand, steps int) {
	r := newRack(t, 1)
	defer r.close()
	n := r.nodes[0]
	change := func(times int) {
		s, err := n.catalog.Snapshot(ctx, catalog.Holder{})
		require.NoError(t, err)
		defer s.Close()
		tx := n.catalog.Begin(s)
		for range times {
			changeMentions(t, rng, tx)
		}
		if name := (catalog.TableName{Schema: "public", Name: "v"}); rng.IntN(4) == 0 {
			if _, ok := tx.Contents().View(name); !ok {
				_, err := tx.CreateView(ctx, name, "SELECT 1", nil)
				require.NoError(t, err)
			}
		}
		require.NoError(t, tx.Commit(ctx))
	}
	asks := 0
	change(rng.IntN(30))
	var expected []catalog.TableName
	for range 3 {
		change(rng.IntN(5))
		whole, partial := n.borrow(t, false, &asks, nil), n.borrow(t, true, &asks, expected)
		asks = 0
		for range steps {
			if rng.IntN(6) == 0 {
				change(1 + rng.IntN(4))
			}
			compareOnce(t, rng, whole, partial)
		}
		expected = partial.Sought()
		require.NoError(t, partial.Err())
		require.NoError(t, partial.Whole())
		asked := asks
		compareOnce(t, rng, whole, partial)
		require.Equal(t, asked, asks, "all is known")
		requireMentions(t, partial.Contents, "partial")
		require.Equal(t, tableNames(whole.Tables()), tableNames(partial.Tables()))
		whole.Close()
		partial.Close()
	}
}

func tableNames(list []*catalog.TableVersion) (names []string) {
	for _, v := range list {
		names = append(names, fmt.Sprint(v.Table().ID, v.Table().Name, v.Version()))
	}
	return names
}

// compareOnce looks for one thing in both.
func compareOnce(t require.TestingT, rng *rand.Rand, whole, partial *catalog.Snapshot) {
	name := catalog.TableName{Schema: pick(rng, append(mentionSchemas, "none")), Name: fmt.Sprint("t", rng.IntN(9))}
	if rng.IntN(3) == 0 {
		name.Name = strings.ToUpper(name.Name)
	}
	id := catalog.TableID(rng.IntN(40))
	one := func(v *catalog.TableVersion, ok bool) []string {
		if !ok {
			return nil
		}
		return tableNames([]*catalog.TableVersion{v})
	}
	switch rng.IntN(20) {
	case 0:
		require.Equal(t, tableNames(whole.Tables()), tableNames(partial.Tables()))
	case 1:
		require.Equal(t, tableNames(whole.TablesIn(name.Schema)), tableNames(partial.TablesIn(name.Schema)))
	case 2:
		for was, is := range partial.TablesSince(whole.Contents) { // decoded twice
			require.Equal(t, one(was, was != nil), one(is, is != nil))
		}
	case 3, 4, 5:
		require.Equal(t, one(whole.TableOf(id, catalog.TableName{})), one(partial.TableOf(id, catalog.TableName{})))
	case 6, 7, 8:
		require.Equal(t, one(whole.TableOf(id, name)), one(partial.TableOf(id, name)))
	case 9, 10, 11, 12:
		list := func(c *catalog.Snapshot) (list []catalog.TableName) {
			for n := range c.Alike(name) {
				list = append(list, n)
			}
			return list
		}
		require.Equal(t, list(whole), list(partial))
	case 13:
		_, want := whole.View(catalog.TableName{Schema: "public", Name: "v"})
		_, got := partial.View(catalog.TableName{Schema: "public", Name: "v"})
		require.Equal(t, want, got)
		require.Equal(t, whole.Schemas(), partial.Schemas())
	default:
		v, ok := partial.Table(name)
		require.Equal(t, one(whole.Table(name)), one(v, ok))
		again, _ := partial.Table(name)
		require.Same(t, v, again)
	}
}

// What a borrower cannot ask for is an error, and not gone.
func TestPartialSnapshotsOfALenderThatIsGone(t *testing.T) {
	r := newRack(t, 1)
	defer r.close()
	asks := 0
	s := r.nodes[0].borrow(t, true, &asks, nil)
	require.NoError(t, s.Err())
	s.Close() // gives the lease back
	_, ok := s.Table(catalog.TableName{Schema: "public", Name: "t"})
	require.False(t, ok)
	require.ErrorIs(t, s.Err(), catalog.ErrLeaseOver)
	require.ErrorIs(t, s.Whole(), catalog.ErrLeaseOver)
	_, err := catalog.NewRemoteSnapshot(&catalog.SnapshotRecord{Partial: true}, nil, catalog.RemoteOptions{})
	require.Error(t, err)
	require.False(t, errors.Is(err, catalog.ErrLeaseOver))
}
