package conflict

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// What is written comes from two sides, proposed rows and what pairs became, in the order of the proposed ones. Long
// runs are handed on as they lie; short ones are copied together, for a slice of a batch holds all of it.
const (
	longRun  = 512
	runsMost = 1024
)

// output gives a writer the rows that are written.
type output struct {
	writer  *ingest.Writer
	returns *retained.Batches // keeps them too; nil: nothing does
	short   []arrow.RecordBatch
	batch   arrow.RecordBatch // of the run that goes on
	from    int
	to      int
}

func (o *output) add(ctx context.Context, row place) error {
	if o.batch == row.batch && o.to == row.row {
		o.to++
		return nil
	}
	err := o.endRun(ctx)
	o.batch, o.from, o.to = row.batch, row.row, row.row+1
	return err
}

// endRun ends the run that goes on.
func (o *output) endRun(ctx context.Context) error {
	if o.batch == nil {
		return nil
	}
	run := o.batch.NewSlice(int64(o.from), int64(o.to))
	long := o.to-o.from >= longRun
	o.batch = nil
	if long || len(o.short) == runsMost || len(o.short) > 0 && !sameLayout(o.short[0], run) {
		if err := o.copyShort(ctx); err != nil {
			run.Release()
			return err
		}
	}
	if long {
		defer run.Release()
		return o.write(ctx, run)
	}
	o.short = append(o.short, run)
	return nil
}

func (o *output) copyShort(ctx context.Context) error {
	if len(o.short) == 0 {
		return nil
	}
	defer o.release()
	together, err := ingest.Together(o.short, duckdb.Outside)
	if err != nil {
		return err
	}
	defer together.Release()
	return o.write(ctx, together)
}

func (o *output) release() {
	for _, b := range o.short {
		b.Release()
	}
	o.short = nil
}

func (o *output) write(ctx context.Context, rows arrow.RecordBatch) error {
	if o.returns != nil {
		if err := o.returns.Keep(rows); err != nil {
			return err
		}
	}
	return o.writer.Add(ctx, rows)
}

// finish writes what is left.
func (o *output) finish(ctx context.Context) error {
	if err := o.endRun(ctx); err != nil {
		return err
	}
	return o.copyShort(ctx)
}

func sameLayout(a, b arrow.RecordBatch) bool {
	return slices.EqualFunc(a.Columns(), b.Columns(), func(a, b arrow.Array) bool {
		return arrow.TypeEqual(a.DataType(), b.DataType())
	})
}
