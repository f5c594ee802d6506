package conflict

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/concatenation"
	"github.com/csmsql/csmsql/internal/enumeration"
)

// pairs are the proposed rows whose keys are there, each with the row that is: the columns of that one, then those of
// the proposed one, then its number among the proposed ones. A batch of them is of one batch of proposed rows.
func (p *Proposal) pairs(ctx context.Context) (_ *retained.Batches, err error) {
	out := p.Keep()
	defer func() {
		if err != nil {
			out.Release()
		}
	}()
	first := 0
	for _, batch := range p.Rows.List {
		there := p.there[first : first+int(batch.NumRows())]
		var rows []int32
		for row, number := range there {
			if number != none {
				rows = append(rows, int32(row))
			}
		}
		if len(rows) > 0 {
			if err := p.pairsOf(ctx, batch, rows, first, out); err != nil {
				return nil, err
			}
		}
		first += int(batch.NumRows())
	}
	return out, nil
}

// pairsOf keeps the pairs of some rows of a batch, of which first proposed rows come before it.
func (p *Proposal) pairsOf(ctx context.Context, batch arrow.RecordBatch, rows []int32, first int,
	out *retained.Batches) error {
	numbers := make([]int64, len(rows))
	for i, row := range rows {
		numbers[i] = p.there[first+int(row)]
	}
	old, err := p.existing(ctx, numbers)
	if err != nil {
		return err
	}
	defer old.Release()
	proposed, err := ingest.Gather(ctx, batch, p.Rule.table.Columns, rows)
	if err != nil {
		return err
	}
	defer proposed.Release()
	b := array.NewInt64Builder(duckdb.Outside)
	defer b.Release()
	for _, row := range rows {
		b.Append(int64(first) + int64(row))
	}
	ordinal := b.NewArray()
	defer ordinal.Release()
	var fields []arrow.Field
	var columns []arrow.Array
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, c := range append(slices.Clone(old.Columns()), proposed.Columns()...) {
		lies, err := concatenation.Arrays([]arrow.Array{c}, duckdb.Outside) // where C may point to it
		if err != nil {
			return err
		}
		columns = append(columns, lies)
		f := p.Rule.table.Columns.Field(len(fields) % len(old.Columns()))
		fields = append(fields, arrow.Field{
			Name: fmt.Sprint("c", len(fields)), Type: lies.DataType(), Nullable: true, Metadata: f.Metadata,
		})
	}
	ordinal.Retain()
	columns = append(columns, ordinal)
	fields = append(fields, arrow.Field{Name: "pair", Type: arrow.PrimitiveTypes.Int64})
	pairs := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(len(rows)))
	defer pairs.Release()
	return out.Keep(pairs)
}

// pairSchema are the columns of pairs that lie so, as DuckDB is to see them: labels are codes there.
func (p *Proposal) pairSchema(lies *arrow.Schema) *arrow.Schema {
	fields, table := ingest.LogicalSchema(lies).Fields(), p.Rule.table.Columns
	for i := range 2 * table.NumFields() {
		if f := table.Field(i % table.NumFields()); enumeration.Of(f) != nil {
			fields[i].Type = f.Type
		}
	}
	return arrow.NewSchema(fields, nil)
}

// existing copies rows of the version, by their numbers, in their order.
func (p *Proposal) existing(ctx context.Context, numbers []int64) (arrow.RecordBatch, error) {
	sorted := slices.Clone(numbers)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	all := make([]int, p.Rule.table.Columns.NumFields())
	for i := range all {
		all[i] = i
	}
	var pieces []arrow.RecordBatch
	defer func() {
		for _, b := range pieces {
			b.Release()
		}
	}()
	for from := 0; from < len(sorted); {
		chunk, _ := positions.Split(sorted[from])
		var rows []int32
		for ; from < len(sorted); from++ {
			of, at := positions.Split(sorted[from])
			if of != chunk {
				break
			}
			rows = append(rows, int32(at))
		}
		position, err := p.Version.At(ctx, chunk)
		if err != nil {
			return nil, err
		}
		if err := p.Keys.Rows(ctx, p.Version, position, all, func(batch arrow.RecordBatch, _ *positions.Set) error {
			piece, err := ingest.Gather(ctx, batch, p.Rule.table.Columns, rows)
			if err == nil {
				pieces = append(pieces, piece)
			}
			return err
		}); err != nil {
			return nil, err
		}
	}
	together, err := ingest.Together(pieces, duckdb.Outside)
	if err != nil {
		return nil, err
	}
	defer together.Release()
	order := make([]int32, len(numbers))
	for i, number := range numbers {
		at, _ := slices.BinarySearch(sorted, number)
		order[i] = int32(at)
	}
	return ingest.Gather(ctx, together, p.Rule.table.Columns, order)
}
