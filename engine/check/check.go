package check

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/concatenation"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// Checker evaluates checks. Safe for concurrent use.
type Checker struct {
	db *duckdb.Database

	mu   sync.Mutex // guards what follows; a leaf
	idle []*connection
	over bool
}

// New is a checker that evaluates in db, until it is closed.
func New(db *duckdb.Database) *Checker { return &Checker{db: db} }

// connection is one of DuckDB's for checks. It belongs to no session, so that a name in a check means the same in all
// of them: PostgreSQL's functions and DuckDB's. The time zone is that of the session which writes.
type connection struct {
	*duckdb.Connection
	zone string
}

// connect gives a connection of the time zone. The caller gives it back.
func (k *Checker) connect(zone string) (*connection, error) {
	c := k.take()
	if c == nil {
		conn, err := k.db.Connect(nil)
		if err != nil {
			return nil, err
		}
		c = &connection{Connection: conn}
		if err := c.LookIn(""); err != nil {
			c.Close()
			return nil, err
		}
	}
	if c.zone == zone {
		return c, nil
	}
	if err := c.Exec("SET TimeZone = " + duckdb.QuoteLiteral(zone)); err != nil {
		c.Close()
		return nil, err
	}
	c.zone = zone
	return c, nil
}

// take gives an idle connection; nil: there is none.
func (k *Checker) take() *connection {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := len(k.idle)
	if n == 0 {
		return nil
	}
	last := k.idle[n-1]
	k.idle = k.idle[:n-1]
	return last
}

// idleMost bounds how many connections are kept.
const idleMost = 4

// give takes a connection back.
func (k *Checker) give(conn *connection) {
	k.mu.Lock()
	keep := !k.over && len(k.idle) < idleMost
	if keep {
		k.idle = append(k.idle, conn)
	}
	k.mu.Unlock()
	if !keep {
		conn.Close()
	}
}

// Close gives the connections back. It comes before the database's; nil is closed.
func (k *Checker) Close() {
	if k == nil {
		return
	}
	k.mu.Lock()
	idle := k.idle
	k.idle, k.over = nil, true
	k.mu.Unlock()
	for _, conn := range idle {
		conn.Close()
	}
}

// UTC is the time zone of what belongs to no session.
const UTC = "Etc/UTC"

// Table holds rows of a table to its checks.
type Table struct {
	checker *Checker
	table   catalog.Table
	zone    string
	list    []constraint.Constraint
}

// Of are the checks of a table, for rows that are written by a session of this time zone; nil: there are none.
func (k *Checker) Of(table catalog.Table, zone string) (*Table, error) {
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return nil, sqlerror.New("XX001", "table %v: %v", table.Name, err)
	}
	c := &Table{checker: k, table: table, zone: zone}
	for _, one := range list {
		if one.Kind == constraint.Check {
			one.Expression = calling.Computes(one.Expression)
			c.list = append(c.list, one)
		}
	}
	if len(c.list) == 0 {
		return nil, nil
	}
	return c, nil
}

// OfChunks holds chunks of a table, laid out and not yet sealed, to its checks; nil: there are none.
func (k *Checker) OfChunks(table catalog.Table, zone string) (func(context.Context, arrow.RecordBatch) error, error) {
	c, err := k.Of(table, zone)
	if c == nil || err != nil {
		return nil, err
	}
	return func(ctx context.Context, rows arrow.RecordBatch) error { return c.Hold(ctx, table.Columns, rows) }, nil
}

