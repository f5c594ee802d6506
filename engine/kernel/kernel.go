package kernel

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/argument"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/lease"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/member"
	"github.com/csmsql/csmsql/engine/order"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/engine/zonemap"
	"github.com/csmsql/csmsql/exec/compute"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Table is the table of a query that the Arrow kernels run, for one execution.
type Table struct {
	Node    *member.Node // nil of a borrower
	Reader  *reader.Reader
	Read    *reader.Readings // by which chunks are read
	Held    *lease.Batches   // which keep chunks in place
	Facts   *facts.Facts
	Zones   *zonemap.Cache
	Without optimization.Set
	Threads int // that compute at once; 0: one for each processor
	Memory  *account.Allocator
	Schema  *arrow.Schema // of what is given
	Copied  bool          // nothing keeps the chunks: what is given is copied
	Trust   func() error  // reports whether what was read may be given
}

// run runs a query over the table's chunks, where they lie.
func (t *Table) run(ctx context.Context, q *plan.Query, args []any) (array.RecordReader, error) {
	if t.Facts != nil {
		if err := materialized.Unpopulated(t.Facts.Version.Table()); err != nil {
			return nil, err
		}
	}
	open := func(ctx context.Context, scan plan.TableScan) (compute.Source, error) {
		bound := scan.Bind(argument.Constants(args))
		keep, err := facts.Pruned(ctx, t.Facts, bound, t.Without)
		if err != nil {
			return nil, err
		}
		s := &source{table: t, columns: scan.Project, keep: keep, bound: bound}
		if last := len(scan.Relation.Columns) - 1; scan.Relation.Numbered && slices.Contains(scan.Project, last) {
			s.number = scan.Relation.Columns[last].Name
			s.columns = scan.Project[:len(scan.Project)-1]
			if slices.Contains(s.columns, last) {
				return nil, sqlerror.New("XX000", "the numbers of rows are not what is read last")
			}
		}
		if s.schema, err = t.Facts.Stored(ctx, s.columns); err != nil {
			return nil, err
		}
		if s.number != "" {
			number := arrow.Field{Name: s.number, Type: arrow.PrimitiveTypes.Int64}
			s.schema = arrow.NewSchema(append(s.schema.Fields(), number), nil)
		}
		return s, nil
	}
	return compute.Run(ctx, q, open, argument.ForKernels(args), t.Threads, t.Memory)
}

// Describe says how a query is run, for a table that it has; args may be nil.
func Describe(ctx context.Context, q *plan.Query, f *facts.Facts, without optimization.Set, args []any) []string {
	lines := strings.Split(strings.TrimRight(q.String(), "\n"), "\n")
	if q.Table == nil || f == nil || without.Has(optimization.Indexes) {
		return lines
	}
	bound := q.Table.Bind(argument.Constants(args))
	keep, err := facts.Pruned(ctx, f, bound, without)
	if err != nil {
		return lines // running it reports the error
	}
	if by := order.Words(ctx, f.Version, keep, bound); by != "" {
		lines = append(lines, "  rows are found by the order of "+by)
	}
	return lines
}

// source gives the compute backend a table's chunks in place.
type source struct {
	table   *Table
	columns []int
	number  string // the column that the rows' numbers are read as, the last one; empty: they are not
	bound   *plan.Scan
	keep    []int               // chunks that are still to come
	runs    []arrow.RecordBatch // of the last one, that are still to come
	schema  *arrow.Schema       // what all chunks can be brought to
}

// Schema makes it a compute.Described: chunks of one table may be laid out differently.
func (s *source) Schema() *arrow.Schema { return s.schema }

// Next implements compute.Source.
func (s *source) Next(ctx context.Context) (arrow.RecordBatch, error) {
	for len(s.runs) == 0 {
		if len(s.keep) == 0 {
			return nil, io.EOF
		}
		if err := s.open(ctx); err != nil {
			return nil, err
		}
	}
	next := s.runs[0]
	s.runs = s.runs[1:]
	return next, nil
}

// Close implements io.Closer.
func (s *source) Close() error {
	for _, r := range s.runs {
		r.Release()
	}
	s.runs = nil
	return nil
}

