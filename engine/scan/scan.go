package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/positions"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/filter"
	"github.com/csmsql/csmsql/engine/materialized"
	"github.com/csmsql/csmsql/engine/order"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Tables is what the scans of one engine read tables with. Immutable.
type Tables struct {
	Facts  *facts.Cache
	Reader *reader.Reader
	// Ours reports whether a chunk is read in this node's own memory.
	Ours func(*catalog.Chunk) bool
	// Threads is how many goroutines collect keys.
	Threads func() int
	// KeysMost bounds the keys of one set.
	KeysMost int64
}

// Scan is one table of a query for DuckDB.
type Scan struct {
	tables  *Tables
	Facts   *facts.Facts
	Hint    *plan.Scan // nil: the table came through a view
	Duck    *duckdb.Scan
	Number  uint64
	read    *reader.Readings
	ctx     context.Context // of the running execution
	keep    []int           // the chunks that it reads
	bound   *plan.Scan      // the hint with the execution's parameters
	Part    []int           // the chunks that it may read, ascending; nil: all
	Result  bool            // it reads what parts of the statement made
	Without optimization.Set
	// Numbered is the column of the rows' numbers; empty: they have none.
	Numbered string
	Skipped  func(chunk int) *positions.Set // rows that are left out beside the deleted ones; nil: none
	// unpopulated is the error of reading it (materialized.MV1); nil: it may be read.
	unpopulated error

	// What predicate transfer found: the filters by keys, where they come from, and how many rows are left.
	KeyFilters  []duckdb.Filter
	keySources  []keySource // of each of them
	provenances []string
	ownKeys     *duckdb.Filter // the keys of the rows that pass its filters, each of one row; nil: not looked for
	OfResults   bool           // some of those keys are of what parts of the statement made
	rows        int64
	held        int64 // rows that the scan may read: all of the table, or of the part
	exact       bool  // rows was counted
}

// tell sets DuckDB's estimate of the scan's rows.
func (t *Scan) tell(rows int64) {
	if rows = t.guessed(rows); rows == 0 {
		rows = -1 // duckdb.Scan has another meaning for it
	}
	t.Duck.Estimate = rows
}

// guessed is what is to be taken for an estimate.
func (t *Scan) guessed(rows int64) int64 {
	if guess := t.Facts.Relation.Guess; guess != nil {
		return guess(rows)
	}
	return rows
}

// New is a scan of a table's version, which reads under read; result: it is what a part of the statement made.
func New(ctx context.Context, tables *Tables, version *catalog.TableVersion, hint *plan.Scan,
	read *reader.Readings, result bool) *Scan {
	f := tables.Facts.Of(version)
	t := &Scan{tables: tables, Facts: f, Hint: hint, read: read, ctx: ctx, Result: result}
	t.Duck = &duckdb.Scan{
		Schema: version.Table().Columns, Rows: version.Rows(), Chunks: version.NumChunks(),
		Open: t.Open, Threads: tables.Threads(),
	}
	if t.unpopulated = materialized.Unpopulated(version.Table()); t.unpopulated != nil {
		t.Duck.Rows, t.Duck.Chunks = 1, 1 // which Open does not open
	}
	t.skipDeleted()
	if hint != nil {
		t.Duck.Domains = tables.Domains(ctx, f, hint.EnumSafe)
		t.rows, t.held = hint.Rows, f.Relation.Rows
		if extra := hint.Relation.Columns[len(f.Relation.Columns):]; len(extra) == 1 {
			t.NumberRows(extra[0].Name)
		}
	}
	t.tell(t.Duck.Rows)
	return t
}

// Restrict has the scan read some chunks only, which are a part of the table like any other; nil: all of them.
func (t *Scan) Restrict(ctx context.Context, part []int) error {
	t.Part = part
	total := t.Facts.Version.Rows()
	if part == nil || total == 0 {
		return nil
	}
	chunks, err := t.tables.Facts.Chunks(ctx, t.Facts.Version)
	if err != nil {
		return err
	}
	var rows int64
	for _, i := range part {
		if i >= 0 && i < len(chunks) {
			rows += chunks[i].Living()
		}
	}
	t.rows, t.held = int64(float64(t.rows)*float64(rows)/float64(total)), rows
	return nil
}

// Domains finds which of the columns can be shown as ENUM.
func (x *Tables) Domains(ctx context.Context, f *facts.Facts, columns []string) map[int][]string {
	out := map[int][]string{}
	for i, c := range f.Relation.Columns {
		if !slices.Contains(columns, c.Name) {
			continue
		}
		if values, ok := x.Facts.Domain(ctx, x.Reader, f, i); ok {
			out[i] = values
		}
	}
	return out
}

// Open is called by DuckDB's threads.
func (t *Scan) Open(chunk int, columns []int) (arrow.RecordBatch, error) {
	batch, err := t.columns(chunk, columns)
	return batch, t.ended(err)
}

func (t *Scan) columns(chunk int, columns []int) (arrow.RecordBatch, error) {
	if t.unpopulated != nil {
		return nil, t.unpopulated
	}
	if t.keep != nil {
		chunk = t.keep[chunk]
	}
	version := t.Facts.Version
	c, err := version.Chunk(t.ctx, chunk)
	if err != nil {
		return nil, err
	}
	batch, err := t.tables.Reader.Read(t.ctx, t.read, version.Table().Name.String(), chunk, c, columns)
	if err == nil {
		t.read.Volume().Count(t.tables.Ours(c), c, columns, t.Result)
	}
	return batch, err
}

