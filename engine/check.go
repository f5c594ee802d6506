package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// CHECK constraints. Rows are held to them where all ways in come together: when a writer has laid out a chunk, and before it is sealed,
// DuckDB is asked for a row of it of which a check is false. So each check is evaluated once per row, over the values that are stored.

// checker is a connection of DuckDB's for checks. It belongs to no session, so that a name in a check means the same in all of them:
// PostgreSQL's functions and DuckDB's. The time zone is that of the session which writes.
type checker struct {
	*duckdb.Connection
	zone string
}

// checker gives one for the time zone.
func (e *Engine) checker(zone string) (*checker, error) {
	c := e.checkers.take()
	if c == nil {
		conn, err := e.db.Connect(nil)
		if err != nil {
			return nil, err
		}
		c = &checker{Connection: conn}
		if err := c.Exec("SET search_path = " + duckdb.QuoteLiteral(pgcatalog.SessionSchema)); err != nil {
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

// checkers are those that are idle.
type checkers struct {
	mu   sync.Mutex // guards idle; leaf lock
	idle []*checker
	over bool
}

// take gives an idle one; nil: there is none.
func (c *checkers) take() *checker {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.idle)
	if n == 0 {
		return nil
	}
	last := c.idle[n-1]
	c.idle = c.idle[:n-1]
	return last
}

// idleCheckers bounds how many are kept.
const idleCheckers = 4

// give takes one back.
func (c *checkers) give(conn *checker) {
	c.mu.Lock()
	keep := !c.over && len(c.idle) < idleCheckers
	if keep {
		c.idle = append(c.idle, conn)
	}
	c.mu.Unlock()
	if !keep {
		conn.Close()
	}
}

func (c *checkers) close() {
	c.mu.Lock()
	idle := c.idle
	c.idle, c.over = nil, true
	c.mu.Unlock()
	for _, conn := range idle {
		conn.Close()
	}
}

// utcZone is the time zone of what belongs to no session.
const utcZone = "Etc/UTC"

// tableChecks hold rows of a table to its checks.
type tableChecks struct {
	engine *Engine
	table  catalog.Table
	zone   string
	list   []constraint.Constraint
}

// checksOf are those of a table, for rows that are written by a session of this time zone; nil: there are none.
func (e *Engine) checksOf(table catalog.Table, zone string) (*tableChecks, error) {
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return nil, sqlerror.New("XX001", "table %v: %v", table.Name, err)
	}
	c := &tableChecks{engine: e, table: table, zone: zone}
	for _, k := range list {
		if k.Enforced() {
			c.list = append(c.list, k)
		}
	}
	if len(c.list) == 0 {
		return nil, nil
	}
	return c, nil
}

// checkOf holds chunks of a table, laid out and not yet sealed, to its checks; nil: there are none.
func (e *Engine) checkOf(table catalog.Table, zone string) (func(context.Context, arrow.RecordBatch) error, error) {
	c, err := e.checksOf(table, zone)
	if c == nil || err != nil {
		return nil, err
	}
	return func(ctx context.Context, rows arrow.RecordBatch) error { return c.hold(ctx, table.Columns, rows) }, nil
}

// hold is an error if one of the checks is false for a row. The columns are the table's, laid out as schema says.
func (c *tableChecks) hold(ctx context.Context, schema *arrow.Schema, rows arrow.RecordBatch) error {
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

func (c *tableChecks) check(ctx context.Context, schema *arrow.Schema, checks []constraint.Constraint, rows arrow.RecordBatch) error {
	conn, err := c.engine.checker(c.zone)
	if err != nil {
		return err
	}
	defer c.engine.checkers.give(conn)
	number := conn.Register(&duckdb.Scan{
		Schema: schema, Rows: rows.NumRows(), Chunks: 1,
		Open: func(_ int, wanted []int) (arrow.RecordBatch, error) { return project(rows, wanted), nil },
	})
	defer conn.Forget(number)
	from := scanName(number) + " AS " + duckdb.QuoteIdentifier(checks[0].Table)
	var cases strings.Builder
	for i, k := range checks {
		fmt.Fprintf(&cases, " WHEN NOT (%s\n) THEN %d", dialect.Expression(k.Expression), i)
	}
	found, err := texts(ctx, conn.Connection, "SELECT CAST(failed AS VARCHAR) FROM (SELECT CASE"+cases.String()+" END AS failed FROM "+from+") AS checked WHERE failed IS NOT NULL LIMIT 1")
	if err != nil || len(found) == 0 {
		return dialect.WithoutPosition(err)
	}
	var which int
	if _, err := fmt.Sscan(found[0], &which); err != nil {
		return err
	}
	k := checks[which]
	failed := sqlerror.New("23514", "new row for relation %q violates check constraint %q", c.table.Name.Name, k.Name)
	failed.Object = sqlerror.Object{Schema: c.table.Name.Schema, Table: c.table.Name.Name, Constraint: k.Name}
	row, err := texts(ctx, conn.Connection, "SELECT "+failingRow(schema)+" FROM "+from+" WHERE NOT ("+dialect.Expression(k.Expression)+"\n) LIMIT 1")
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
		list[i] = fmt.Sprintf("coalesce(CASE WHEN length(%[1]s) > %[2]d THEN left(%[1]s, %[2]d) || '...' ELSE %[1]s END, 'null')", value, failingRowMax)
	}
	return strings.Join(list, " || ', ' || ")
}

// texts asks for one column of text.
func texts(ctx context.Context, conn *duckdb.Connection, text string) (list []string, err error) {
	defer conn.Hear(ctx)()
	duck, err := conn.Prepare(text)
	if err != nil {
		return nil, dialect.FromDuckDB(err, text, text, nil)
	}
	defer duck.Close()
	rows, err := duck.Execute(ctx)
	if err != nil {
		return nil, dialect.FromDuckDB(err, text, text, nil)
	}
	defer rows.Close()
	for {
		batch, err := rows.Next()
		if isEnd(err) {
			return list, nil
		}
		if err != nil {
			return nil, dialect.FromDuckDB(err, text, text, nil)
		}
		for i := range int(batch.NumRows()) {
			list = append(list, strings.Clone(batch.Column(0).ValueStr(i)))
		}
		batch.Release()
	}
}

// checkExpression is an error unless DuckDB would take the check for one of a table of its own, which it is asked to make, and not to keep: it
// knows which expressions read a single row.
func (e *Engine) checkExpression(schema *arrow.Schema, k constraint.Constraint) error {
	conn, err := e.checker(utcZone)
	if err != nil {
		return err
	}
	defer e.checkers.give(conn)
	columns, nulls := make([]string, schema.NumFields()), make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		name, err := columntype.SQL(f)
		if err != nil {
			return err
		}
		columns[i] = duckdb.QuoteIdentifier(f.Name) + " " + name
		nulls[i] = "CAST(NULL AS " + name + ") AS " + duckdb.QuoteIdentifier(f.Name)
	}
	expression, table := dialect.Expression(k.Expression), duckdb.QuoteIdentifier(k.Table)
	if err := conn.Exec("BEGIN"); err != nil {
		return err
	}
	made := conn.Exec("CREATE TEMP TABLE " + table + " (" + strings.Join(columns, ", ") + ", CHECK (" + expression + "\n))")
	if err := conn.Exec("ROLLBACK"); err != nil {
		return err
	}
	if refused, known := refusedCheck(made); known {
		return refused
	}
	typed, err := texts(context.Background(), conn.Connection, "SELECT typeof(("+expression+"\n)) FROM (SELECT "+strings.Join(nulls, ", ")+") AS "+table)
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

// outsideOf copies a batch into memory that C may point to (D2).
func outsideOf(batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	columns := make([]arrow.Array, batch.NumCols())
	defer func() {
		for _, c := range columns {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i := range columns {
		column, err := array.Concatenate([]arrow.Array{batch.Column(i)}, outside)
		if err != nil {
			return nil, err
		}
		columns[i] = column
	}
	return array.NewRecordBatch(batch.Schema(), columns, batch.NumRows()), nil
}
