package dialect

import (
	"cmp"
	"os"
	"strings"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
)

// TestPostgres: what a text becomes; and that PostgreSQL's parser reads it, and another translation leaves it.
func TestPostgres(t *testing.T) {
	file, err := os.ReadFile("testdata/postgres.txt")
	require.NoError(t, err)
	cases := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(file), " ⏎", "\n")), "\n\n")[1:]
	require.Greater(t, len(cases), 40)
	for _, c := range cases {
		users, want, found := strings.Cut(c, "\n=>")
		require.True(t, found, c)
		want = cmp.Or(strings.TrimPrefix(want, " "), users)
		given, made, err := Postgres(lex.Client.Text(users))
		require.NoError(t, err, users)
		require.Equal(t, want, given)
		if _, err := pg.Parse(users); err == nil {
			_, err = pg.Parse(given)
			require.NoError(t, err, given)
		}
		if again, _, err := Postgres(lex.Client.Text(given)); !strings.Contains(users, "AS desc") {
			require.NoError(t, err)
			require.Equal(t, given, again, "translated twice")
		}
		for i := range len(given) {
			require.LessOrEqual(t, made.Back(i), len(users))
		}
	}
}

func TestPostgresErrors(t *testing.T) {
	for users, want := range map[string]string{
		"SELECT 1 WHERE generate_series(1, 2) = 1":                           "set-returning functions are not allowed here",
		"SELECT CASE WHEN true THEN generate_series(1, 2) END":               "set-returning functions are not allowed here",
		"SELECT 1 ORDER BY generate_series(1, 2)":                            "set-returning functions are not supported in ORDER BY",
		"SELECT DISTINCT ON (a) a, generate_series(1, 2) FROM t":             "set-returning functions are not supported beside DISTINCT ON",
		"SELECT DISTINCT ON (a) a AS b, (unnest(c)) FROM t":                  "set-returning functions are not supported beside DISTINCT ON",
		"SELECT sum(a) OVER (ORDER BY a ROWS -1 PRECEDING)":                  "frame starting offset must not be negative",
		"SELECT sum(a) OVER (GROUPS BETWEEN CURRENT ROW AND NULL FOLLOWING)": "frame ending offset must not be null",
		"SELECT sum(a) OVER (ROWS BETWEEN 1 PRECEDING AND -2 FOLLOWING)":     "frame ending offset must not be negative",
		"SELECT nth_value(a, 0) OVER ()":                                     "argument of nth_value must be greater than zero",
		"SELECT to_date(a, 'MM-DD')":                                         "to_date() without a year in its template is not supported",
		"SELECT a AT TIME ZONE 'UTC+05:30'":                                  "time zone \"UTC+05:30\" is not supported",
		"SELECT greatest((1, 2), (a, 3))":                                    "greatest() of rows is not supported",
		"SELECT coalesce(generate_series(1, 2), 0)":                          "set-returning functions are not allowed here",
		"SELECT a AT TIME ZONE 'nst'":                                        "time zone \"nst\" is not supported",
		"SELECT a SIMILAR TO b":                                              similarRefused,
		"CREATE VIEW v AS SELECT 'today'::date":                              "\"today\" in a statement whose text is kept is not supported",
		"/* */ CREATE TABLE t (a timestamp DEFAULT timestamp ' Now ')":       "\" Now \" in a statement whose text is kept is not supported",
		"ALTER TABLE t ADD CHECK (a > CAST('yesterday' AS date))":            "\"yesterday\" in a statement whose text is kept is not supported",
		"PREPARE p AS SELECT 'tomorrow'::timestamptz":                        "\"tomorrow\" in a statement whose text is kept is not supported",
		"SELECT a SIMILAR TO 'b' ESCAPE 'cc'":                                "invalid escape string",
		"SELECT " + strings.Repeat("(", 5000) + "1/2":                        "the statement is nested too deeply",

		"SELECT a[1:2][1]":               "a slice of an array with another subscript is not supported",
		"SELECT (a[2])[1][b + 1:]":       "a slice of an array with another subscript is not supported",
		"SELECT '1_000'::numeric":        "invalid input syntax for type numeric: \"1_000\"",
		"SELECT CAST('1_0' AS float8)":   "invalid input syntax for type double precision: \"1_0\"",
		"SELECT interval '1-12'":         "interval field value out of range: \"1-12\"",
		"SELECT '1.9999999 s'::interval": "a fraction that is rounded to a second is not supported: \"1.9999999 s\"",
	} {
		_, _, err := Postgres(lex.Client.Text(users))
		require.EqualError(t, err, want)
	}
}

// What is nested in rows is read once, however deep it is: twice at each level would be for ever.
func TestNestedRows(t *testing.T) {
	for _, level := range []string{"(1, 2) = (1, %)::r", "(1, 2) IN ((1, %), c)", "(1, 2) NOT IN ((1, %), (1, 2 / 1))", "(1, %) < (1, 2)", "(1 / 1, 2) < (1, %)"} {
		text := "2"
		for range 60 {
			text = strings.Replace(level, "%", text, 1)
		}
		_, _, err := Postgres(lex.Client.Text("SELECT " + text))
		require.NoError(t, err)
	}
}

// FuzzPostgres: whatever the text, nothing panics, and places lead into the user's text.
func FuzzPostgres(f *testing.F) {
	for _, seed := range []string{
		"SELECT a/b%c FROM t ORDER BY x DESC", "SELECT ((((1/2", "SELECT 1 SIMILAR TO", "a LIKE",
		"SELECT x::int[3]/(case when 1 then 2 end",
		"/ % * DESC", "SELECT generate_series(1,2) FROM unnest(x) AS",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, users string) {
		given, made, err := Postgres(lex.Client.Text(users))
		if err != nil {
			return
		}
		for i := range len(given) {
			at := made.Back(i)
			require.True(t, at >= 0 && at <= len(users))
			edit.Position(users, at)
		}
	})
}
