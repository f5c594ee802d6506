package dialect_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

var update = flag.Bool("update", false, "rewrite testdata")

// translated is what DuckDB is given for a query.
func translated(text string) (string, error) {
	source, err := dialect.Literals(dialect.SourceOf(text))
	if err != nil {
		return "", err
	}
	source, _ = dialect.Formats(source)
	return dialect.OperatorsIn(source.Read), nil
}

// DI2: each text of testdata/words.txt becomes the one below it, which stays as it is.
func TestWords(t *testing.T) {
	const golden = "testdata/words.txt"
	text, err := os.ReadFile(golden)
	require.NoError(t, err)
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	require.Greater(t, len(lines), 30)
	for i := 0; i < len(lines); i += 3 {
		given := lines[i]
		got, err := translated(given)
		require.NoError(t, err, given)
		again, err := translated(got)
		require.NoError(t, err, got)
		require.Equal(t, got, again, given)
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(given + "\n" + got + "\n")
	}
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(out.String()), 0o644))
	}
	require.Equal(t, string(text), out.String())
}

// A value that its type does not have is an error at its place, in characters.
func TestLiteralsThatAreNone(t *testing.T) {
	text := `SELECT 'ä', '\x0g'::bytea`
	_, err := dialect.Literals(dialect.SourceOf(text))
	var e *sqlerror.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "22023", e.State)
	require.Equal(t, 13, e.At)
}

// What stands beside a literal says of what type it is.
func TestUntyped(t *testing.T) {
	for _, text := range []string{"SELECT 1", "SELECT 'a'", "SELECT 'a' FROM t WHERE b = $1"} {
		_, some := dialect.UntypedIn(dialect.SourceOf(text))
		require.False(t, some, text)
	}
	text := `SELECT * FROM t WHERE b = '\xDEAD' AND c = $1 AND d = '\xBEEF'`
	u, some := dialect.UntypedIn(dialect.SourceOf(text))
	require.True(t, some)
	require.Equal(t, "SELECT * FROM t WHERE b = $2 AND c = $1 AND d = $3", u.Asked())
	spelled, err := u.Spelled([]duckdb.ParameterType{duckdb.TypeInt64, duckdb.TypeBytes, duckdb.TypeText})
	require.NoError(t, err)
	require.Equal(t, `SELECT * FROM t WHERE b = '\xDE\xAD' AND c = $1 AND d = '\xBEEF'`, spelled.Text())
	same, err := u.Spelled([]duckdb.ParameterType{duckdb.TypeInt64})
	require.NoError(t, err)
	require.Equal(t, text, same.Text(), "DuckDB saw other parameters than were asked about")
}

// DI4.
func TestReservedNames(t *testing.T) {
	for text, state := range map[string]string{
		"SELECT * FROM csm_relation":              "42P01",
		"SELECT * FROM csm_catalogs.x.y":          "3D000",
		"SELECT csm_scan(1)":                      "42883",
		"SELECT * FROM 'csm_relation'":            "42P01",
		"CREATE TABLE csm_relation (a int)":       "42939",
		"SELECT x AS csm_relation FROM t":         "",
		"SELECT 'csm_relation'":                   "",
		"SELECT pg_typeof(1) FROM pg_class":       "",
		"SELECT query_table('csm_relation')":      "42P01",
		"SELECT * FROM information_compat.tables": "42P01",
	} {
		parsed, err := statement.Parse(text)
		require.NoError(t, err, text)
		err = dialect.RefuseReserved(parsed)
		if state == "" {
			require.NoError(t, err, text)
			continue
		}
		var e *sqlerror.Error
		require.ErrorAs(t, err, &e, text)
		require.Equal(t, state, e.State, text)
	}
}

// DI3: DuckDB's place in what it was given is one in the user's text, and its words are those that tools know.
func TestFromDuckDB(t *testing.T) {
	users := "SELECT $1, zz"
	given, made := dialect.ParametersAsText(users)
	require.Equal(t, "SELECT CAST($1 AS VARCHAR), zz", given)
	err := dialect.FromDuckDB(&duckdb.Error{State: "42703", Message: `Referenced column "zz" not found in FROM clause!`, Byte: strings.Index(given, "zz")}, given, users, made)
	var e *sqlerror.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, `column "zz" does not exist`, e.Message)
	require.Equal(t, strings.Index(users, "zz")+1, e.At)
	require.ErrorAs(t, dialect.WithoutPosition(err), &e)
	require.Zero(t, e.At)
	for theirs, ours := range map[string]string{
		"Table with name t does not exist!":                                                                          `relation "t" does not exist`,
		"Scalar Function with name f does not exist!":                                                                "function f does not exist",
		"Could not convert string '1e9' to INT16":                                                                    `value "1e9" is out of range for type smallint`,
		"Could not convert string 'x' to INT32":                                                                      `invalid input syntax for type integer: "x"`,
		"Casting value \"123.4\" to type DECIMAL(3,1) failed: value is out of range!":                                "numeric field overflow: 123.4 does not fit DECIMAL(3,1)",
		"Type INT64 with value 99999 can't be cast because the value is out of range for the destination type INT16": `value "99999" is out of range for type smallint`,
	} {
		require.Equal(t, ours, dialect.PostgresWords(theirs))
	}
}

// A bad row of a CSV file is described in few words.
func TestInFile(t *testing.T) {
	err := dialect.InFile("a.csv", &duckdb.Error{State: "22P02", Message: "CSV Error on Line: 7\nOriginal Line: x,y\nError when converting column \"b\". Could not convert string \"y\" to 'INTEGER'\n\nColumn b is being converted as type INTEGER", Byte: -1})
	var e *sqlerror.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, `a.csv, line 7, column "b": invalid input syntax for type integer: "y"`, e.Message)
	require.Equal(t, "The line is: x,y", e.DetailText)
}

// Names stay plain where both dialects read them so.
func TestPlainIdentifier(t *testing.T) {
	for name, want := range map[string]string{"abc": "abc", "A": `"A"`, "select": `"select"`, "a b": `"a b"`, `a"b`: `"a""b"`, "_1": "_1", "pivot": `"pivot"`} {
		require.Equal(t, want, dialect.PlainIdentifier(name), name)
	}
	require.Equal(t, `"s"."T"`, dialect.QuoteName(statement.Name{Schema: "s", Name: "T"}))
}

func TestVolatileIn(t *testing.T) {
	require.Equal(t, "random", dialect.VolatileIn(`a < RANDOM ()`))
	require.Empty(t, dialect.VolatileIn("random + 'random()'"))
}
