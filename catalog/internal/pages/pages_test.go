package pages_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/internal/pages"
	"github.com/csmsql/csmsql/catalog/store"
)

// SP2: also of a page that is stored again where another node knows it to lie.
func TestPagesAreFoundWhereTheyLie(t *testing.T) {
	s := &store.Memory{}
	put := func(items ...store.Item) {
		_, err := s.Commit(t.Context(), store.Transaction{Puts: items})
		require.NoError(t, err)
	}
	aged, made, again := hugetable.PageID{1}, hugetable.PageID{2}, hugetable.PageID{3}
	put(store.Item{Key: keys.OldPage(aged), Value: []byte("old")})
	p := pages.Of(s)
	listed := map[hugetable.PageID]bool{}
	list := func() {
		clear(listed)
		_, err := p.List(t.Context(), func(id hugetable.PageID) { listed[id] = true })
		require.NoError(t, err)
	}
	list()
	require.Equal(t, map[hugetable.PageID]bool{aged: true}, listed)
	put(store.Item{Key: p.Key(made), Value: []byte("new")}, store.Item{Key: keys.OldPage(again), Value: []byte("again")})
	require.Equal(t, keys.OldPage(aged), p.Key(aged))
	require.Equal(t, keys.Page(made), p.Key(made))
	for id, want := range map[hugetable.PageID]string{aged: "old", made: "new", again: "again"} {
		got, found, err := p.Get(t.Context(), id)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, want, string(got))
	}
	_, found, err := p.Get(t.Context(), hugetable.PageID{4})
	require.NoError(t, err)
	require.False(t, found)
	list()
	require.Equal(t, map[hugetable.PageID]bool{aged: true, made: true, again: true}, listed)

	put(store.Item{Key: keys.PagePrefix + "no hash"})
	_, err = p.List(t.Context(), func(hugetable.PageID) {})
	require.ErrorIs(t, err, pages.ErrDamaged)
	require.ErrorContains(t, err, "no hash")
}
