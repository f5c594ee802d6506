package rewrite

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Hits are the rows of a table that a statement is about.
type Hits struct {
	version *catalog.TableVersion
	rows    map[int]*positions.Set
	count   int64
	charge  func(bytes int64) error
	owed    int64 // is not charged yet
}

// chargeStep is how many bytes of hits are charged at once.
const chargeStep = 64 << 10

// NewHits has none yet, of a version of the table. What they take is charged while they come.
func NewHits(version *catalog.TableVersion, charge func(bytes int64) error) *Hits {
	return &Hits{version: version, rows: map[int]*positions.Set{}, charge: charge}
}

// Rows are the rows, by chunk.
func (h *Hits) Rows() map[int]*positions.Set { return h.rows }

// add notes the rows of a batch, whose last column has their numbers, and gives what it has of each in the other
// columns, in runs, to each: of a row that was hit before, by another one of a join, nothing.
func (h *Hits) add(ctx context.Context, batch arrow.RecordBatch, each func(arrow.RecordBatch) error) error {
	last := int(batch.NumCols()) - 1
	numbers, ok := batch.Column(last).(*array.Int64)
	if !ok || numbers.NullN() > 0 {
		return sqlerror.New("XX000", "rows without numbers: %v", batch.Column(last).DataType())
	}
	columns := make([]int, last)
	for i := range columns {
		columns[i] = i
	}
	rows := duckdb.Project(batch, columns)
	defer rows.Release()
	give := func(from, to int) error {
		if from == to {
			return nil
		}
		run := rows.NewSlice(int64(from), int64(to))
		defer run.Release()
		return each(run)
	}
	from := 0
	for i, number := range numbers.Int64Values() {
		fresh, err := h.Note(ctx, number)
		if err == nil && !fresh {
			err = give(from, i)
			from = i + 1
		}
		if err != nil {
			return err
		}
	}
	return give(from, numbers.Len())
}

// Has reports whether a row was hit.
func (h *Hits) Has(number int64) bool {
	chunk, at := positions.Split(number)
	return h.rows[chunk].Has(at)
}

// Note notes a row by its number, and reports whether it was not hit before.
func (h *Hits) Note(ctx context.Context, number int64) (fresh bool, err error) {
	chunk, at := positions.Split(number)
	set := h.rows[chunk]
	if set == nil {
		c, err := h.version.Chunk(ctx, chunk)
		if err != nil {
			return false, err
		}
		set = positions.New(c.Rows())
		if h.owed += set.Bytes(); h.owed >= chargeStep {
			if err := h.charge(h.owed); err != nil {
				return false, err
			}
			h.owed = 0
		}
		h.rows[chunk] = set
	}
	if at >= set.Rows() {
		return false, sqlerror.New("XX000", "chunk %d has %d rows, and one was number %d", chunk, set.Rows(), at)
	}
	if fresh = set.Add(at); fresh {
		h.count++
	}
	return fresh, nil
}

// Drain implements Change.
func (r Rewrite) Drain(ctx context.Context, next func(context.Context) (arrow.RecordBatch, error),
	version *catalog.TableVersion, limits []ingest.Limit, w *ingest.Writer,
	returns *retained.Batches, charge func(bytes int64) error) (Changed, error) {
	hits := NewHits(version, charge)
	own := make([]int, version.Table().Columns.NumFields())
	for i := range own {
		own[i] = i
	}
	each := func(batch arrow.RecordBatch) error {
		if returns != nil {
			if err := returns.Keep(batch); err != nil {
				return err
			}
		}
		if r.Removes {
			return nil
		}
		if batch.NumCols() == int64(len(own)) {
			return w.Add(ctx, batch)
		}
		table := duckdb.Project(batch, own) // without what is RETURNING's alone
		defer table.Release()
		return w.Add(ctx, table)
	}
	if r.Removes {
		limits = nil // what was there fits
	}
	err := EachFitting(ctx, next, limits, func(batch arrow.RecordBatch) error { return hits.add(ctx, batch, each) })
	return Changed{Count: hits.count, Gone: hits.rows}, err
}

// EachFitting hands the batches on that a query gives, whose first columns are the table's, with values that fit there.
func EachFitting(ctx context.Context, next func(context.Context) (arrow.RecordBatch, error), limits []ingest.Limit,
	each func(arrow.RecordBatch) error) error {
	next = ingest.Fitting(next, limits) // before RETURNING sees it
	for {
		batch, err := next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return dialect.WithoutPosition(err)
		}
		err = each(batch)
		batch.Release()
		if err != nil {
			return err
		}
	}
}
