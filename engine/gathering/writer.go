package gathering

import (
	"context"
	"fmt"
	"math"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constantrows"
	"github.com/csmsql/csmsql/engine/delta"
	"github.com/csmsql/csmsql/engine/upkeep"
)

// Writer puts rows into tables.
type Writer struct {
	Catalog *catalog.Catalog
	Keeper  *upkeep.Keeper
	Deltas  *delta.Store
}

// Commit puts rows into a table and commits: into its delta, or else as a chunk. Met: another node changed the rows of
// the table meanwhile.
func (w *Writer) Commit(ctx context.Context, table catalog.Table, list []*Insertion) (met bool, err error) {
	var rows []*constantrows.Rows
	assumed := false
	for _, in := range list {
		rows, assumed = append(rows, in.Rows...), assumed || len(in.Assumed) > 0
	}
	if assumed {
		if err := w.confirm(ctx, table, list); err != nil {
			return false, err
		}
	}
	if taken, err := w.Deltas.Note(ctx, w.Catalog, table, rows); taken || err != nil {
		return false, err
	}
	// The rows' sessions have seen the table; that it has changed since is found out by Append, or by the commit.
	now, err := w.Catalog.Snapshot(ctx, catalog.Holder{Description: "insert", MaxAge: math.MaxInt64})
	if err != nil {
		return false, err
	}
	defer now.Close()
	tx := w.Catalog.Begin(now)
	defer tx.Rollback()
	for _, in := range list {
		if in.Receipt != nil {
			tx.Leave(in.Receipt)
		}
	}
	if err := w.Append(ctx, tx, table, rows); err != nil {
		return false, err
	}
	err = tx.Commit(ctx)
	return tx.Met(), err
}

// confirm sees to it that the table is what was meant (GA6).
func (w *Writer) confirm(ctx context.Context, table catalog.Table, list []*Insertion) error {
	contents, err := w.Catalog.Latest(ctx)
	if err != nil {
		return CommonError{err}
	}
	for _, in := range list {
		if !in.Means(contents) {
			return fmt.Errorf("%w: the name of table %v means another one now", catalog.ErrConflict, table.Name)
		}
	}
	return nil
}

// Append has a transaction put rows into a table.
func (w *Writer) Append(ctx context.Context, tx *catalog.Transaction, table catalog.Table,
	rows []*constantrows.Rows) error {
	version, ok := tx.Contents().Table(table.Name)
	if !ok || version.Table().ID != table.ID || !constantrows.Same(version.Table().Columns, table.Columns) { // GA3
		return fmt.Errorf("%w: table %v has changed since the rows were made", catalog.ErrConflict, table.Name)
	}
	return w.Keeper.StoreBatch(ctx, tx, table.Name, constantrows.Batch(rows...))
}
