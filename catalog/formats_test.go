package catalog_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/internal/keys"
	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/catalog/store"
)

// SP1.
func TestNewPagesAreInNoRangeOfWhatNodesFollow(t *testing.T) {
	for _, prefix := range catalog.Followed() {
		require.Less(t, keys.PagePrefix, prefix)
		require.NotContains(t, prefix, keys.PagePrefix)
	}
}

// stored lists the keys below the prefixes.
func (w *world) stored(prefixes ...string) (found []string) {
	_, err := w.store.Scan(ctx, prefixes, func(i store.Item) error {
		found = append(found, i.Key)
		return nil
	})
	require.NoError(w.t, err)
	return found
}

// requirePages: after a sweep the store holds the current versions' pages and no others (SP2).
func (w *world) requirePages(c *catalog.Contents) {
	want := map[string]bool{}
	for _, v := range c.EveryVersion() {
		for _, p := range v.Pages() {
			want[p.ID.String()] = true
		}
	}
	for _, key := range w.stored(keys.PagePrefix, keys.OldPagePrefix) {
		_, id, _ := strings.Cut(key, "/")
		require.True(w.t, want[id], "page %s is garbage", key)
		delete(want, id)
	}
	require.Empty(w.t, want)
}

// age makes the catalog in the store one of format 1.
func (w *world) age() {
	var t store.Transaction
	_, err := w.store.Scan(ctx, []string{keys.Format, keys.PagePrefix}, func(i store.Item) error {
		value := append([]byte(nil), i.Value...)
		if i.Key != keys.Format {
			t.Deletes = append(t.Deletes, i.Key)
			t.Puts = append(t.Puts, store.Item{Key: keys.OldPagePrefix + strings.TrimPrefix(i.Key, keys.PagePrefix), Value: value})
			return nil
		}
		_, identity, created, err := record.DecodeFormat(value)
		t.Puts = append(t.Puts, store.Item{Key: keys.Format, Value: record.EncodeFormat(1, identity, created)})
		return err
	})
	require.NoError(w.t, err)
	_, err = w.store.Commit(ctx, t)
	require.NoError(w.t, err)
}

// A key that is no page's is damage, with its SQLSTATE.
func TestDamagedPageKeys(t *testing.T) {
	w := newWorld(t, store.Limits{})
	_, err := w.store.Commit(ctx, store.Transaction{Puts: []store.Item{{Key: keys.PagePrefix + "none"}}})
	require.NoError(t, err)
	_, err = catalog.Open(ctx, w.store.Copy(), catalog.Homes{}, catalog.Options{})
	require.ErrorIs(t, err, catalog.ErrCorrupt)
	requireState(t, err, "XX001")
}

// A catalog of the format before is read, changed and swept like any other, and stays the same catalog.
func TestFormerFormat(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(300)
	identity := w.catalog.Identity()
	w.age()
	old := w.stored(keys.OldPagePrefix)
	require.Greater(t, len(old), 1)
	w.restart()
	require.Equal(t, identity, w.catalog.Identity())
	require.Equal(t, old, w.stored(keys.OldPagePrefix), "none is garbage, none is written again")

	s := w.snapshot(catalog.Holder{})
	v, _ := s.Table(tableA)
	require.Len(t, w.rows(v), 300)
	s.Close()
	w.must(func(tx *catalog.Transaction) error { return tx.Append(tableA, []*catalog.Chunk{w.chunk(1)}) })
	require.NotEmpty(t, w.stored(keys.PagePrefix))
	w.restart()
	s = w.snapshot(catalog.Holder{})
	v, _ = s.Table(tableA)
	require.Len(t, w.rows(v), 301)
	require.NoError(t, w.catalog.Sweep(ctx))
	w.requirePages(s.Contents)
	s.Close()

	w.must(func(tx *catalog.Transaction) error { return tx.DropTable(tableA) })
	require.NoError(t, w.catalog.Sweep(ctx))
	require.Empty(t, w.stored(keys.PagePrefix, keys.OldPagePrefix))

	item, _, err := w.store.Get(ctx, keys.Format)
	require.NoError(t, err)
	format, of, created, err := record.DecodeFormat(item.Value)
	require.NoError(t, err)
	require.Equal(t, identity, of)
	_, err = w.store.Commit(ctx, store.Transaction{Puts: []store.Item{{Key: keys.Format, Value: record.EncodeFormat(format+1, of, created)}}})
	require.NoError(t, err)
	_, err = catalog.Open(ctx, w.store, catalog.Homes{}, catalog.Options{})
	require.ErrorIs(t, err, catalog.ErrFormat)
	requireState(t, err, "0A000")
}
