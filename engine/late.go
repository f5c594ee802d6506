package engine

import (
	"cmp"
	"strconv"

	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// DuckDB plans no statement before it knows what every parameter is. There are two cases in which it cannot: nothing around a
// parameter gives it a type (SELECT $1; PostgreSQL takes it for text), and a table function's argument (FROM range($1)), for which it wants
// the value itself, because the function decides by it what columns it has. A statement of the second kind is planned late: to describe it
// a number stands in for such parameters, and when it runs the values of all parameters are written into its text.

// resolve plans a statement whose parameters DuckDB could not make out.
func (q *query) resolve(given string) error {
	called := dialect.ArgumentsOfFunctions(given)
	if len(called) == 0 {
		if err := q.planAsText(given); err != nil || q.duck.Resolved() {
			return err
		}
		called = dialect.EveryParameter(given) // in a text that only DuckDB reads nobody knows better
	}
	q.late, q.castParameters = true, false
	for number, cast := range called {
		if i := number - 1; i >= 0 && i < len(q.params) && q.params[i] == duckdb.TypeUnknown && !cast {
			q.params[i] = duckdb.TypeInt64
		}
	}
	given, _ = dialect.ShownAsText(given)
	// What is left is numbered anew: DuckDB's numbers have no gaps.
	numbers := map[string]int{}
	text, _ := dialect.ReplaceTokens(given, func(token string, _ int) (string, bool) {
		i := dialect.ParameterIndex(token)
		_, isArgument := called[i+1]
		switch {
		case i < 0 || i >= len(q.params):
			return "", false
		case isArgument:
			return dialect.StandIn(q.params[i]), true
		case numbers[token] == 0:
			numbers[token] = len(numbers) + 1
		}
		return "$" + strconv.Itoa(numbers[token]), true
	})
	if err := q.planAgain(text, nil); err != nil {
		return err
	}
	types := q.duck.Parameters()
	for token, number := range numbers {
		if number <= len(types) {
			q.params[dialect.ParameterIndex(token)] = types[number-1]
		}
	}
	q.given, q.edits = given, nil
	return nil
}

// planAsText takes parameters without a type for text: those that are columns by themselves if that is enough, else all.
func (q *query) planAsText(given string) error {
	if text, made := dialect.ShownAsText(given); len(made) > 0 {
		duck, err := q.session.conn.Prepare(text)
		if err == nil && duck.Resolved() {
			q.duck.Close()
			q.duck, q.params, q.given, q.edits = duck, duck.Parameters(), text, q.edits.Then(made)
			return nil
		}
		if err == nil {
			duck.Close()
		}
	}
	q.castParameters = true
	text, made := dialect.ParametersAsText(given)
	if err := q.planAgain(text, q.edits.Then(made)); err != nil {
		return err
	}
	if q.duck.Resolved() {
		q.params = q.duck.Parameters()
	}
	return nil
}

// planAgain plans another text in the place of what was planned.
func (q *query) planAgain(text string, made edit.List) error {
	duck, err := q.session.conn.Prepare(text)
	if err != nil {
		return dialect.WithoutPosition(dialect.FromDuckDB(err, text, q.text, nil))
	}
	q.duck.Close()
	q.duck, q.given, q.edits = duck, text, made
	return nil
}

// bound is the statement with its values; the caller closes it if it is not the query's own.
func (q *query) bound(args []any, v *snapshot.View) (*duckdb.Statement, error) {
	if !q.late {
		return q.duck, q.duck.Bind(args)
	}
	text, err := q.withValues(args)
	if err != nil {
		return nil, err
	}
	s := q.session
	v.Read = q.read
	s.visible = v
	defer func() { s.visible = nil }()
	duck, err := s.conn.Prepare(text)
	if err != nil {
		return nil, dialect.WithoutPosition(dialect.FromDuckDB(err, text, q.text, nil))
	}
	schema, err := duck.Schema()
	if err == nil && !sameTypes(conform.Schema(schema), q.schema) {
		err = sqlerror.New("0A000", "cached plan must not change result type").WithHint("Say of what type the parameters are: $1::bigint.")
	}
	if err != nil {
		duck.Close()
		return nil, err
	}
	return duck, nil
}

// withValues is what DuckDB is given with the parameters' values in their places.
func (q *query) withValues(args []any) (string, error) {
	if len(args) != len(q.params) {
		return "", sqlerror.New("08P01", "the statement has %s and was given %d", counted.Of(len(q.params), "parameter"), len(args))
	}
	var failed error
	text, _ := dialect.ReplaceTokens(q.given, func(token string, _ int) (string, bool) {
		i := dialect.ParameterIndex(token)
		if i < 0 || i >= len(args) {
			return "", false
		}
		value, err := dialect.Constant(args[i])
		failed = cmp.Or(failed, err)
		if _, text := args[i].(string); text && exact(familyNames[q.params[i]].name) {
			value = "CAST(" + value + " AS " + familyNames[q.params[i]].name + ")"
		}
		return value, true
	})
	return text, failed
}
