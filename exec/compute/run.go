package compute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/exec/plan"
)

// Source delivers a table chunk by chunk. Its columns are those of TableScan.Project, in that order; their physical
// types may
// differ from the logical ones as doc.go lists. If it also is an io.Closer, it is closed when the run ends.
type Source interface {
	// Next returns the next batch, which the caller releases, or io.EOF. A scan without columns gets batches that only
	// have a number of rows.
	Next(ctx context.Context) (arrow.RecordBatch, error)
}

// Described is a [Source] that knows the physical types of all its batches beforehand. One whose chunks differ in
// layout must say here what they are brought to: a type that holds all of them, so never a dictionary.
type Described interface {
	Source
	Schema() *arrow.Schema
}

// Run executes a plan. open is called once, if the plan has a table; args[n-1] is $n. The result's schema has the
// plan's names;
// a column that is handed on in place keeps its physical type (X2), everything computed has its logical one.
//
// A mem that is a [Memory] may refuse; nil: the default one. At most threads goroutines compute at once, 0: as many as
// there are processors; each is joined before a call of Next returns. The reader belongs to one goroutine. It stops soon
// after ctx is done, with ctx's error, and must be released.
func Run(ctx context.Context, q *plan.Query, open func(context.Context, plan.TableScan) (Source, error),
	args []any, threads int, mem memory.Allocator) (*Reader, error) {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	values, err := bindArguments(q, args)
	if err != nil {
		return nil, err
	}
	e := &execution{
		ctx: ctx, query: q, mem: limited(mem), arguments: values, threads: threads, remaining: -1, morsel: givenRows,
	}
	if err := e.limits(); err != nil {
		return nil, err
	}
	if err := e.open(open); err != nil {
		e.close()
		return nil, err
	}
	r := &Reader{execution: e}
	r.references.Store(1)
	return r, nil
}

// execution is one run of a plan.
type execution struct {
	ctx       context.Context
	query     *plan.Query
	mem       Memory
	arguments []plan.Value
	source    Source
	first     arrow.RecordBatch // read ahead for its physical types, nil once taken
	physical  []arrow.DataType  // of the scanned columns
	schema    *arrow.Schema
	skip      int64 // rows of OFFSET still to pass
	remaining int64 // rows of LIMIT still to deliver, -1 without limit
	done      bool
	threads   int
	morsel    int64 // the rows of the next one, of a query that gives rows

	batch arrow.RecordBatch // under way: rows from at on are still to do
	at    int64
	ready []arrow.RecordBatch // results of the rows before
}

func (e *execution) limits() error {
	if e.query.Limit != nil {
		n, null, err := e.rowCount(e.query.Limit)
		if err != nil {
			return err
		}
		if !null {
			e.remaining = n
			if !e.query.Aggregated {
				e.threads = 1 // of what the limit leaves out, only the rest of a morsel is computed
			}
		}
	}
	if e.query.Offset != nil {
		n, null, err := e.rowCount(e.query.Offset)
		if err != nil || null {
			return err
		}
		e.skip = n
	}
	return nil
}

func (e *execution) rowCount(x *plan.Expr) (n int64, null bool, err error) {
	v := x.Value
	if x.Op == plan.OpParameter {
		v = e.arguments[x.Value.Int()-1]
	}
	if v.Kind() == plan.Null {
		return 0, true, nil
	}
	num, scale := v.Decimal()
	if v.Kind() != plan.Exact || scale != 0 || num.Sign() < 0 || num.HighBits() != 0 || num.LowBits() > math.MaxInt64 {
		return 0, false, &Error{ErrArgument, "2201W", fmt.Sprintf("LIMIT and OFFSET must be whole numbers from 0, not %s", v)}
	}
	return int64(num.LowBits()), false, nil
}

// open starts the source and settles the schema, for which the first batch may have to be read.
func (e *execution) open(open func(context.Context, plan.TableScan) (Source, error)) error {
	if e.query.Table == nil {
		e.first = array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 1)
		e.schema = e.resultSchema()
		return nil
	}
	source, err := open(e.ctx, *e.query.Table)
	if err != nil {
		return fmt.Errorf("read table %s.%s: %w", e.query.Table.Relation.Schema, e.query.Table.Relation.Name, err)
	}
	e.source = source
	if e.passesColumns() {
		if err := e.settleTypes(); err != nil {
			return err
		}
	}
	e.schema = e.resultSchema()
	return nil
}

func (e *execution) passesColumns() bool {
	return !e.query.Aggregated && len(e.query.Table.Project) > 0
}

// settleTypes learns the scanned columns' physical types: from the source if it knows, else from its first batch.
func (e *execution) settleTypes() error {
	var schema *arrow.Schema
	if d, ok := e.source.(Described); ok {
		schema = d.Schema()
	} else {
		batch, err := e.pull()
		if errors.Is(err, io.EOF) {
			e.done = true
			return nil
		}
		if err != nil {
			return err
		}
		e.first, schema = batch, batch.Schema()
	}
	if schema.NumFields() != len(e.query.Table.Project) {
		return layoutError("%d columns where %d were asked for", schema.NumFields(), len(e.query.Table.Project))
	}
	for i, f := range schema.Fields() {
		if err := e.checkLayout(i, f.Type); err != nil {
			return err
		}
		e.physical = append(e.physical, f.Type)
	}
	return nil
}