// open reads the next chunk, of which the runs come that may have rows that matter.
func (s *source) open(ctx context.Context) error {
	t, number := s.table, s.keep[0]
	s.keep = s.keep[1:]
	chunk, err := t.Facts.Version.Chunk(ctx, number)
	if err != nil {
		return err
	}
	spans, err := s.spans(ctx, number, chunk)
	if err != nil || spans != nil && len(spans) == 0 {
		return err
	}
	batch, err := s.read(ctx, number, chunk)
	if err != nil {
		return err
	}
	defer batch.Release()
	if spans == nil {
		spans = s.all(batch.NumRows())
	}
	for _, span := range spans {
		s.runs = append(s.runs, batch.NewSlice(span.from, span.to))
	}
	return nil
}

// span is some rows of a chunk.
type span struct{ from, to int64 }

// all is a whole chunk, in pieces if it is to be copied.
func (s *source) all(rows int64) (list []span) {
	most := rows
	if s.table.Copied {
		most = copiedRows
	}
	for from := int64(0); from < rows; from += most {
		list = append(list, span{from, min(from+most, rows)})
	}
	return list
}

// spans are the rows of a chunk that its orders, or its zones, do not rule out; nil: all.
func (s *source) spans(ctx context.Context, number int, chunk *catalog.Chunk) ([]span, error) {
	t := s.table
	if len(s.bound.Predicates) == 0 {
		return nil, nil
	}
	if !t.Without.Has(optimization.Indexes) {
		finder := order.Finder{Reader: t.Reader}
		rows, found, err := finder.Rows(ctx, t.Read, t.Facts.Version, number, chunk, s.bound)
		if err != nil || found {
			return spansOf(rows), err
		}
	}
	if t.Without.Has(optimization.Pruning) {
		return nil, nil
	}
	zones := map[int]*zonemap.Zones{}
	for _, p := range s.bound.Predicates {
		z, err := t.Zones.Of(ctx, t.Reader, t.Facts.Version, number, chunk, p.Column)
		if err != nil {
			return nil, err
		}
		if z != nil {
			zones[p.Column] = z
		}
	}
	if len(zones) == 0 {
		return nil, nil
	}
	list, kept := []span{}, int64(0)
	for from := int64(0); from < chunk.Rows(); from += zonemap.RunRows {
		to := min(from+zonemap.RunRows, chunk.Rows())
		matches := s.bound.MayMatch(func(column int) plan.ColumnStats {
			if z := zones[column]; z != nil {
				return z.Stats(int(from / zonemap.RunRows))
			}
			return plan.ColumnStats{}
		})
		if !matches {
			continue
		}
		kept += to - from
		if last := len(list) - 1; last >= 0 && list[last].to == from {
			list[last].to = to
		} else {
			list = append(list, span{from, to})
		}
	}
	if kept > chunk.Rows()/wholeShare {
		return nil, nil
	}
	return list, nil
}

// copiedRows is how many rows are copied at once of a column that could be given in place.
const copiedRows = 1 << 14

// spanGap is how many rows between two that are wanted cost less than another batch.
const spanGap = 64

// spansOf are spans that have some rows, which are in order.
func spansOf(rows []uint32) []span {
	list := []span{}
	for _, row := range rows {
		at := int64(row)
		if last := len(list) - 1; last >= 0 && at < list[last].to+spanGap {
			list[last].to = at + 1
		} else {
			list = append(list, span{at, at + 1})
		}
	}
	return list
}

// wholeShare is the part of a chunk from which on all of it is read: the threads share what comes in one batch.
const wholeShare = 4

func (s *source) read(ctx context.Context, i int, chunk *catalog.Chunk) (arrow.RecordBatch, error) {
	t := s.table
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
	batch = compute.Without(batch, gone.Words())
	if s.number == "" {
		return batch, nil
	}
	first, err := t.Facts.FirstNumber(i, chunk.Rows())
	if err != nil {
		batch.Release()
		return nil, err
	}
	return compute.Numbered(batch, s.number, first), nil
}
