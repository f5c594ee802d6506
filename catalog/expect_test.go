package catalog_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
)

// K17: what a transaction expects of names holds when it commits, also where the node has not heard yet that it does
// not; and what others do beside that is no conflict.
func TestWhatIsExpectedHoldsAtTheCommit(t *testing.T) {
	table, other := catalog.TableName{Schema: "public", Name: "a"}, catalog.TableName{Schema: "first", Name: "a"}
	begin := func(n *rackNode) (tx *catalog.Transaction, end func()) {
		s, err := n.catalog.Snapshot(ctx, catalog.Holder{MaxAge: time.Hour})
		require.NoError(t, err)
		return n.catalog.Begin(s), s.Close
	}
	for _, c := range []struct {
		name     string
		change   func(tx *catalog.Transaction) // of the other node, meanwhile
		conflict bool
	}{
		{"rows", nil, false},
		{"a schema", func(tx *catalog.Transaction) { require.NoError(t, tx.CreateSchema("second")) }, false},
		{"a relation before it", func(tx *catalog.Transaction) {
			require.NoError(t, tx.CreateSchema("first"))
			_, err := tx.CreateView(ctx, other, "SELECT 1", nil)
			require.NoError(t, err)
		}, true},
		{"another name", func(tx *catalog.Transaction) {
			require.NoError(t, tx.RenameTable(table, catalog.TableName{Schema: "public", Name: "b"}))
		}, true},
		{"its end", func(tx *catalog.Transaction) { require.NoError(t, tx.DropTable(table)) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRack(t, 2)
			defer r.close()
			deaf, loud := r.nodes[0], r.nodes[1]
			now := map[string][]int64{}
			loud.append(loud, "a", now)
			silence := make(chan struct{})
			require.Eventually(t, func() bool { return deaf.catalog.Revision() >= loud.catalog.Revision() }, 10*time.Second, time.Millisecond)
			v, _ := deaf.catalog.Applied().Table(table)
			means := func(contents *catalog.Contents) bool {
				_, hidden := contents.View(other)
				is, ok := contents.Table(table)
				return !hidden && ok && is.Table().ID == v.Table().ID
			}
			deaf.handle.silence.Store(&silence)
			if c.change == nil {
				loud.append(loud, "a", now)
			} else {
				tx, end := begin(loud)
				c.change(tx)
				require.NoError(t, tx.Commit(ctx))
				end()
			}
			tx, end := begin(deaf)
			defer end()
			tx.Expect(means)
			chunk, _ := r.chunk(deaf, deaf)
			require.NoError(t, tx.Append(table, []*catalog.Chunk{chunk}))
			time.AfterFunc(20*time.Millisecond, func() {
				deaf.handle.silence.Store(nil)
				close(silence)
			})
			if err := tx.Commit(ctx); c.conflict {
				require.ErrorIs(t, err, catalog.ErrConflict)
			} else {
				require.NoError(t, err)
			}
		})
	}
}