// resultSchema has the types of what is computed, and those of columns that are handed on as they are.
func (e *execution) resultSchema() *arrow.Schema {
	logical := e.query.Schema()
	fields := logical.Fields()
	for i, o := range e.query.Outputs {
		switch {
		case o.Expr == nil:
		case o.Expr.Op == plan.OpColumn && e.physical != nil:
			fields[i].Type = e.physical[o.Expr.Column]
		default:
			fields[i].Type = outputType(o.Type)
		}
	}
	return arrow.NewSchema(fields, nil)
}

// pull reads the next batch of the source; the caller releases it.
func (e *execution) pull() (arrow.RecordBatch, error) {
	if err := e.ctx.Err(); err != nil {
		return nil, err
	}
	if e.source == nil {
		return nil, io.EOF
	}
	batch, err := e.source.Next(e.ctx)
	if err != nil {
		return nil, err
	}
	if int(batch.NumCols()) != len(e.query.Table.Project) {
		defer batch.Release()
		return nil, layoutError("%d columns where %d were asked for", batch.NumCols(), len(e.query.Table.Project))
	}
	for i := range e.query.Table.Project {
		if err := e.checkLayout(i, batch.Schema().Field(i).Type); err != nil {
			batch.Release()
			return nil, err
		}
	}
	return batch, nil
}

func (e *execution) checkLayout(column int, t arrow.DataType) error {
	c := &e.query.Table.Relation.Columns[e.query.Table.Project[column]]
	if !mayStore(c.Type, t) {
		return layoutError("column %s is %s and cannot lie in a chunk as %s", c.Name, c.Type, t)
	}
	return nil
}

// morselRows bounds what a thread computes at once: the memory of a run does not grow with the chunks, and a cancelled
// one stops within a morsel. A call of a kernel costs some microseconds, which fewer rows would not be worth. Only
// tests change it.
var morselRows int64 = 65536

// givenRows is what a morsel has, at first, of a query that gives rows: it holds them until its client has asked for
// more. While a filter leaves few rows, morsels grow.
const givenRows = 16384

// fewRows is the part of a morsel up to which a filter leaves few.
const fewRows = 8

// round gives the next morsels, one for each thread, or the next batch in one. They are of one batch and belong to the
// caller; io.EOF at the end.
func (e *execution) round(whole bool) ([]arrow.RecordBatch, error) {
	for e.batch == nil || e.at >= e.batch.NumRows() {
		e.releaseBatch()
		next, err := e.first, error(nil)
		if e.first == nil {
			if next, err = e.pull(); err != nil {
				return nil, err
			}
		}
		e.first, e.batch, e.at = nil, next, 0
	}
	if err := e.ctx.Err(); err != nil {
		return nil, err
	}
	rows, most := e.batch.NumRows(), morselRows
	if !e.query.Aggregated {
		most = min(most, e.morsel)
	}
	if whole || rows <= most {
		e.batch.Retain()
		e.at = rows
		return []arrow.RecordBatch{e.batch}, nil
	}
	var morsels []arrow.RecordBatch
	for ; len(morsels) < e.threads && e.at < rows; e.at = min(e.at+most, rows) {
		morsels = append(morsels, e.batch.NewSlice(e.at, min(e.at+most, rows)))
	}
	return morsels, nil
}

func (e *execution) releaseBatch() {
	if e.batch != nil {
		e.batch.Release()
		e.batch = nil
	}
}

func (e *execution) close() {
	e.releaseBatch()
	for _, b := range e.ready {
		b.Release()
	}
	e.ready = nil
	if e.first != nil {
		e.first.Release()
		e.first = nil
	}
	if c, ok := e.source.(io.Closer); ok {
		c.Close()
	}
	e.source, e.done = nil, true
}

// Reader is the result of [Run]: an array.RecordReader.
type Reader struct {
	execution  *execution
	references atomic.Int64
	current    arrow.RecordBatch
	err        error
}

var _ array.RecordReader = (*Reader)(nil)

// Schema is the schema of every batch.
func (r *Reader) Schema() *arrow.Schema { return r.execution.schema }

// Next moves to the next batch, false at the end or after an error.
func (r *Reader) Next() bool {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
	if r.err != nil || r.references.Load() <= 0 {
		return false
	}
	r.current, r.err = r.execution.next()
	if errors.Is(r.err, io.EOF) {
		r.err = nil
		r.execution.close()
		return false
	}
	return r.err == nil
}

// RecordBatch is the current batch, valid until the next call of Next unless retained.
func (r *Reader) RecordBatch() arrow.RecordBatch { return r.current }

// Record is RecordBatch under its old name, which the interface still asks for.
func (r *Reader) Record() arrow.RecordBatch { return r.current }

// Err is the error that ended the run, nil at the ordinary end.
func (r *Reader) Err() error { return r.err }

// Retain adds a reference.
func (r *Reader) Retain() { r.references.Add(1) }

// Release drops a reference; the last one ends the run and closes the source.
func (r *Reader) Release() {
	if r.references.Add(-1) != 0 {
		return
	}
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
	r.execution.close()
}
