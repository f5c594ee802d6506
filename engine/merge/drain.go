package merge

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Drain implements rewrite.Change. A MERGE returns nothing.
func (m *Merge) Drain(ctx context.Context, next func(context.Context) (arrow.RecordBatch, error),
	version *catalog.TableVersion, limits []ingest.Limit, w *ingest.Writer,
	_ *retained.Batches, charge func(bytes int64) error) (rewrite.Changed, error) {
	d := &drain{hits: rewrite.NewHits(version, charge), deleted: rewrite.NewHits(version, charge), writer: w}
	err := rewrite.EachFitting(ctx, next, limits, func(batch arrow.RecordBatch) error { return d.add(ctx, batch) })
	return rewrite.Changed{Count: d.count, Gone: d.hits.Rows(), Deleted: d.deleted.Rows()}, err
}

// drain is a MERGE whose rows come in.
type drain struct {
	hits    *rewrite.Hits
	deleted *rewrite.Hits // of them
	writer  *ingest.Writer
	count   int64
}

// add does what a batch says: its last columns are the numbers of rows, and what is done.
func (d *drain) add(ctx context.Context, batch arrow.RecordBatch) error {
	width := int(batch.NumCols()) - 2
	numbers, ok := batch.Column(width).(*array.Int64)
	does, is := batch.Column(width + 1).(*array.Int32)
	if !ok || !is || does.NullN() > 0 {
		return sqlerror.New("XX000", "rows without numbers: %v, %v", batch.Column(width).DataType(),
			batch.Column(width+1).DataType())
	}
	columns := make([]int, width)
	for i := range columns {
		columns[i] = i
	}
	rows := duckdb.Project(batch, columns)
	defer rows.Release()
	from := 0
	give := func(to int) error { // what is written up to there
		if from == to {
			return nil
		}
		run := rows.NewSlice(int64(from), int64(to))
		defer run.Release()
		return d.writer.Add(ctx, run)
	}
	for i, action := range does.Int32Values() {
		d.count++
		if int(action) == actions[statement.MergeInsert] {
			continue
		}
		if numbers.IsNull(i) {
			return sqlerror.New("XX000", "a row that changes has no number")
		}
		fresh, err := d.hits.Note(ctx, numbers.Value(i))
		if err == nil && !fresh {
			err = errTwice
		}
		if err == nil && int(action) == actions[statement.MergeDelete] {
			err = give(i)
			from = i + 1
			if err == nil {
				_, err = d.deleted.Note(ctx, numbers.Value(i))
			}
		}
		if err != nil {
			return err
		}
	}
	return give(numbers.Len())
}
