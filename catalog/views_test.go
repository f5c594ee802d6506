package catalog_test

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/catalog/store"
)

// TestViewsAndWhatTheyRead attacks K10: a view and the end, or the new name, of what it reads, at the same time; and what does not touch
// them both goes through.
func TestViewsAndWhatTheyRead(t *testing.T) {
	v, u := catalog.TableName{Schema: "public", Name: "v"}, catalog.TableName{Schema: "public", Name: "u"}
	over := func(read ...catalog.TableName) func(*catalog.Transaction) error {
		return func(tx *catalog.Transaction) error {
			tx.Reads(read...)
			_, err := tx.CreateView(ctx, v, "SELECT 1", nil)
			return err
		}
	}
	dropA := func(tx *catalog.Transaction) error { return tx.DropTable(tableA) }
	for name, c := range map[string]struct {
		first, second func(*catalog.Transaction) error
		state         string
	}{
		"dropped below":        {over(tableA), dropA, "40001"},
		"renamed below":        {over(tableA), func(tx *catalog.Transaction) error { return tx.RenameTable(tableA, u) }, "40001"},
		"its schema dropped":   {over(tableA), func(tx *catalog.Transaction) error { return tx.DropSchema("other", true) }, ""},
		"made over the gone":   {dropA, over(tableA), "40001"},
		"made over another":    {func(tx *catalog.Transaction) error { return errors.Join(dropA(tx), createA(tx)) }, over(tableA), "40001"},
		"made over the former": {func(tx *catalog.Transaction) error { return tx.RenameTable(tableA, u) }, over(tableA), "40001"},
		"written below":        {func(tx *catalog.Transaction) error { return tx.Truncate(tableA) }, over(tableA), ""},
		"written later":        {over(tableA), func(tx *catalog.Transaction) error { return tx.Truncate(tableA) }, ""},
		"reads nothing":        {over(), dropA, ""},
		"altered below":        {over(tableA), alterA, "40001"},
		"made over altered":    {alterA, over(tableA), "40001"},
		"constraints below":    {over(tableA), func(tx *catalog.Transaction) error { return tx.Redeclare(tableA, columns) }, ""},
		"replaced below":       {over(tableA), func(tx *catalog.Transaction) error { return errors.Join(dropA(tx), createA(tx)) }, ""},
	} {
		w := newWorld(t, store.Limits{})
		w.fill(1)
		w.must(func(tx *catalog.Transaction) error { return tx.CreateSchema("other") })
		early := w.snapshot(catalog.Holder{})
		w.must(c.first)
		tx := w.catalog.Begin(early)
		require.NoError(t, c.second(tx), name)
		if err := tx.Commit(ctx); c.state != "" {
			requireState(t, err, c.state)
		} else {
			require.NoError(t, err, name)
		}
		tx.Rollback()
		early.Close()
	}
	w := newWorld(t, store.Limits{})
	w.fill(1)
	w.must(over(tableA))
	w.must(func(tx *catalog.Transaction) error { return errors.Join(tx.DropView(v), dropA(tx)) })
	w.must(createA)
	w.must(func(tx *catalog.Transaction) error { // made and taken away again
		return errors.Join(over(tableA)(tx), tx.DropView(v), dropA(tx))
	})
}

// alterA gives a table a column more.
func alterA(tx *catalog.Transaction) error {
	more, err := hugetable.AddColumn(columns, arrow.Field{Name: "more", Type: arrow.PrimitiveTypes.Int8, Nullable: true}, nil)
	if err != nil {
		return err
	}
	return tx.Alter(tableA, more)
}

func createA(tx *catalog.Transaction) error {
	_, err := tx.CreateTable(ctx, tableA, columns, catalog.TableOptions{})
	return err
}
