package engine

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/engine/retained"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// RETURNING asks for something of each row that a statement wrote or removed.
//
//	rows that DuckDB gave ──► chunks of the new version
//	        └─ kept ──► csm_scan(n) ──► SELECT list FROM (SELECT … WHERE csm_hit) AS the table's name ──► kept, until COMMIT has succeeded
//
// It is asked of the very rows that were written and not of the table: values may be random, and a delete has none
// left. They are batches
// of DuckDB's, in C memory, so that no byte is copied; a table's rows that were not hit go with them in batches of
// 2,048, and what is kept
// is charged to the session.
type returning struct {
	list    string
	written string // the list as it is asked, and how it differs
	edits   edit.List
	alias   string // what the list knows the table by
	aliased bool   // and by nothing else
}

// returningOf is what a statement returns of its rows, nil if nothing.
func returningOf(head any) *returning {
	var list, alias string
	var name statement.Name
	switch head := head.(type) {
	case *statement.Insert:
		list, alias, name = head.Returning, head.Alias, head.Name
	case *statement.Update:
		list, alias, name = head.Returning, head.Alias, head.Name
	case *statement.Delete:
		list, alias, name = head.Returning, head.Alias, head.Name
	}
	if list == "" {
		return nil
	}
	r := &returning{list: list, written: list, alias: alias, aliased: alias != ""}
	if !r.aliased {
		r.alias = name.Name
	}
	return r
}

func (r *returning) query(from string) string {
	return "SELECT " + r.written + "\n FROM (" + from + ") AS " + duckdb.QuoteIdentifier(r.alias)
}

// describeReturning plans the list over no rows, to see what is wrong with it and what it gives.
func (st *Statement) describeReturning(ctx context.Context, r *returning, version *catalog.TableVersion, v *snapshot.View) error {
	columns := version.Table().Columns
	parameter := false
	dialect.ReplaceTokens(r.list, func(token string, _ int) (string, bool) {
		parameter = parameter || dialect.IsParameter(token)
		return "", false
	})
	if parameter {
		return sqlerror.New("0A000", "parameters in RETURNING are not supported").WithHint("Return the columns and compute with them afterwards.")
	}
	nulls := make([]string, columns.NumFields())
	for i, f := range columns.Fields() {
		name, err := columntype.SQL(f)
		if err != nil {
			return err
		}
		nulls[i] = "CAST(NULL AS " + name + ") AS " + duckdb.QuoteIdentifier(f.Name)
	}
	if !r.aliased {
		r.written, r.edits = rewrite.WithoutSchema(version.Table().Name, r.list)
	}
	items, err := statement.ListItems(r.list)
	if err != nil {
		return st.pointIntoList(err, r)
	}
	for i := range items {
		items[i], _ = rewrite.WithoutSchema(version.Table().Name, items[i])
	}
	from := "SELECT " + strings.Join(nulls, ", ")
	rows := "(" + from + ") AS " + duckdb.QuoteIdentifier(r.alias)
	returned := rewrite.Condition{From: rows, Place: "RETURNING", Expressions: items}
	if err := st.session.rowwise(ctx, v, returned); err != nil {
		return err
	}
	text := r.query(from)
	plan, err := st.session.planQuery(ctx, text, dialect.TreeOf(text), v)
	if err != nil {
		return st.pointIntoReturning(err, r)
	}
	st.schema, st.returning = plan.schema, r
	plan.close()
	st.origins = st.session.originsReturned(r, version, v)
	return nil
}

// originsReturned tells which of the returned columns are the table's.
func (s *Session) originsReturned(r *returning, version *catalog.TableVersion, v *snapshot.View) []pgcatalog.Origin {
	const written = "csm_written"
	others := s.relations(v)
	text := "SELECT " + r.written + "\n FROM " + written + " AS " + duckdb.QuoteIdentifier(r.alias)
	return pgcatalog.Origins(text, dialect.TreeOf(text), func(database, schema, name string) *pgcatalog.Relation {
		if name == written {
			table := relation.OfTable(version)
			return &table
		}
		return others(database, schema, name)
	})
}

// pointIntoReturning moves a position from the list's query into the statement.
func (st *Statement) pointIntoReturning(err error, r *returning) error {
	e, ok := err.(*Error)
	if !ok || e.At == 0 {
		return err
	}
	moved := *e
	if moved.At -= utf8.RuneCountInString("SELECT "); moved.At <= 0 || moved.At > utf8.RuneCountInString(r.written) {
		moved.At = 0
	}
	return st.pointIntoList(dialect.InOriginal(&moved, r.edits, r.written, r.list), r)
}

// pointIntoList moves a position from the list into the statement, which ends with it.
func (st *Statement) pointIntoList(err error, r *returning) error {
	e, ok := err.(*Error)
	if !ok || e.At == 0 {
		return err
	}
	moved := *e
	moved.At = 0
	if start := strings.LastIndex(st.parsed.Text, r.list); start >= 0 {
		moved.At = e.At + utf8.RuneCountInString(st.parsed.Text[:start])
	}
	return &moved
}

// returned asks for the list of the rows that were kept: all, or those that have rewrite.HitColumn set. The caller releases
// what it keeps.
func (st *Statement) returned(ctx context.Context, v *snapshot.View, written *retained.Batches, columns *arrow.Schema) (*retained.Batches, error) {
	out := st.session.keeper()
	if len(written.List) == 0 {
		return out, nil
	}
	s := st.session
	schema := written.List[0].Schema()
	number := s.conn.Register(&duckdb.Scan{
		Schema: schema, Rows: written.Rows, Chunks: len(written.List),
		Open: func(chunk int, wanted []int) (arrow.RecordBatch, error) {
			return duckdb.Project(written.List[chunk], wanted), nil
		},
	})
	defer s.conn.Forget(number)
	names := make([]string, columns.NumFields())
	for i, f := range columns.Fields() {
		names[i] = duckdb.QuoteIdentifier(f.Name)
	}
	from := "SELECT " + strings.Join(names, ", ") + " FROM " + duckdb.ScanCall(number)
	if ingest.Index(schema, rewrite.HitColumn) == columns.NumFields() {
		from += " WHERE " + rewrite.HitColumn
	}
	text := st.returning.query(from)
	plan, err := s.planDuck(ctx, text, dialect.TreeOf(text), v)
	if err != nil {
		return nil, st.pointIntoReturning(err, st.returning)
	}
	defer plan.close()
	if !sameTypes(plan.schema, st.schema) {
		return nil, errOtherResult()
	}
	rows, err := plan.execute(ctx, v, nil)
	if err != nil {
		return nil, dialect.WithoutPosition(err)
	}
	defer rows.Close()
	if err := out.Drain(ctx, rows.Next); err != nil {
		out.Release()
		return nil, dialect.WithoutPosition(err)
	}
	return out, nil
}

// keeper keeps batches for the session.
func (s *Session) keeper() *retained.Batches { return retained.For(s.account) }

// keptRows gives what was kept as the statement's rows.
func keptRows(k *retained.Batches, schema *arrow.Schema, tag string, affected int64) *Rows {
	rows := &Rows{schema: schema, tag: func(int64) string { return tag }, affected: affected}
	rows.fetch = k.Again()
	rows.onClose(k.Release)
	return rows
}

// errOtherResult is what a client is told of a prepared statement whose columns have other types by now.
func errOtherResult() *Error {
	return planOutdated()
}
