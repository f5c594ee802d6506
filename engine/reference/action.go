package reference

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/key"
)

// ON DELETE CASCADE and SET NULL. A statement that removed rows of a parent and brought none has deleted them, and one
// that does both says which it has: then their children go, too, or refer to nothing from then on. What that does to
// the children is looked at as what the statement itself did.

// acts reports whether children follow when a parent is deleted.
func (r *reference) acts() bool { return r.OnDelete == "CASCADE" || r.OnDelete == "SET NULL" }

// follow has children go with their parents, and gives what it changed; nil: nothing was deleted, or no child follows.
func (k *Keeper) follow(ctx context.Context, tx *catalog.Transaction, r *reference, parent changed,
	child *catalog.TableVersion) (*changed, error) {
	removed, err := parent.without(ctx)
	if err != nil || len(removed) == 0 {
		return nil, err
	}
	rows, err := chunks(ctx, child)
	if err != nil {
		return nil, err
	}
	gone := map[int]*positions.Set{}
	err = k.passes(func(pass, passes uint64) (fits bool, err error) {
		sought, err := k.vanished(ctx, r, parent, removed, nil, pass, passes)
		if sought == nil || err != nil {
			return false, err
		}
		return true, k.Find(ctx, child, r.from, rows, sought, func(number int64, _ key.Sum, _ func() string) bool {
			chunk, at := positions.Split(number)
			if gone[chunk] == nil {
				gone[chunk] = positions.New(rows[chunk].Rows())
			}
			gone[chunk].Add(at)
			return true
		})
	})
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	name := child.Table().Name
	if r.OnDelete == "CASCADE" {
		err = tx.DeleteRows(ctx, name, gone)
	} else {
		err = k.Store(ctx, tx, child, func(w *ingest.Writer, _ []ingest.Limit) (map[int]*positions.Set, error) {
			return gone, k.withoutParents(ctx, r, child, rows, gone, w)
		})
	}
	if err != nil {
		return nil, err
	}
	after, _ := tx.Contents().Table(name)
	return &changed{was: child, is: after}, nil
}

// without are the rows that were deleted, as far as that is known.
func (c *changed) without(ctx context.Context) (Rows, error) {
	if c.deleted != nil {
		return c.deleted, nil
	}
	removed, exact, err := c.is.Removed(ctx, c.was)
	if err != nil || !exact || len(removed) == 0 {
		return nil, err
	}
	fresh, err := c.is.Since(ctx, c.was)
	if len(fresh) > 0 {
		return nil, err
	}
	return removed, err
}

// withoutParents writes rows of the child that refer to nothing.
func (k *Keeper) withoutParents(ctx context.Context, r *reference, child *catalog.TableVersion, rows []catalog.Position,
	which map[int]*positions.Set, w *ingest.Writer) error {
	schema := child.Table().Columns
	all := make([]int, schema.NumFields())
	for i := range all {
		all[i] = i
	}
	for _, p := range rows {
		if which[p.Index] == nil {
			continue
		}
		var list []int32
		for at := range which[p.Index].All() {
			list = append(list, int32(at))
		}
		if err := k.Rows(ctx, child, p, all, func(batch arrow.RecordBatch, _ *positions.Set) error {
			copied, err := ingest.Gather(ctx, batch, schema, list)
			if err != nil {
				return err
			}
			defer copied.Release()
			fields, columns := copied.Schema().Fields(), append([]arrow.Array(nil), copied.Columns()...)
			for _, i := range r.from {
				nulls := array.MakeArrayOfNull(memory.DefaultAllocator, schema.Field(i).Type, len(list))
				defer nulls.Release()
				fields[i].Type, columns[i] = nulls.DataType(), nulls
			}
			without := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(len(list)))
			defer without.Release()
			return w.Add(ctx, without)
		}); err != nil {
			return err
		}
	}
	return nil
}
