package catalog_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/store"
)

// lazyStore remembers whether the last commit was lazy.
type lazyStore struct {
	*store.Memory
	lazy bool
}

func (s *lazyStore) Commit(ctx context.Context, t store.Transaction) (store.Revision, error) {
	s.lazy = t.Lazy
	return s.Memory.Commit(ctx, t)
}

// K4: only rows that end with the boot of the machine may be forgotten with it, never what a table is.
func TestRowsThatEndWithTheBoot(t *testing.T) {
	for _, ends := range []bool{false, true} {
		w := newWorld(t, store.Limits{})
		w.fill(2)
		s := &lazyStore{Memory: w.store.Copy()}
		c, err := catalog.Open(context.Background(), s, catalog.Homes{region: w.lender.Home.Home}, catalog.Options{EndsWithBoot: ends})
		require.NoError(t, err)
		w.catalog = c
		w.must(func(tx *catalog.Transaction) error { return tx.Append(tableA, []*catalog.Chunk{w.chunk(1)}) })
		require.Equal(t, ends, s.lazy)
		w.must(func(tx *catalog.Transaction) error { return tx.CreateSchema("s") })
		require.False(t, s.lazy)
		w.must(func(tx *catalog.Transaction) error { return tx.DropTable(tableA) })
		require.False(t, s.lazy)
	}
}
