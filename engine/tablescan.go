package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/facts"
	"github.com/csmsql/csmsql/engine/filter"
	"github.com/csmsql/csmsql/engine/reader"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/optimization"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// tableScan is one table of a query for DuckDB.
type tableScan struct {
	session *Session
	facts   *facts.Facts
	hint    *plan.Scan // nil: the table came through a view
	scan    *duckdb.Scan
	number  uint64
	read    *reader.Readings
	ctx     context.Context // of the running execution
	keep    []int           // the chunks that it reads
	part    []int           // the chunks that it may read, ascending; nil: all
	result  bool            // it reads what parts of the statement made
	without optimization.Set

	// What predicate transfer found: the filters by keys, where they come from, and how many rows are left.
	keyFilters  []duckdb.Filter
	keySources  []keySource // of each of them
	provenances []string
	ownKeys     *duckdb.Filter // the keys of the rows that pass its filters, each of one row; nil: nobody has looked
	ofResults   bool           // some of those keys are of what parts of the statement made
	rows        int64
	held        int64 // rows that the scan may read: all of the table, or of the part
	exact       bool  // rows was counted
}

// newScan makes the scan of one occurrence of a table.
func (s *Session) newScan(ctx context.Context, v *visible, version *catalog.TableVersion, hint *plan.Scan) *tableScan {
	f := s.engine.facts.Of(version)
	t := &tableScan{session: s, facts: f, hint: hint, read: v.read, ctx: ctx, result: v.results[version]}
	t.scan = &duckdb.Scan{Schema: version.Table().Columns, Rows: version.Rows(), Chunks: version.NumChunks(), Open: t.open, Threads: s.engine.threads()}
	if hint != nil {
		t.scan.Domains = s.engine.domains(ctx, f, hint.EnumSafe)
		t.rows, t.held = hint.Rows, f.Relation.Rows
	}
	t.tell(t.scan.Rows)
	return t
}

// tell has DuckDB take so many rows for what the scan gives.
func (t *tableScan) tell(rows int64) {
	if rows = t.guessed(rows); rows == 0 {
		rows = -1 // duckdb.Scan has another meaning for it
	}
	t.scan.Estimate = rows
}

// guessed is what is to be taken for an estimate.
func (t *tableScan) guessed(rows int64) int64 {
	if guess := t.facts.Relation.Guess; guess != nil {
		return guess(rows)
	}
	return rows
}

// restrict has the scan read some chunks only, which are a part of the table like any other; nil: all of them.
func (t *tableScan) restrict(ctx context.Context, part []int) error {
	t.part = part
	total := t.facts.Version.Rows()
	if part == nil || total == 0 {
		return nil
	}
	chunks, err := t.session.engine.facts.Chunks(ctx, t.facts.Version)
	if err != nil {
		return err
	}
	var rows int64
	for _, i := range part {
		if i >= 0 && i < len(chunks) {
			rows += chunks[i].Rows
		}
	}
	t.rows, t.held = int64(float64(t.rows)*float64(rows)/float64(total)), rows
	return nil
}

// domains finds which of the columns can be shown as ENUM.
func (e *Engine) domains(ctx context.Context, f *facts.Facts, columns []string) map[int][]string {
	out := map[int][]string{}
	for i, c := range f.Relation.Columns {
		if !slices.Contains(columns, c.Name) {
			continue
		}
		if values, ok := e.facts.Domain(ctx, e.reader, f, i); ok {
			out[i] = values
		}
	}
	return out
}

// open is called by DuckDB's threads.
func (t *tableScan) open(chunk int, columns []int) (arrow.RecordBatch, error) {
	batch, err := t.columns(chunk, columns)
	return batch, t.ended(err)
}

func (t *tableScan) columns(chunk int, columns []int) (arrow.RecordBatch, error) {
	if t.keep != nil {
		chunk = t.keep[chunk]
	}
	version := t.facts.Version
	c, err := version.Chunk(t.ctx, chunk)
	if err != nil {
		return nil, err
	}
	e := t.session.engine
	batch, err := e.reader.Read(t.ctx, t.read, version.Table().Name.String(), chunk, c, columns)
	if err == nil {
		t.read.Volume().Count(e.ours(c), c, columns, t.result)
	}
	return batch, err
}

