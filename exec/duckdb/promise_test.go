package duckdb_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// bound is a value for a parameter and the same in SQL, of the type that the parameter has in DuckDB then.
type bound struct {
	value any
	sql   string
}

var givens = []bound{
	{nil, "NULL"}, {true, "true"}, {int8(7), "7::TINYINT"}, {int16(300), "300::SMALLINT"}, {int32(70_000), "70000::INTEGER"},
	{int64(3), "3::BIGINT"}, {int64(5_000_000_000), "5000000000::BIGINT"}, {int64(1<<53 + 1), "9007199254740993::BIGINT"}, {int64(-1), "-1::BIGINT"},
	{uint64(1 << 63), "9223372036854775808::UBIGINT"}, {new(big.Int).Lsh(big.NewInt(1), 90), "1237940039285380274899124224::HUGEINT"},
	{float32(1.5), "1.5::FLOAT"}, {2.0, "2::DOUBLE"}, {0.1, "0.1::DOUBLE"}, {1e300, "1e300::DOUBLE"},
	{duckdb.Decimal("1.25"), "1.25::DECIMAL(3,2)"}, {duckdb.Decimal("1.2345"), "1.2345::DECIMAL(5,4)"}, {duckdb.Decimal("12"), "12::DECIMAL(2,0)"},
	{"3", "'3'::VARCHAR"}, {"x", "'x'::VARCHAR"}, {"2024-02-29", "'2024-02-29'::VARCHAR"}, {"", "''::VARCHAR"}, {[]byte{0xde, 0}, `'\xDE\x00'::BLOB`},
	{duckdb.Date(19782), "DATE '2024-02-29'"}, {duckdb.TimeOfDay(3_600_000_000), "TIME '01:00:00'"},
	{time.Date(2024, 2, 29, 1, 2, 3, 456_789_000, time.UTC), "TIMESTAMP '2024-02-29 01:02:03.456789'"},
	{duckdb.TimestampTZ(time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC)), "TIMESTAMPTZ '2024-02-29 01:02:03+00'"},
}

// columnTypes are of the table of TestParametersKeepTypes, with a value each.
var columnTypes = [][2]string{
	{"BOOLEAN", "true"}, {"TINYINT", "1"}, {"SMALLINT", "1"}, {"INTEGER", "1"}, {"BIGINT", "1"}, {"HUGEINT", "1"}, {"UTINYINT", "1"},
	{"USMALLINT", "1"}, {"UINTEGER", "1"}, {"UBIGINT", "1"}, {"UHUGEINT", "1"}, {"FLOAT", "1"}, {"DOUBLE", "1"}, {"DECIMAL(4,1)", "1"},
	{"DECIMAL(10,2)", "1"}, {"DECIMAL(20,6)", "1"}, {"DECIMAL(38,0)", "1"}, {"VARCHAR", "'a text that is not short'"}, {"BLOB", `'\xAA'`},
	{"DATE", "'2024-01-01'"}, {"TIME", "'12:00:00'"}, {"TIMESTAMP", "'2024-01-01 00:00:00.5'"}, {"TIMESTAMP_S", "'2024-01-01 00:00:00'"},
	{"TIMESTAMP_MS", "'2024-01-01 00:00:00'"}, {"TIMESTAMP_NS", "'2024-01-01 00:00:00'"}, {"TIMESTAMPTZ", "'2024-01-01 00:00:00+00'"},
	{"INTERVAL", "'1 day'"}, {"UUID", "'f47ac10b-58cc-4372-a567-0e02b2c3d479'"}, {"ENUM('x', 'y')", "'y'"}, {"INTEGER[]", "[1]"},
	{"DECIMAL(10,2)[]", "[1]"}, {"VARCHAR[]", "['a']"}, {"STRUCT(a INTEGER)", "{'a': 1}"}, {"JSON", "'{}'"},
}

var shapes = []string{
	"coalesce(c, $1)", "CASE WHEN n = 1 THEN c ELSE $1 END", "CASE WHEN n = 1 THEN $1 ELSE c END", "c + $1", "c * $1", "greatest(c, $1)",
	"ifnull($1, c)", "[c, $1]", "max(coalesce(c, $1)) OVER (ORDER BY n)", "c || $1", "nullif($1, c)",
}

