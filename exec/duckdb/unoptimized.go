package duckdb

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"

	bindings "github.com/duckdb/duckdb-go-bindings"
)

// DuckDB 1.5's optimizer fails at some queries that its executor could run, and makes plans of some others that its
// executor cannot run: it folds x >= low AND x <= high into one BETWEEN also for lists, structs and maps, of which
// no filter can be made. Such a query is planned once more with the optimizer off, for this connection alone.
// Without it a comma between two tables is their whole product, so a plan that has one is not run: the query fails
// as it did, with a hint. Scans keep their own filters either way. TestBetweenOfNestedValues of this package shows when
// a later DuckDB can do without.

// unoptimized prepares the query with DuckDB's optimizer off; nil where that fails, too, with the reason, or where
// it may take for ever.
func (c *Connection) unoptimized(sql string) (*Statement, error) {
	if !c.optimize(false) {
		return nil, nil
	}
	s, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	s.plain = true
	if kind := s.Kind(); kind != KindExplain && (kind != KindSelect || c.multiplies(sql)) {
		s.Close()
		return nil, nil
	}
	return s, nil
}

// optimize switches DuckDB's optimizer on or off before a statement is planned, which may also be when it is
// started. It reports whether DuckDB obeyed, which it does not in a transaction in which a statement has failed.
func (c *Connection) optimize(on bool) bool {
	if c.plain == !on {
		return true
	}
	if c.tell(map[bool]string{true: "PRAGMA enable_optimizer", false: "PRAGMA disable_optimizer"}[on]) != nil {
		return false
	}
	c.plain = !on
	return true
}

// multiplies reports whether the plan that DuckDB makes of the query now, without its optimizer, may have a product of
// tables that the optimized plan has not.
func (c *Connection) multiplies(sql string) bool {
	without, known := c.products(sql)
	if !known || without == 0 {
		return !known
	}
	defer c.optimize(false)
	if !c.optimize(true) {
		return true
	}
	with, known := c.products(sql)
	return !known || with < without
}

// products counts the products of tables in the plan of the query; known is false where DuckDB shows none.
func (c *Connection) products(sql string) (count int, known bool) {
	plan, err := c.prepare("EXPLAIN " + sql)
	if err != nil {
		return 0, false // DuckDB explains no SHOW and no PIVOT
	}
	defer plan.Close()
	plan.plain = c.plain
	if plan.Bind(make([]any, int(bindings.NParams(plan.handle)))) != nil {
		return 0, false
	}
	rows, err := plan.Execute(context.Background())
	if err != nil {
		return 0, false
	}
	defer rows.Close()
	for {
		batch, err := rows.Next()
		if err != nil {
			return count, errors.Is(err, io.EOF)
		}
		for i := range int(batch.NumRows()) {
			count += strings.Count(batch.Column(int(batch.NumCols())-1).ValueStr(i), "CROSS_PRODUCT")
		}
		batch.Release()
	}
}

// replan plans a query without DuckDB's optimizer if it has failed because of the optimizer's plan. No row of it may
// have been handed out.
func (s *Statement) replan(err error) bool {
	var e *Error
	if s.plain || s.Kind() != KindSelect || !errors.As(err, &e) || !e.isBetween() {
		return false
	}
	fresh, err := s.connection.unoptimized(s.sql)
	if err != nil || fresh == nil {
		return false
	}
	if fresh.Bind(s.args) != nil {
		fresh.Close()
		return false
	}
	s.adopt(fresh)
	return true
}

// restart starts what was replanned. An interrupt that came meanwhile is dropped; its cause, ctx, is checked instead.
func (s *Statement) restart(ctx context.Context) (*Rows, error) {
	startSession(s.connection.session)
	if err := ctx.Err(); err != nil {
		return nil, canceled(err)
	}
	s.connection.optimize(false)
	return s.start(ctx)
}

// kindType is DuckDB's exception type of values that an operator does not know.
const kindType = "Invalid type"

// isBetween reports whether a filter was to compare nested values with BETWEEN.
func (e *Error) isBetween() bool {
	return e.Kind == kindType && strings.HasPrefix(e.Message, betweenRefused)
}

const (
	betweenRefused = "BETWEEN cannot filter by "
	betweenHint    = "Write NOT (x < low OR x > high)."
	tryHint        = "Name the groups instead of GROUP BY ALL (GROUP BY 1, or GROUP BY TRY(…)), or work TRY(…) out in a sub-query " +
		"below the aggregation."
)

var (
	nestedBetween = regexp.MustCompile(`^Invalid Type \[(.*)\]: Invalid type for BETWEEN$`)
	callsTry      = regexp.MustCompile(`(?i)\btry\s*\(`)
)

// isInternal reports whether DuckDB failed at a query for a reason of its own, and can go on.
func isInternal(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.State == "XX000" && e.Kind != kindFatal
}

// explainInternal says what is known of a query that DuckDB fails at with its optimizer and without.
func explainInternal(sql string, err, without error) error {
	var e *Error
	if !errors.As(without, &e) || !strings.HasPrefix(e.Message, "Failed to bind column reference") || !callsTry.MatchString(sql) {
		return err
	}
	const message = "TRY of a column cannot be planned beside groups and aggregates"
	return &Error{Message: message, Kind: e.Kind, State: "0A000", Byte: -1, HintText: tryHint}
}
