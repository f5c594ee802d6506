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

// Commit puts rows into a table and commits: into its delta, or else as a chunk. It is a queue's Store.
func (w *Writer) Commit(ctx context.Context, table catalog.Table, rows []*constantrows.Rows) error {
	if taken, err := w.Deltas.Note(ctx, w.Catalog, table, rows); taken || err != nil {
		return err
	}
	// The rows' sessions have seen the table; that it has changed since is found out by Append, or by the commit.
	now, err := w.Catalog.Snapshot(ctx, catalog.Holder{Description: "insert", MaxAge: math.MaxInt64})
	if err != nil {
		return err
	}
	defer now.Close()
	tx := w.Catalog.Begin(now)
	defer tx.Rollback()
	if err := w.Append(ctx, tx, table, rows); err != nil {
		return err
	}
	return tx.Commit(ctx)
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
