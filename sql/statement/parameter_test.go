package statement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/statement"
)

// S5: parameters in DuckDB's spellings are written as PostgreSQL's parser reads them, and operators stay.
func TestNumbered(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT ?": "SELECT $1",
		"SELECT ?::int, ? + 1, (?), [?], {'a': ?}":  "SELECT $1::int, $2 + 1, ($3), [$4], {'a': $5}",
		"SELECT a FROM t WHERE a=? AND b>=? OR c":   "SELECT a FROM t WHERE a=$1 AND b>=$2 OR c",
		"SELECT 'a'||?||'b', ?-1":                   "SELECT 'a'||$1||'b', $2-1",
		"FROM t ORDER BY ? LIMIT ? %":               "FROM t ORDER BY $1 LIMIT $2 %",
		"FROM t LIMIT ?::VARCHAR % OFFSET ?":        "FROM t LIMIT $1::VARCHAR % OFFSET $2",
		"SELECT a LIKE ? ESCAPE ? FROM t":           "SELECT a LIKE $1 ESCAPE $2 FROM t",
		"SELECT CASE ? WHEN ? THEN ? ELSE ? END":    "SELECT CASE $1 WHEN $2 THEN $3 ELSE $4 END",
		"INSERT INTO t VALUES (?, ?)":               "INSERT INTO t VALUES ($1, $2)",
		"SELECT sum(a) OVER (ROWS ? PRECEDING)":     "SELECT sum(a) OVER (ROWS $1 PRECEDING)",
		"SELECT ?1, ?, ?1":                          "SELECT $1, $2, $1",
		"SELECT $2, ?":                              "SELECT $2, $3",
		"PREPARE p AS SELECT ?":                     "PREPARE p AS SELECT $1",
		"SELECT a IN (?, ?) -- why?\n FROM t":       "SELECT a IN ($1, $2) -- why?\n FROM t",
		"SELECT '?', \"?\", $$?$$, E'\\'?' /* ? */": "SELECT '?', \"?\", $$?$$, E'\\'?' /* ? */",
		"SELECT $1, $2::int":                        "SELECT $1, $2::int",

		"SELECT j ? 'a', j ?| b, j ?& c, j @? d": "SELECT j ? 'a', j ?| b, j ?& c, j @? d",
		"SELECT '{}'::jsonb ? 'a', (j) ? (b)":    "SELECT '{}'::jsonb ? 'a', (j) ? (b)",
		"SELECT 1 ?# 2, a ?-| b, 1 ?|| 2, 1 ?":   "SELECT 1 ?# 2, a ?-| b, 1 ?|| 2, 1 ?",
	} {
		got, made, names, err := statement.Numbered(lex.Client.Text(sql))
		require.NoError(t, err, sql)
		require.Equal(t, want, got)
		require.Equal(t, want != sql, made != nil, sql)
		require.Empty(t, names, sql)
		again, made, _, err := statement.Numbered(lex.Client.Text(got))
		require.NoError(t, err, sql)
		require.Equal(t, got, again, "it is written in PostgreSQL's spelling already")
		require.Nil(t, made)
	}
}

func TestNumberedNames(t *testing.T) {
	got, made, names, err := statement.Numbered(lex.Client.Text(`SELECT $x::int + $Y, $x, $"n m", '$z' FROM t WHERE a=$X`))
	require.NoError(t, err)
	require.Equal(t, `SELECT $1::int + $2, $1, $3, '$z' FROM t WHERE a=$1`, got)
	require.Equal(t, []string{"x", "y", "n m"}, names)
	require.Equal(t, len("SELECT $x::int + $Y"), made.Back(len("SELECT $1::int + $2")))

	for _, sql := range []string{"SELECT $x, ?", "SELECT $1, $x", "SELECT ?2, $x"} {
		_, _, _, err := statement.Numbered(lex.Client.Text(sql))
		require.ErrorContains(t, err, "parameters with and without names in one statement are not supported", sql)
	}
}

func FuzzNumbered(f *testing.F) {
	for _, sql := range []string{
		"SELECT ?, ?1, $x", "SELECT a ? b", "SELECT $\"x\"", "$", "?", "$x$ $x$", "? ?", "é?é",
	} {
		f.Add(sql)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		got, made, names, err := statement.Numbered(lex.Client.Text(sql))
		if err != nil {
			return
		}
		require.LessOrEqual(t, made.Back(len(got)), len(sql))
		if len(names) == 0 && made == nil {
			require.Equal(t, sql, got)
		}
	})
}

// Arguments with names come in the order of the parameters' numbers, and what does not fit is an error.
func TestArgumentsInOrder(t *testing.T) {
	names := []string{"x", "y"}
	for sql, want := range map[string]string{
		"EXECUTE p (y := 1, X := 2 + 3)": "",
		"EXECUTE p (1, y := 2)":          `argument 1 of EXECUTE has no name, but the parameters of prepared statement "p" have`,
		"EXECUTE p (x := 1, z := 2)":     `prepared statement "p" has no parameter named "z"`,
		"EXECUTE p (x := 1, x := 2)":     `parameter "x" is given twice`,
	} {
		parsed, err := statement.Parse(sql)
		require.NoError(t, err, sql)
		got, err := parsed.Head.(*statement.Execute).InOrder(names)
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, []string{"2 + 3", "1"}, got)
			continue
		}
		require.ErrorContains(t, err, want, sql)
	}
}