// Hold is an error, 23514, if one of the checks is false for a row. The columns are the table's, laid out as schema
// says; they lie outside of Go's heap (Outside).
func (c *Table) Hold(ctx context.Context, schema *arrow.Schema, rows arrow.RecordBatch) error {
	for first := 0; first < len(c.list); { // those that call the table by one name
		end := first + 1
		for end < len(c.list) && c.list[end].Table == c.list[first].Table {
			end++
		}
		if err := c.check(ctx, schema, c.list[first:end], rows); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// check asks about checks that call the table by one name.
func (c *Table) check(ctx context.Context, schema *arrow.Schema, checks []constraint.Constraint,
	rows arrow.RecordBatch) error {
	conn, err := c.checker.connect(c.zone)
	if err != nil {
		return err
	}
	defer c.checker.give(conn)
	conn.NameTypes(typesIn(schema, nil))
	scan, forget := conn.RegisterBatch(schema, rows)
	defer forget()
	from := scan + " AS " + duckdb.QuoteIdentifier(checks[0].Table)
	var cases strings.Builder
	for i, k := range checks {
		fmt.Fprintf(&cases, " WHEN NOT (%s\n) THEN %d", dialect.Expression(k.Expression), i)
	}
	found, err := texts(ctx, conn.Connection, "SELECT CAST(failed AS VARCHAR) FROM (SELECT CASE"+cases.String()+
		" END AS failed FROM "+from+") AS checked WHERE failed IS NOT NULL LIMIT 1")
	if err != nil || len(found) == 0 {
		return dialect.WithoutPosition(err)
	}
	var which int
	if _, err := fmt.Sscan(found[0], &which); err != nil {
		return err
	}
	k := checks[which]
	if k.Domain != 0 {
		return sqlerror.New(k.State, "%s", k.Says)
	}
	failed := sqlerror.New("23514", "new row for relation %q violates check constraint %q", c.table.Name.Name, k.Name)
	failed.Object = sqlerror.Object{Schema: c.table.Name.Schema, Table: c.table.Name.Name, Constraint: k.Name}
	row, err := texts(ctx, conn.Connection,
		"SELECT "+failingRow(schema)+" FROM "+from+" WHERE NOT ("+dialect.Expression(k.Expression)+"\n) LIMIT 1")
	if err == nil && len(row) == 1 { // a check that is random may pass now
		failed.DetailText = "Failing row contains (" + row[0] + ")."
	}
	return failed
}

// failingRowMax is how many characters of a value PostgreSQL shows.
const failingRowMax = 64

// failingRow is an expression for a row's values, as PostgreSQL shows them in errors.
func failingRow(schema *arrow.Schema) string {
	list := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		value := "CAST(" + duckdb.QuoteIdentifier(f.Name) + " AS VARCHAR)"
		if f.Type.ID() == arrow.BOOL {
			value = "left(" + value + ", 1)"
		}
		list[i] = fmt.Sprintf("coalesce(CASE WHEN length(%[1]s) > %[2]d THEN left(%[1]s, %[2]d) || '...' ELSE %[1]s END, 'null')",
			value, failingRowMax)
	}
	return strings.Join(list, " || ', ' || ")
}

// texts asks for one column of text.
func texts(ctx context.Context, conn *duckdb.Connection, text string) ([]string, error) {
	list, err := conn.Texts(ctx, text)
	if err != nil {
		return nil, dialect.FromDuckDB(err, text, text, nil)
	}
	return list, nil
}

// typesIn says what user-defined types mean to a check: those of the columns are as the columns have them, which may
// not be committed yet.
func typesIn(schema *arrow.Schema, others duckdb.TypesOf) duckdb.TypesOf {
	return func(number uint64) (string, bool) {
		for _, f := range schema.Fields() {
			if t := enumeration.Of(f); t != nil && t.Number() == number {
				return t.SQL(), true
			}
		}
		if others == nil {
			return "", false
		}
		return others(number)
	}
}

// Expression is an error unless DuckDB would take the check for one of a table of its own, which it is asked to make,
// and not to keep: it knows which expressions read a single row.
func (k *Checker) Expression(schema *arrow.Schema, check constraint.Constraint, types duckdb.TypesOf) error {
	conn, err := k.connect(UTC)
	if err != nil {
		return err
	}
	defer k.give(conn)
	conn.NameTypes(typesIn(schema, types))
	columns, nulls := make([]string, schema.NumFields()), make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		name, err := columntype.SQL(f)
		if err != nil {
			return err
		}
		columns[i] = duckdb.QuoteIdentifier(f.Name) + " " + name
		nulls[i] = "CAST(NULL AS " + name + ") AS " + duckdb.QuoteIdentifier(f.Name)
	}
	expression, table := dialect.Expression(calling.Computes(check.Expression)), duckdb.QuoteIdentifier(check.Table)
	if err := conn.Exec("BEGIN"); err != nil {
		return err
	}
	made := conn.Exec("CREATE TEMP TABLE " + table + " (" + strings.Join(columns, ", ") + ", CHECK (" + expression + "\n))")
	if err := conn.Exec("ROLLBACK"); err != nil {
		return err
	}
	row := " FROM (SELECT " + strings.Join(nulls, ", ") + ") AS " + table
	if made != nil && strings.Contains(made.Error(), "Lambda functions") {
		made = ofOneRow(conn.Connection, expression, row)
	}
	if refused, known := refusedCheck(made); known {
		return refused
	}
	typed, err := texts(context.Background(), conn.Connection,
		"SELECT typeof(("+expression+"\n))"+row)
	switch {
	case err != nil:
		return dialect.WithoutPosition(err)
	case made != nil:
		return dialect.WithoutPosition(dialect.FromDuckDB(made, "", "", nil))
	case len(typed) == 1 && typed[0] != "BOOLEAN" && typed[0] != `"NULL"`:
		return sqlerror.New("42804", "argument of CHECK must be type boolean, not type %s", strings.ToLower(typed[0]))
	}
	return nil
}

// ofOneRow is DuckDB's error of an expression that reads more than a row. It takes no lambdas in checks of its own
// tables, which functions of the dialect have inside; ours are evaluated by queries.
func ofOneRow(conn *duckdb.Connection, expression, row string) error {
	for m := range tree.All(dialect.TreeOf("SELECT " + expression).ProtoReflect()) {
		switch m.Interface().(type) {
		case *pg.SubLink:
			return errors.New("a subquery")
		case *pg.ParamRef:
			return errors.New("a parameter")
		}
	}
	_, err := conn.Texts(context.Background(), "SELECT ''"+row+" WHERE ("+expression+"\n) IS NULL")
	return err
}

// refusedCheck says in PostgreSQL's words what a check may not do, if it is that which DuckDB says.
func refusedCheck(err error) (refused error, known bool) {
	if err == nil {
		return nil, false
	}
	lower := strings.ToLower(err.Error())
	for _, known := range []struct{ words, state, message string }{
		{"subquer", "0A000", "cannot use subquery in check constraint"},
		{"aggregate", "42803", "aggregate functions are not allowed in check constraints"},
		{"window", "42P20", "window functions are not allowed in check constraints"},
		{"parameter", "42P02", "cannot use a parameter in a check constraint"},
	} {
		if strings.Contains(lower, known.words) {
			return sqlerror.New(known.state, "%s", known.message), true
		}
	}
	return nil, false
}

// Outside copies a batch out of Go's heap, so that C may point to it (duck.D2).
func Outside(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, batch.NumCols())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i := range columns {
		column, err := concatenation.Arrays([]arrow.Array{batch.Column(i)}, duckdb.Outside)
		if err != nil {
			return nil, err
		}
		columns[i] = column
	}
	return array.NewRecordBatch(batch.Schema(), columns, batch.NumRows()), nil
}
