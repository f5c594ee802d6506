package lookup_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/lookup"
)

// LK1.
func TestNames(t *testing.T) {
	a, b := catalog.TableName{Schema: "s", Name: "a"}, catalog.TableName{Schema: "s", Name: "b"}
	one, other := &lookup.Names{}, &lookup.Names{}
	one.Note("s", "a")
	other.Note("s", "a")
	other.Note("s", "b")
	one.Add(nil)
	one.Add(one)
	names, all := one.List()
	require.Equal(t, []catalog.TableName{a}, names)
	require.False(t, all)
	one.Add(other)
	names, all = one.List()
	require.ElementsMatch(t, []catalog.TableName{a, b}, names)
	require.False(t, all)
	other.Everything()
	one.Add(other)
	names, all = one.List()
	require.Len(t, names, 2)
	require.True(t, all)
	(*lookup.Names)(nil).Add(one)
}

// What a name means may change: to another version, a view, or nothing; and what is not known is never the same.
func TestMeanings(t *testing.T) {
	a, b := catalog.TableName{Schema: "s", Name: "a"}, catalog.TableName{Schema: "s", Name: "b"}
	now := map[catalog.TableName]lookup.Meaning{a: {Table: &catalog.TableVersion{}}}
	of := func(name catalog.TableName) lookup.Meaning { return now[name] }
	names := &lookup.Names{}
	names.Note("s", "a")
	names.Note("s", "b")
	was := names.Meanings(of)
	require.True(t, was.Same(of))
	for _, other := range []lookup.Meaning{{}, {Table: &catalog.TableVersion{}}, {View: &catalog.View{}}} {
		before := now[a]
		now[a] = other
		require.False(t, was.Same(of))
		now[a] = before
	}
	now[b] = lookup.Meaning{View: &catalog.View{}}
	require.False(t, was.Same(of), "it meant nothing")
	names.Everything()
	require.Nil(t, names.Meanings(of))
}
