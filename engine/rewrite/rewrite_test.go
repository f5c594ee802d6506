package rewrite_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/hugetable"
	"github.com/csmsql/csmsql/engine/rewrite"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// version is an empty table of some columns.
func version(columns ...string) *catalog.TableVersion {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	}
	table := catalog.Table{Name: catalog.TableName{Schema: "s", Name: "t"}, Columns: arrow.NewSchema(fields, nil)}
	return hugetable.NewVersion(table, nil)
}

const from = `"csm_numbered"."t"`

// What a DELETE asks for: numbers of rows, and what they were only for RETURNING.
func TestOfDelete(t *testing.T) {
	name := statement.Name{Schema: "s", Name: "t"}
	for _, c := range []struct {
		head         statement.Delete
		query, state string
	}{
		{statement.Delete{}, `SELECT "t"."csm_row" FROM ` + from + ` AS "t"`, ""},
		{statement.Delete{Where: "s.t.i = 1"}, `SELECT "t"."csm_row" FROM ` + from + ` AS "t" WHERE (t.i = 1` + "\n)", ""},
		{
			statement.Delete{Alias: "x", Using: "u", Where: "x.i = u.i"},
			`SELECT "x"."csm_row" FROM ` + from + ` AS "x" WHERE (EXISTS (SELECT 1 FROM u WHERE x.i = u.i` + "\n)\n)", "",
		},
		{
			statement.Delete{Where: "i = 1", Returning: "i"},
			`SELECT "t"."i", "t"."csm_row" FROM ` + from + ` AS "t" WHERE (i = 1` + "\n)", "",
		},
		{statement.Delete{Using: "u", Where: "random() < 0.5"}, "", "0A000"}, // RW1
	} {
		c.head.Name = name
		r, err := rewrite.OfDelete(&c.head)
		require.Equal(t, c.state, sqlerror.State(err))
		if err != nil {
			continue
		}
		n := r.Numbers(version("i"))
		query, err := r.Query(n, n.Table())
		require.NoError(t, err)
		require.Equal(t, " "+c.query, query)
		require.True(t, r.Removes)
	}
}

// What an UPDATE asks for: what rows become, and their numbers.
func TestOfUpdate(t *testing.T) {
	r, err := rewrite.OfUpdate(&statement.Update{
		Name: statement.Name{Name: "t"}, Set: []statement.Assignment{{Column: "j", Value: "u.k + 1"}}, From: "u", Where: "t.i = u.i",
	})
	require.NoError(t, err)
	n := r.Numbers(version("i", "j"))
	query, err := r.Query(n, n.Table())
	require.NoError(t, err)
	require.Equal(t, ` SELECT "t"."i", CAST((u.k + 1`+"\n"+`) AS BIGINT), "t"."csm_row" FROM `+from+` AS "t", u WHERE (t.i = u.i`+"\n)", query)
}

// RW3: what the user has written means no number, nor is one part of a row.
func TestUsersSeeNoNumbers(t *testing.T) {
	name := statement.Name{Name: "t"}
	for _, c := range []struct{ words, column, schema string }{
		{"i = 1", "csm_row", "csm_numbered"}, {"CSM_ROW = 1", "csm_row_", "csm_numbered"}, {"csm_row_ = 1", "csm_row__", "csm_numbered"},
		{"i IN (SELECT csm_row FROM csm_numbered.t)", "csm_row_", "csm_numbered_"},
	} {
		r, err := rewrite.OfDelete(&statement.Delete{Name: name, Where: c.words})
		require.NoError(t, err)
		n := r.Numbers(version("i"))
		require.Equal(t, []string{c.column, c.schema}, []string{n.Column, n.Schema}, c.words)
		all := snapshot.Numbering{n}
		require.Same(t, n, all.Find("", c.schema, "t"))
		require.Nil(t, all.Find("", "s", "t"))
	}
	r, err := rewrite.OfDelete(&statement.Delete{Name: name})
	require.NoError(t, err)
	require.Equal(t, "csm_row_", r.Numbers(version("Csm_Row")).Column)
	for words, whole := range map[string]bool{
		"t.i = 1": false, "i * 2 = 4": false, "s.t.i = 1": false, "i IN (SELECT * FROM u)": false, "count(*) > 1": false,
		"t IS NULL": true, "f(T)": true, `"t"::text = ''`: true, "f(t.*)": true, "COLUMNS('a') = 1": true, "u.t = 1": false, "1 = t": true,
	} {
		r, err := rewrite.OfDelete(&statement.Delete{Name: name, Where: words})
		require.NoError(t, err)
		query, err := r.Query(r.Numbers(version("i")), "n")
		require.NoError(t, err)
		require.Equal(t, whole, strings.Contains(query, "LATERAL"), "%s: %s", words, query)
	}
	require.Nil(t, snapshot.Numbering(nil).Find("", "", "t"))
}

// RW2: DuckDB is asked of expressions that may call something, and of no others.
func TestConditionText(t *testing.T) {
	c := rewrite.Condition{With: "WITH w AS (SELECT 1)", From: "t", Place: "WHERE", Expressions: []string{"a", "", "f(b)", "g(c)"}}
	require.Equal(t, "WITH w AS (SELECT 1) SELECT 1 FROM t WHERE (f(b)\n) IS NULL OR (g(c)\n) IS NULL", c.Text())
	c.Expressions = []string{"a > b"}
	require.Empty(t, c.Text())
}

// RW2.
// Only what may call something is asked of DuckDB.
func TestConditionsThatCallNothing(t *testing.T) {
	for expression, asked := range map[string]bool{
		"a = 1": false, "(a = 1) AND (b)": false, "a IN (1, 2) OR NOT (b in (3))": false, "a + (b * (2)) > 'f(x)'": false,
		"sum(a) > 1": true, "a IN (count (*))": true, `"sum"(a) = 1`: true, "a = 1 AND (SELECT max(b) FROM t) > 0": true,
		"row_number() OVER () = 1": true, "a.sum() > 0": true, "a IN (1) AND sum /* of all */ (a) > 0": true,
	} {
		c := rewrite.Condition{From: "t", Place: "WHERE", Expressions: []string{expression}}
		require.Equal(t, asked, c.Text() != "", expression)
	}
}

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
		require.Equal(t, "SELECT i\n FROM rows", r.Query(rewrite.Condition{From: "rows"}))
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