// ended tells the end of the execution's context from what goes wrong: DuckDB carries an error's text and state, and no more.
func (t *tableScan) ended(err error) error {
	if over := t.ctx.Err(); over != nil && errors.Is(err, over) {
		return sqlerror.New("57014", "%v", over)
	}
	return err
}

// start readies the scan for one execution: which chunks can hold rows that matter, given the parameters?
func (t *tableScan) start(ctx context.Context, args []plan.Value) error {
	t.ctx, t.keep = ctx, nil
	t.scan.Chunks = t.facts.Version.NumChunks()
	if t.hint == nil {
		return nil
	}
	bound := t.hint.Bind(args)
	keep, err := facts.Pruned(ctx, t.facts, bound, t.without)
	if err != nil {
		return err
	}
	if t.part != nil {
		keep = slices.DeleteFunc(keep, func(chunk int) bool { _, mine := slices.BinarySearch(t.part, chunk); return !mine })
	}
	t.keep, t.scan.Chunks = keep, len(keep)
	t.scan.Filters = append(t.rowFilters(bound), t.keyFilters...)
	return nil
}

// rowFilters says what a bound hint proves of single rows. Patterns that were looked for when planning are not looked for again: who has one
// of the keys that were found then, and nobody else, has fitted.
func (t *tableScan) rowFilters(bound *plan.Scan) []duckdb.Filter {
	all := t.filtersOf(bound)
	if t.ownKeys == nil || len(all) != len(t.filtersOf(t.hint)) { // with parameters fewer may pass than then
		return all
	}
	all = slices.DeleteFunc(all, func(f duckdb.Filter) bool { return t.slow(f) })
	return append(all, *t.ownKeys)
}

// filtersOf says what a hint, the scan's own or the same with values of parameters, proves of single rows.
func (t *tableScan) filtersOf(hint *plan.Scan) []duckdb.Filter {
	if t.without.Has(optimization.Filters) {
		return nil
	}
	return filter.Of(hint)
}

// slow tells that a filter reads strings of every row.
func (t *tableScan) slow(f duckdb.Filter) bool {
	return (len(f.Words) > 0 || f.Keep != nil) && t.scan.Domains[f.Column] == nil
}

// resolver tells exec/plan what names mean: tables of the snapshot that nothing temporary hides.
func (s *Session) resolver(v *visible) plan.Resolver {
	return plan.ResolverFunc(func(database, schema, table string) *plan.Relation {
		version := s.lookup(v, database, schema, table)
		if version == nil {
			return nil
		}
		return s.engine.facts.Of(version).Relation
	})
}

// lookup finds the table that a name in a query means, or nil for whatever is not one of ours.
func (s *Session) lookup(v *visible, database, schema, table string) *catalog.TableVersion {
	if database != "" && !strings.EqualFold(database, duckdb.CatalogName) {
		return nil
	}
	if schema != "" {
		return v.find(schema, table)
	}
	if v.own.has(table) {
		return nil
	}
	for _, schema := range s.settings.searchPath {
		if version := v.find(schema, table); version != nil {
			return version
		}
		if v.hasView(schema, table) {
			return nil
		}
	}
	return nil
}

// lookupView is lookup for views.
func (s *Session) lookupView(v *visible, database, schema, view string) *catalog.View {
	if database != "" && !strings.EqualFold(database, duckdb.CatalogName) || schema == "" && v.own.has(view) {
		return nil
	}
	schemas := s.settings.searchPath
	if schema != "" {
		schemas = []string{schema}
	}
	for _, schema := range schemas {
		if v.find(schema, view) != nil {
			return nil
		}
		if found := v.view(schema, view); found != nil {
			return found
		}
	}
	return nil
}

// resolveTable answers csm_table, which the mirrored views call while a statement is planned.
func (s *Session) resolveTable(schema, name string) (*duckdb.Scan, error) {
	if s.visible == nil {
		return nil, sqlerror.New("XX000", "table %s.%s is asked for outside of a statement", schema, name)
	}
	s.looked = true
	if schema == systemSchema {
		if scan, ok := systemScan(s, name); ok {
			return scan, nil
		}
	}
	version := s.visible.find(schema, name)
	if version == nil {
		return nil, fmt.Errorf("42P01: relation %q does not exist", name) // DuckDB's binder carries the text alone
	}
	t := s.newScan(context.Background(), s.visible, version, nil)
	return t.scan, nil
}
