package kernel

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/exec/compute"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/optimization"
)

// Table is the table of a query that the Arrow kernels run, for one execution.
type Table struct {
	Node    *member.Node // nil of a borrower
	Reader  *reader.Reader
	Read    *reader.Readings // by which chunks are read
	Held    *lease.Batches   // which keep chunks in place
	Facts   *facts.Facts
	Without optimization.Set
	Threads int // that compute at once; 0: one for each processor
}

// Run runs a query over the table's chunks, where they lie.
func (t *Table) Run(ctx context.Context, q *plan.Query, args []any) (array.RecordReader, error) {
	open := func(ctx context.Context, scan plan.TableScan) (compute.Source, error) {
		keep, err := facts.Pruned(ctx, t.Facts, scan.Bind(argument.Constants(args)), t.Without)
		if err != nil {
			return nil, err
		}
		schema, err := t.Facts.Stored(ctx, scan.Project)
		if err != nil {
			return nil, err
		}
		return &source{table: t, columns: scan.Project, keep: keep, schema: schema}, nil
	}
	return compute.Run(ctx, q, open, argument.ForKernels(args), t.Threads, nil)
}

// source gives the compute backend a table's chunks in place.
type source struct {
	table   *Table
	columns []int
	keep    []int         // chunks that are still to come
	schema  *arrow.Schema // what all chunks can be brought to
}

// Schema makes it a compute.Described: chunks of one table may be laid out differently.
func (s *source) Schema() *arrow.Schema { return s.schema }

// Next implements compute.Source.
func (s *source) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if len(s.keep) == 0 {
		return nil, io.EOF
	}
	t, i := s.table, s.keep[0]
	s.keep = s.keep[1:]
	chunk, err := t.Facts.Version.Chunk(ctx, i)
	if err != nil {
		return nil, err
	}
	name := t.Facts.Version.Table().Name.String()
	batch, err := t.Reader.ReadHeld(ctx, t.Read, t.Held.Retain, name, i, chunk, s.columns)
	if err != nil {
		return nil, err
	}
	t.Read.Volume().Count(member.Holds(t.Node, chunk), chunk, s.columns, false)
	gone, err := t.Facts.Version.Deleted(ctx, i)
	if err != nil {
		batch.Release()
		return nil, err
	}
	return compute.Without(batch, gone.Words()), nil
}