// D12: whatever is bound, in whatever order, the columns have the types that the statement reported, and the values
// that DuckDB gives for the value in the parameter's place, cast to that type; or there is an error.
func TestParametersKeepTypes(t *testing.T) {
	_, c := open(t)
	require.NoError(t, c.Exec("SET TimeZone = 'UTC'"))
	asked, kept := 0, 0
	for i, column := range columnTypes {
		table := fmt.Sprintf("t%d", i)
		require.NoError(t, c.Exec(fmt.Sprintf("CREATE TEMP TABLE %s AS SELECT i AS n, CASE WHEN i = 1 THEN (%s)::%s END AS c FROM range(3) r(i)",
			table, column[1], column[0])))
		for _, shape := range shapes {
			text := "SELECT n, " + shape + " AS v FROM " + table + " ORDER BY n DESC -- the last word"
			s, err := c.Prepare(text)
			if err != nil {
				continue // there is no such function
			}
			if !s.Resolved() {
				s.Close()
				continue
			}
			schema, err := s.Schema()
			require.NoError(t, err)
			for _, g := range append([]bound{givens[0]}, givens...) {
				name := fmt.Sprintf("%s of %s for %s", shape, column[0], g.sql)
				asked++
				got, actual, err := answer(s, g.value)
				if err != nil {
					var e *duckdb.Error
					require.True(t, errors.As(err, &e), name)
					require.Contains(t, []string{"0A000", "22003", "22P02", "22023", "42883", "22008", "22007", "42725", "42804", "42P10"}, e.State, "%s: %v", name, err)
					continue
				}
				require.True(t, actual.Equal(schema), "%s: %s is no %s", name, actual, schema)
				kept++
				constant := strings.ReplaceAll(text, "$1", "("+g.sql+")")
				want, err := tryAsk(c, constant)
				if err != nil || fmt.Sprint(want) == fmt.Sprint(got) {
					continue // as a constant it may be another statement
				}
				if _, number := g.value.(duckdb.Decimal); number && column[0] == "JSON" {
					continue // it is bound as its text
				}
				as := cmp.Or(s.TypeNames()[1], column[0]) // JSON has none
				cast, err := tryAsk(c, "SELECT n, CAST(v AS "+as+") FROM ("+constant+"\n) ORDER BY n DESC")
				require.NoError(t, err, name)
				require.Equal(t, cast, got, name)
			}
			s.Close()
		}
	}
	require.Greater(t, kept, asked/4, "of %d", asked)
	t.Logf("%d asked, %d kept", asked, kept)
}

// answer executes the statement once.
func answer(s *duckdb.Statement, args ...any) (out []string, actual *arrow.Schema, err error) {
	if err := s.Bind(args); err != nil {
		return nil, nil, err
	}
	rows, err := s.Execute(context.Background())
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	out, err = read(rows)
	return out, rows.Schema(), err
}

