package upkeep

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/internal/faults"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Store writes all rows that next gives as chunks of one table and hands them to the transaction. On error no memory of
// the region is held for them. sum (or nil) adds them up; origin (or nil) says, when all rows were read, where they
// came from. It releases what next gives.
func (k *Keeper) Store(ctx context.Context, tx *catalog.Transaction, name catalog.TableName, zone string,
	next func(context.Context) (arrow.RecordBatch, error), sum *ingest.Sum,
	origin func(rows int64) *lineage.Origin) (int64, error) {
	version, ok := tx.Contents().Table(name)
	if !ok {
		return 0, sqlerror.New("42P01", "relation %q does not exist", name.String())
	}
	target, err := k.TargetFor(ctx, version, zone)
	if err != nil {
		return 0, err
	}
	target.Sum = sum
	w := ingest.NewWriter(target)
	defer w.Abort()
	for {
		batch, err := next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
		err = w.Add(ctx, batch)
		batch.Release()
		if err != nil {
			return 0, err
		}
		k.fault.At(faults.StoreBatch)
	}
	chunks, parts, err := w.FinishParts(ctx)
	if err != nil {
		return 0, err
	}
	k.fault.At(faults.StoreSealed)
	if len(chunks) == 0 {
		return 0, nil
	}
	if origin == nil {
		return w.Rows(), tx.Append(name, chunks)
	}
	return w.Rows(), tx.AppendFrom(name, chunks, LaidOut(origin(w.Rows()), target, parts).Encode())
}

// Change deletes rows of a version of a table, by chunk, and stores others, which fill adds to the writer, as fits the
// limits.
func (k *Keeper) Change(ctx context.Context, tx *catalog.Transaction, version *catalog.TableVersion, zone string,
	fill func(w *ingest.Writer, limits []ingest.Limit) (map[int]*positions.Set, error)) error {
	target, err := k.TargetFor(ctx, version, zone)
	if err != nil {
		return err
	}
	w := ingest.NewWriter(target)
	defer w.Abort()
	gone, err := fill(w, target.Limits)
	if err != nil {
		return err
	}
	chunks, err := w.Finish(ctx)
	if err != nil {
		return err
	}
	k.fault.At(faults.RewriteSealed)
	name := version.Table().Name
	if len(gone) > 0 {
		if err := tx.DeleteRows(ctx, name, gone); err != nil {
			return errors.Join(err, target.Discard(chunks))
		}
	}
	if len(chunks) == 0 {
		return nil
	}
	return tx.Append(name, chunks)
}

// ChangeOfItself is Change of rows that no session gives: checks see them in UTC.
func (k *Keeper) ChangeOfItself(ctx context.Context, tx *catalog.Transaction, version *catalog.TableVersion,
	fill func(w *ingest.Writer, limits []ingest.Limit) (map[int]*positions.Set, error)) error {
	return k.Change(ctx, tx, version, "Etc/UTC", fill)
}

// StoreBatch is Store of one batch, which it releases.
func (k *Keeper) StoreBatch(ctx context.Context, tx *catalog.Transaction, name catalog.TableName,
	batch arrow.RecordBatch) error {
	given := false
	next := func(context.Context) (arrow.RecordBatch, error) {
		if given {
			return nil, io.EOF
		}
		given = true
		return batch, nil
	}
	_, err := k.Store(ctx, tx, name, "", next, nil, nil)
	if !given {
		batch.Release()
	}
	return err
}
