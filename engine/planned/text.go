package planned

import (
	"cmp"
	"strconv"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine/prepared"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// DuckDB plans no statement before it knows what every parameter is. There are two cases in which it cannot: nothing
// around a parameter gives it a type (SELECT $1; PostgreSQL takes it for text), and a table function's argument
// (FROM range($1)), for which it wants the value itself, because the function decides by it what columns it has. A
// statement of the second kind is planned late: to describe it a number stands in for such parameters, and when it runs
// the values of all parameters are written into its text.

// Text is a text as DuckDB has planned it.
type Text struct {
	Given  string // what DuckDB was given
	Edits  edit.List
	Duck   *duckdb.Statement
	Params []duckdb.ParameterType
	AsText bool   // all parameters are text, because one of them has no type
	Late   bool   // Duck only describes: it is planned once more when the parameters have values
	Asked  string // the text to replan, which names the columns; empty: the planned one
}

// Original is the text to replan in the place of a planned one.
func (t *Text) Original(text string) string { return cmp.Or(t.Asked, text) }

// Resolve plans a text whose parameters DuckDB could not make out. users is what the user wrote.
func (t *Text) Resolve(conn *duckdb.Connection, users string) error {
	given := t.Given
	tree := dialect.TreeOf(given)
	called := dialect.ArgumentsOfFunctions(tree)
	if len(called) == 0 {
		if err := t.planAsText(conn, given, users, tree); err != nil || t.Duck.Resolved() {
			return err
		}
		called = dialect.EveryParameter(given) // in a text that only DuckDB reads all may be
	}
	t.Late, t.AsText = true, false
	for number, cast := range called {
		if i := number - 1; i >= 0 && i < len(t.Params) && t.Params[i] == duckdb.TypeUnknown && !cast {
			t.Params[i] = duckdb.TypeInt64
		}
	}
	given, _ = dialect.ShownAsText(given, tree)
	// What is left is renumbered: DuckDB's numbers have no gaps.
	numbers := map[string]int{}
	text, _ := dialect.ReplaceTokens(given, func(token string, _ int) (string, bool) {
		i := dialect.ParameterIndex(token)
		_, isArgument := called[i+1]
		switch {
		case i < 0 || i >= len(t.Params):
			return "", false
		case isArgument:
			return dialect.StandIn(t.Params[i]), true
		case numbers[token] == 0:
			numbers[token] = len(numbers) + 1
		}
		return "$" + strconv.Itoa(numbers[token]), true
	})
	if err := t.planAgain(conn, users, text, nil); err != nil {
		return err
	}
	types := t.Duck.Parameters()
	for token, number := range numbers {
		if number <= len(types) {
			t.Params[dialect.ParameterIndex(token)] = types[number-1]
		}
	}
	t.Given, t.Edits = given, nil
	return nil
}

// planAsText takes parameters without a type for text: those that are columns by themselves if that is enough, else
// all.
func (t *Text) planAsText(conn *duckdb.Connection, given, users string, tree *pg.ParseResult) error {
	if text, made := dialect.ShownAsText(given, tree); len(made) > 0 {
		duck, err := conn.Prepare(text)
		if err == nil && duck.Resolved() {
			t.Duck.Close()
			t.Duck, t.Params, t.Given, t.Edits = duck, duck.Parameters(), text, t.Edits.Then(made)
			return nil
		}
		if err == nil {
			duck.Close()
		}
	}
	t.AsText = true
	text, made := dialect.ParametersAsText(given)
	if err := t.planAgain(conn, users, text, t.Edits.Then(made)); err != nil {
		return err
	}
	if t.Duck.Resolved() {
		t.Params = t.Duck.Parameters()
	}
	return nil
}

// planAgain plans another text in the place of what was planned.
func (t *Text) planAgain(conn *duckdb.Connection, users, text string, made edit.List) error {
	duck, err := conn.Prepare(text)
	if err != nil {
		return dialect.WithoutPosition(dialect.FromDuckDB(err, text, users, nil))
	}
	t.Duck.Close()
	t.Duck, t.Given, t.Edits = duck, text, made
	return nil
}

// WithValues is what DuckDB is given with the parameters' values in their places.
func (t *Text) WithValues(args []any) (string, error) {
	if len(args) != len(t.Params) {
		return "", sqlerror.New("08P01", "the statement has %s and was given %d", counted.Of(len(t.Params), "parameter"), len(args))
	}
	var failed error
	text, _ := dialect.ReplaceTokens(t.Given, func(token string, _ int) (string, bool) {
		i := dialect.ParameterIndex(token)
		if i < 0 || i >= len(args) {
			return "", false
		}
		value, err := dialect.Constant(args[i])
		failed = cmp.Or(failed, err)
		family := prepared.FamilyOf(t.Params[i]).Name
		if _, text := args[i].(string); text && prepared.Exact(family) {
			value = "CAST(" + value + " AS " + family + ")"
		}
		return value, true
	})
	return text, failed
}
