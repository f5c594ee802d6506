package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/store"
)

// Going back to a savepoint gives the memory of what was written since back at once, or, with keep, no later than the transaction ends.
func TestSavepointsGiveMemoryBack(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(2)
	before := w.memory.Live()
	s := w.snapshot(catalog.Holder{})
	defer s.Close()
	tx := w.catalog.Begin(s)
	defer tx.Rollback()
	grow := func() int64 {
		require.NoError(t, tx.Append(tableA, []*catalog.Chunk{w.chunk(3)}))
		return w.memory.Live()
	}
	grow()
	first := tx.Savepoint()
	atFirst := w.memory.Live()
	require.Greater(t, atFirst, before)
	atSecond := grow()
	second := tx.Savepoint()
	require.Greater(t, grow(), atSecond)
	require.NoError(t, tx.RollbackTo(second, false))
	require.Equal(t, atSecond, w.memory.Live())
	require.NoError(t, tx.RollbackTo(second, false), "again, with nothing since")
	require.Equal(t, atSecond, w.memory.Live())
	kept := grow()
	require.NoError(t, tx.RollbackTo(first, true))
	require.Equal(t, kept, w.memory.Live(), "it may still be read")
	v, _ := tx.Contents().Table(tableA)
	require.Equal(t, []int64{0, 1, 2, 3, 4}, w.rows(v))
	grow()
	require.NoError(t, tx.RollbackTo(first, false))
	require.Equal(t, atFirst, w.memory.Live(), "what was kept is free now, too")
	require.NoError(t, tx.RollbackTo(tx.Start(), true))
	require.Same(t, s.Contents, tx.Contents())
	require.NoError(t, tx.Commit(ctx), "a transaction that took everything back writes nothing")
	require.Equal(t, before, w.memory.Live())
	require.ErrorIs(t, tx.RollbackTo(first, false), catalog.ErrTransactionOver)
	require.Empty(t, w.faults)
}

// The names that mean something else than in the snapshot, and no others.
func TestRedefined(t *testing.T) {
	w := newWorld(t, store.Limits{})
	w.fill(1)
	s := w.snapshot(catalog.Holder{})
	defer s.Close()
	tx := w.catalog.Begin(s)
	defer tx.Rollback()
	name := func(n string) catalog.TableName { return catalog.TableName{Schema: "public", Name: n} }
	require.NoError(t, tx.Append(tableA, []*catalog.Chunk{w.chunk(1)}))
	require.Empty(t, tx.Redefined(), "rows are no names")
	start := tx.Savepoint()
	_, err := tx.CreateView(ctx, name("v"), "SELECT 1", nil)
	require.NoError(t, err)
	require.Equal(t, []catalog.TableName{name("v")}, tx.Redefined())
	require.NoError(t, tx.DropView(name("v")))
	require.Empty(t, tx.Redefined())
	require.NoError(t, tx.RenameTable(tableA, name("z")))
	require.Equal(t, []catalog.TableName{tableA, name("z")}, tx.Redefined())
	require.NoError(t, tx.RollbackTo(start, false))
	require.Empty(t, tx.Redefined())
	require.NoError(t, tx.DropTable(tableA))
	_, err = tx.CreateTable(ctx, tableA, columns, catalog.TableOptions{})
	require.NoError(t, err)
	require.Equal(t, []catalog.TableName{tableA}, tx.Redefined(), "another table under the same name")
}