// ended gives the end of the execution's context an SQLSTATE of its own: DuckDB carries an error's text and state, and
// no more.
func (t *Scan) ended(err error) error {
	if over := t.ctx.Err(); over != nil && errors.Is(err, over) {
		return sqlerror.New("57014", "%v", over)
	}
	return err
}

// Start readies the scan for one execution: which chunks can hold rows that matter, given the parameters?
func (t *Scan) Start(ctx context.Context, args []plan.Value) error {
	if t.unpopulated != nil {
		return t.unpopulated
	}
	t.ctx, t.keep, t.bound = ctx, nil, nil
	t.Duck.Chunks = t.Facts.Version.NumChunks()
	if t.Hint == nil {
		return nil
	}
	bound := t.Hint.Bind(args)
	t.bound = bound
	keep, err := facts.Pruned(ctx, t.Facts, bound, t.Without)
	if err != nil {
		return err
	}
	if t.Part != nil {
		keep = slices.DeleteFunc(keep, func(chunk int) bool {
			_, mine := slices.BinarySearch(t.Part, chunk)
			return !mine
		})
	}
	t.keep, t.Duck.Chunks = keep, len(keep)
	t.Duck.Filters = append(t.rowFilters(bound), t.KeyFilters...)
	return nil
}

// rowFilters says what a bound hint proves of single rows. Patterns that were looked for when planning are not looked
// for again: exactly the rows with one of the keys that were found then fit.
func (t *Scan) rowFilters(bound *plan.Scan) []duckdb.Filter {
	all := t.filtersOf(bound)
	if t.ownKeys == nil || len(all) != len(t.filtersOf(t.Hint)) { // with parameters fewer may pass than then
		return all
	}
	all = slices.DeleteFunc(all, func(f duckdb.Filter) bool { return t.slow(f) })
	return append(all, *t.ownKeys)
}

// filtersOf says what a hint, the scan's own or the same with values of parameters, proves of single rows.
func (t *Scan) filtersOf(hint *plan.Scan) []duckdb.Filter {
	if t.Without.Has(optimization.Filters) {
		return nil
	}
	return filter.Of(hint)
}

// slow reports whether a filter reads strings of every row.
func (t *Scan) slow(f duckdb.Filter) bool {
	return (len(f.Words) > 0 || f.Keep != nil) && t.Duck.Domains[f.Column] == nil
}

// Available counts the chunks that the scan may read, before any are left out.
func (t *Scan) Available() int {
	if t.Part != nil {
		return len(t.Part)
	}
	return t.Facts.Version.NumChunks()
}

// Describe says what of its table the scan reads.
func (t *Scan) Describe() string {
	all := t.Facts.Version.NumChunks()
	line := fmt.Sprintf("Scan %s: %d of %s", t.Facts.Version.Table().Name, t.Duck.Chunks, counted.Of(all, "chunk"))
	if t.Hint != nil {
		if conditions := t.Hint.Conditions(); len(conditions) > 0 {
			for i, c := range conditions {
				if len(conditions) > 1 && strings.Contains(c, " OR ") {
					conditions[i] = "(" + c + ")"
				}
			}
			line += ", pruned by " + strings.Join(conditions, " and ")
		}
	}
	if t.looksUp() {
		if by := order.Words(t.ctx, t.Facts.Version, t.keep, t.bound); by != "" {
			line += ", found by the order of " + by
		}
	}
	if by := t.ThinnedOut(); by != "" {
		line += ", thinned out by " + by
	}
	if len(t.Duck.Domains) > 0 {
		var names []string
		for i, f := range t.Facts.Relation.Columns {
			if t.Duck.Domains[i] != nil {
				names = append(names, f.Name)
			}
		}
		line += ", as ENUM: " + strings.Join(names, ", ")
	}
	return line
}

// ThinnedOut names the keys of other tables that the scan's rows must have; empty: none.
func (t *Scan) ThinnedOut() string {
	names := make([]string, len(t.KeyFilters))
	for i, f := range t.KeyFilters {
		names[i] = fmt.Sprintf("%s in %s", t.Facts.Relation.Columns[f.Column].Name, counted.Of(f.Keys.Len(), "key"))
	}
	return strings.Join(names, " and ")
}

// Foresee adds the columns that the statement reads of some chunks, at a node; has reports whether a chunk is there.
func (t *Scan) Foresee(ctx context.Context, keep []int, has func(*catalog.Chunk) bool, e *distribute.Estimate) error {
	var columns []int
	for i, c := range t.Facts.Relation.Columns {
		if slices.Contains(t.Hint.Columns, c.Name) {
			columns = append(columns, i)
		}
	}
	for _, i := range keep {
		c, err := t.Facts.Version.Chunk(ctx, i)
		if err != nil {
			return err
		}
		bytes := c.Descriptor().ColumnBytes(columns)
		if has(c) {
			e.LocalRows, e.LocalBytes = e.LocalRows+c.Rows(), e.LocalBytes+bytes
		} else {
			e.RemoteRows, e.RemoteBytes = e.RemoteRows+c.Rows(), e.RemoteBytes+bytes
		}
	}
	return nil
}
