package catalog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/internal/persistent"
)

var oneColumn = arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}}, nil)

func versionOf(t *testing.T, name string) *TableVersion {
	v, err := Collect(TableName{Schema: "public", Name: name}, oneColumn, nil)
	require.NoError(t, err)
	return v
}

// A random history of states, of which any but the newest may go, and the newest, too: whatever one of them has is kept,
// and nothing else.
func TestAChainKeepsWhatItsStatesHave(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	for range 50 {
		var c states
		kept := map[*TableVersion]bool{}
		contents := newContents()
		for range 300 {
			if n := len(c.States); n == 0 || random.IntN(2) == 0 {
				contents = changed(t, random, contents)
				for _, v := range c.Add(&state{contents: contents}) {
					require.False(t, kept[v], "it came before")
					kept[v] = true
				}
			} else {
				for _, v := range c.Remove(c.States[random.IntN(n)]) {
					require.True(t, kept[v], "it is gone already")
					delete(kept, v)
				}
			}
			want := map[*TableVersion]bool{}
			for _, s := range c.States {
				for _, v := range s.contents.Tables() {
					want[v] = true
				}
			}
			require.Equal(t, want, kept)
		}
		for len(c.States) > 0 {
			for _, v := range c.Remove(c.States[0]) {
				delete(kept, v)
			}
		}
		require.Empty(t, kept)
		require.Zero(t, c.HandsOn())
		require.Nil(t, c.Remove(&state{contents: contents}), "which it never had")
	}
}

// changed gives some of eight names other tables, or none.
func changed(t *testing.T, random *rand.Rand, contents *Contents) *Contents {
	next := contents.clone()
	for range random.IntN(4) {
		name := string(rune('a' + random.IntN(8)))
		if random.IntN(3) == 0 {
			next.drop(TableName{Schema: "public", Name: name})
		} else {
			next.setTable(TableName{Schema: "public", Name: name}, tableEntry{version: versionOf(t, name)})
		}
	}
	return next
}

// What a state more and a state less cost does not grow with what they share.
func TestAChainLooksAtWhatChangesAlone(t *testing.T) {
	contents := newContents()
	for i := range 5000 {
		name := fmt.Sprint("t", i)
		contents.setTable(TableName{Schema: "public", Name: name}, tableEntry{version: versionOf(t, name)})
	}
	var c states
	first := &state{contents: contents}
	c.Add(first)
	before := c.Looked
	for range 10 {
		next := c.States[len(c.States)-1].contents.clone()
		next.setTable(TableName{Schema: "public", Name: "t7"}, tableEntry{version: versionOf(t, "t7")})
		c.Add(&state{contents: next})
	}
	for len(c.States) > 2 {
		c.Remove(c.States[1])
	}
	require.Len(t, c.Remove(c.States[1]), 1)
	require.Less(t, c.Looked-before, 60)
}

// Names that are the same without regard to case are found beside each other.
func TestNamesAlike(t *testing.T) {
	contents := newContents()
	for _, name := range []string{"Kelvin", "kelvin", "KELVIN", "kelvins", "kelvi", "\u212Aelvin"} {
		contents.setTable(TableName{Schema: "Public", Name: name}, tableEntry{version: versionOf(t, name)})
	}
	contents.drop(TableName{Schema: "Public", Name: "kelvin"})
	var names []string
	for n := range contents.Alike(TableName{Schema: "public", Name: "kELVIN"}) {
		names = append(names, n.Name)
	}
	require.Equal(t, []string{"KELVIN", "Kelvin", "\u212Aelvin"}, names)
	require.Empty(t, slices.Collect(contents.Alike(TableName{Schema: "other", Name: "kelvin"})))
}

// Many tables at once are what they are one by one, also where some take each other's name or number.
func TestManyTablesAtOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 2))
	for range 500 {
		one, many := newContents(), newContents()
		var versions []*TableVersion
		for range random.IntN(12) {
			name := TableName{Schema: "public", Name: string("abcdefghijklABC"[random.IntN(15)])}
			v := hugetable.NewVersion(Table{ID: TableID(1 + random.IntN(30)), Name: name, Columns: oneColumn}, nil)
			versions = append(versions, v)
			one.setTable(name, tableEntry{version: v})
		}
		many.setTables(versions)
		require.Equal(t, one.Tables(), many.Tables())
		require.Empty(t, slices.Collect(persistent.Difference(one.names, many.names)))
		require.Empty(t, slices.Collect(persistent.Difference(one.alike, many.alike)))
		require.Empty(t, slices.Collect(persistent.Difference(one.tables, many.tables)))
	}
}
