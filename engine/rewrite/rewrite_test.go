package rewrite_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// What a DELETE leaves: rows whose condition is false, or not known.
func TestOfDelete(t *testing.T) {
	name := statement.Name{Schema: "s", Name: "t"}
	for _, c := range []struct {
		head                 statement.Delete
		query, state         string
		flagged, removesRows bool
	}{
		{statement.Delete{}, `SELECT * FROM "s"."t" WHERE NOT coalesce((true` + "\n), false)", "", false, false},
		{statement.Delete{Where: "i = 1"}, `SELECT * FROM "s"."t" WHERE NOT coalesce((i = 1` + "\n), false)", "", false, false},
		{
			statement.Delete{Alias: "x", Using: "u", Where: "x.i = u.i"},
			`SELECT * FROM "s"."t" AS "x" WHERE NOT EXISTS (SELECT 1 FROM u WHERE x.i = u.i` + "\n)", "", false, false,
		},
		{
			statement.Delete{Where: "i = 1", Returning: "i"},
			`SELECT *, coalesce((i = 1` + "\n), false) AS csm_hit FROM \"s\".\"t\"", "", true, true,
		},
		{statement.Delete{Using: "u", Where: "random() < 0.5"}, "", "0A000", false, false}, // RW1
	} {
		c.head.Name = name
		r, err := rewrite.OfDelete(&c.head)
		require.Equal(t, c.state, sqlerror.State(err))
		if err != nil {
			continue
		}
		query, err := r.Query(nil)
		require.NoError(t, err)
		require.Equal(t, " "+c.query, query)
		require.Equal(t, []bool{c.flagged, c.removesRows}, []bool{r.Flagged, r.Removes}, query)
	}
}

func TestUpdateFromIsRefused(t *testing.T) {
	_, err := rewrite.OfUpdate(&statement.Update{From: "u"})
	require.Equal(t, "0A000", sqlerror.State(err))
}

// RW2: DuckDB is asked of expressions that may call something, and of no others.
func TestConditionText(t *testing.T) {
	c := rewrite.Condition{With: "WITH w AS (SELECT 1)", From: "t", Place: "WHERE", Expressions: []string{"a", "", "f(b)", "g(c)"}}
	require.Equal(t, "WITH w AS (SELECT 1) SELECT 1 FROM t WHERE (f(b)\n) IS NULL OR (g(c)\n) IS NULL", c.Text())
	c.Expressions = []string{"a > b"}
	require.Empty(t, c.Text())
}

// RW2.
func TestConditionRefused(t *testing.T) {
	c := rewrite.Condition{Place: "UPDATE"}
	for text, state := range map[string]string{
		"Binder Error: WHERE clause cannot contain aggregates: aggregate functions are not allowed in WHERE": "42803",
		"window functions are not allowed in WHERE":                                                          "42P20",
		"UNNEST not supported here":                                                                          "0A000",
		"Referenced column \"nowhere\" not found in FROM clause!":                                            "",
	} {
		err := c.Refused(errors.New(text))
		require.Equal(t, state, sqlerror.State(err), text)
		if err != nil {
			require.ErrorContains(t, err, "in UPDATE", "the place is the user's")
		}
	}
}

// A RETURNING knows the table by its alias, and else by its name.
func TestReturningOf(t *testing.T) {
	name := statement.Name{Schema: "s", Name: "t"}
	for _, c := range []struct {
		head    any
		alias   string
		aliased bool
	}{
		{&statement.Insert{Name: name, Returning: "i"}, "t", false}, {&statement.Update{Name: name, Returning: "i"}, "t", false},
		{&statement.Delete{Name: name, Alias: "x", Returning: "i"}, "x", true},
	} {
		r := rewrite.ReturningOf(c.head)
		require.Equal(t, []any{"i", c.alias, c.aliased}, []any{r.List, r.Alias, r.Aliased})
		require.Equal(t, "SELECT i\n FROM (rows) AS \""+c.alias+`"`, r.Query("rows"))
	}
	require.Nil(t, rewrite.ReturningOf(&statement.Delete{Name: name}))
}

// An error of the list points into the statement, in characters.
func TestReturningPlace(t *testing.T) {
	r := rewrite.ReturningOf(&statement.Delete{Returning: "nowhere"})
	err := &sqlerror.Error{At: 1, State: "42703"}
	const text = "DELETE FROM t WHERE v = 'ä' RETURNING nowhere"
	for _, placed := range []error{
		r.Place(err, text), r.PlaceQuery(&sqlerror.Error{At: 1 + len("SELECT "), State: "42703"}, text),
	} {
		var e *sqlerror.Error
		require.ErrorAs(t, placed, &e)
		require.Equal(t, len("DELETE FROM t WHERE v = 'a' RETURNING ")+1, e.At)
	}
	require.Equal(t, 1, err.At, "the error itself stays as it is")
}