// A cast keeps the rows' order, names that are there twice, and what other parameters are; what it loses is an
// error that says what to do.
func TestParametersKeepTypesByCasts(t *testing.T) {
	_, c := open(t)
	require.NoError(t, c.Exec("CREATE TEMP TABLE t AS SELECT i::TINYINT AS a, i::DECIMAL(4,1) AS d, i::VARCHAR AS s FROM range(5000) r(i) WHERE i < 100"))
	s, err := c.Prepare(`SELECT CASE WHEN s = $4 THEN $1 ELSE a END AS "v""w", a AS "v""w", coalesce($2, d) AS d, coalesce($3, s) AS s FROM t ORDER BY a DESC; `)
	require.NoError(t, err)
	defer s.Close()
	schema, err := s.Schema()
	require.NoError(t, err)
	for _, is := range []struct {
		args []any
		want string
	}{
		{[]any{int64(1), nil, "x", "99"}, "1|99|99|x"}, {[]any{int64(1000), nil, nil, "none"}, "99|99|99|99"},
		{[]any{nil, duckdb.Decimal("0.1"), "x", "99"}, "(null)|99|0.1|x"}, {[]any{2.5, duckdb.Decimal("0.10"), nil, nil}, "99|99|0.1|99"},
		{[]any{int64(1000), 2.5, "7", "none"}, "99|99|2.5|7"}, {[]any{nil, nil, nil, nil}, "99|99|99|99"},
	} {
		out, actual, err := answer(s, is.args...)
		require.NoError(t, err, "%v", is.args)
		require.True(t, actual.Equal(schema), "%s", actual)
		require.Len(t, out, 100)
		require.Equal(t, is.want, out[0], "%v", is.args)
	}
	_, _, err = answer(s, int64(1000), nil, nil, "99")
	var e *duckdb.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, "22003", e.State)
	require.Equal(t, `a parameter's value makes values of BIGINT in column "v""w", whose type is TINYINT`, e.Message)
	require.Contains(t, e.HintText, "$1::")
	out, _, err := answer(s, int64(1), nil, nil, "99")
	require.NoError(t, err, "an error is of the values that were bound")
	require.Equal(t, "1|99|99|99", out[0])
}

// What a statement names may become another object. Then it fails, as PostgreSQL's does, and reads nothing as what it
// is not.
func TestChangedTablesBreakPromises(t *testing.T) {
	_, c := open(t)
	for _, change := range []string{"VARCHAR", "BIGINT", "INTEGER, b INTEGER", "INTEGER[]", "STRUCT(a INTEGER)", "DECIMAL(9,1)"} {
		require.NoError(t, c.Exec("CREATE OR REPLACE TEMP TABLE t (a INTEGER); INSERT INTO t VALUES (1)"))
		s, err := c.Prepare("SELECT * FROM t")
		require.NoError(t, err)
		out, _, err := answer(s)
		require.NoError(t, err)
		require.Equal(t, []string{"1"}, out)
		require.NoError(t, c.Exec("DROP TABLE t; CREATE TEMP TABLE t (a "+change+"); INSERT INTO t (a) VALUES (NULL)"))
		for range 2 {
			_, _, err = answer(s)
			var e *duckdb.Error
			require.True(t, errors.As(err, &e), change)
			require.Equal(t, "0A000", e.State, change)
			require.Equal(t, "cached plan must not change result type", e.Message, "drivers look for these words")
		}
		s.Close()
		require.Equal(t, []string{"2"}, ask(t, c, "SELECT 1 + 1"))
	}
}

// A value that the parameter's type holds is made one of it, so that DuckDB's one plan for it keeps the promise;
// others take a plan with casts.
func TestValuesThatFitNeedOnePlan(t *testing.T) {
	db, _ := open(t)
	schema, batch := numbers(t, 10)
	plans := 0
	c, err := db.Connect(func(string, string) (*duckdb.Scan, error) {
		plans++
		return scanOf(schema, batch), nil
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	at := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	for column, values := range map[string][2][]any{
		"a::TINYINT":                        {{nil, int64(5), int8(5), uint64(5), "5", 5.0, duckdb.Decimal("5.0")}, {int64(500), 5.5, duckdb.Decimal("5.5")}},
		"a::DECIMAL(4,1)":                   {{nil, int64(5), "5.5", 5.5, duckdb.Decimal("5.5")}, {int64(5000), 5.25, duckdb.Decimal("5.25")}},
		"('2024-01-01'::DATE)::TIMESTAMP_S": {{nil, at, duckdb.Date(19782)}, {at.Add(time.Microsecond)}},
		"a::VARCHAR":                        {{nil, "5"}, nil},
	} {
		for i, list := range values {
			for _, value := range list {
				s, err := c.Prepare("SELECT coalesce(" + column + ", $1) FROM csm_table('public', 't')")
				require.NoError(t, err)
				before := plans
				out, _, err := answer(s, value)
				require.NoError(t, err)
				require.Len(t, out, 10)
				require.Equal(t, i == 0, plans == before+1, "%s for %v (%T): %d plans", column, value, value, plans-before)
				s.Close()
			}
		}
	}
}
