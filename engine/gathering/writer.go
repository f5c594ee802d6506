package gathering

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/constantrows"
	"github.com/csmsql/csmsql/engine/delta"
	"github.com/csmsql/csmsql/engine/upkeep"
	"github.com/csmsql/csmsql/sql/sqlerror"
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
	for _, in := range list {
		rows = append(rows, in.Rows...)
	}
	confirmed, err := w.confirm(ctx, table, list)
	if err != nil {
		return false, err
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
		if len(in.Assumed) > 0 {
			tx.Expect(func(now *catalog.Contents) bool { return in.Means(now) && (confirmed || in.rests(now)) })
		}
	}
	if err := w.Append(ctx, tx, table, rows); err != nil {
		return false, err
	}
	if err = tx.Commit(ctx); common(err) {
		err = CommonError{err}
	}
	return tx.Met(), err
}

// common reports whether the store of the catalog has refused a commit, whatever it was about. What a lender says is no
// such error: other rows may go to another one.
func common(err error) bool {
	if lender := (*noderpc.Error)(nil); errors.As(err, &lender) {
		return false
	}
	switch sqlerror.State(err) {
	case "57P02", "57P03", "53100":
		return true
	}
	return false
}

// confirm sees to it that the table is what was meant, where the commit cannot (GA6).
func (w *Writer) confirm(ctx context.Context, table catalog.Table, list []*Insertion) (confirmed bool, err error) {
	contents := w.Catalog.Applied()
	if !slices.ContainsFunc(list, func(in *Insertion) bool { return !in.rests(contents) }) {
		return false, nil
	}
	if contents, err = w.Catalog.Latest(ctx); err != nil {
		return false, CommonError{err}
	}
	if slices.ContainsFunc(list, func(in *Insertion) bool { return !in.Means(contents) }) {
		return false, fmt.Errorf("%w: the name of table %v means another one now", catalog.ErrConflict, table.Name)
	}
	return true, nil
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
