package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/lineage"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/queries/dbgen"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// The rows of lost chunks, read or generated once more.

// readFiles gives the rows of files, one after the other. Those before the first lost chunk are not read if nothing
// divided the rows.
func (r *reloading) readFiles(ctx context.Context, again *ingest.Again, files []lineage.File) error {
	for i := range files {
		f := &files[i]
		if again.Skip(f.Rows) {
			continue
		}
		r.source = f.Path
		if f.Node != r.keeper.name {
			r.source = fmt.Sprintf("%s of node %s", f.Path, f.Node)
		}
		if err := f.Unchanged(); err != nil {
			return err
		}
		if r.files == nil {
			r.files = r.keeper.engine.Files()
		}
		var rows int64
		err := r.files.Read(ctx, f, r.table().Columns, func(batch arrow.RecordBatch) error {
			rows += batch.NumRows()
			return again.Add(ctx, batch)
		})
		if err == nil && rows != f.Rows {
			err = &lineage.ChangedError{Path: f.Path, What: fmt.Sprintf("it has %s and had %d", counted.Of(rows, "row"), f.Rows)}
		}
		if err != nil && !errors.Is(err, ingest.ErrEnough) && f.Touched() && !errors.Is(err, fs.ErrNotExist) && ctx.Err() == nil {
			var changed *lineage.ChangedError
			if !errors.As(err, &changed) {
				err = &lineage.ChangedError{Path: f.Path, What: err.Error()}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// generator finds the table of TPC-H.
func generator(o *lineage.Generated) (*dbgen.Generator, dbgen.Table, error) {
	g, err := dbgen.New(o.ScaleFactor)
	if err != nil {
		return nil, 0, err
	}
	for _, t := range dbgen.Tables() {
		if t.String() == o.Table {
			return g, t, nil
		}
	}
	return nil, 0, sqlerror.New("XX001", "TPC-H has no table %q", o.Table)
}

// generateChunks makes lost chunks that were generated one by one.
func (r *reloading) generateChunks(ctx context.Context, o catalog.Origin, from *lineage.Generated) error {
	g, table, err := generator(from)
	if err != nil {
		return err
	}
	units := g.Units(table)
	for number := range r.lost {
		first := int64(number-o.First) * from.Step
		if number < o.First || number >= o.First+o.Chunks || first >= units {
			continue
		}
		batch, err := g.Batch(ctx, memory.NewGoAllocator(), table, first, min(from.Step, units-first))
		if err != nil {
			return err
		}
		err = r.remake(ctx, number, batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// generateRows gives all rows of a generated table.
func (r *reloading) generateRows(ctx context.Context, again *ingest.Again, from *lineage.Generated) error {
	g, table, err := generator(from)
	if err != nil {
		return err
	}
	return g.EachBatch(ctx, table, r.keeper.threads(), func(batch arrow.RecordBatch) error { return again.Add(ctx, batch) })
}
