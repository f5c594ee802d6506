package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// valuesOfTypes are two values of each type, and one that is below both, if its values have an order that checks use.
var valuesOfTypes = []struct{ of, value, other, below string }{
	{"numeric(3, 1)", "1.5", "2.5", "-1"}, {"numeric(5, 2)", "1.25", "2.5", "-1"}, {"numeric(18, 2)", "1.25", "2.5", "-1"},
	{"numeric(38, 2)", "1.25", "2.5", "-1"}, {"price", "1.25", "2.5", ""}, {"hugeint", "1", "2", "-1"}, {"uhugeint", "1", "2", "0"},
	{"bignum", "1", "2", "-1"}, {"tinyint", "1", "2", "-1"}, {"utinyint", "1", "2", "0"}, {"ubigint", "1", "2", "0"},
	{"real", "1.5", "2.5", "-1"}, {"float8", "1.5", "2.5", "-1"}, {"boolean", "true", "true", "false"},
	{"text", "'abc'", "'abd'", "'a'"}, {"varchar(5)", "'abc'", "'abd'", "'a'"}, {"char(3)", "'abc'", "'abd'", "'a'"},
	{"bytea", `'\x01'`, `'\x02'`, `'\x00'`}, {"date", "'2024-01-02'", "'2024-01-03'", "'2023-01-01'"},
	{"time", "'10:00'", "'11:00'", "'09:00'"}, {"timetz", "'10:00+01'", "'11:00+01'", "'09:00+01'"},
	{"timestamp", "'2024-01-02'", "'2024-01-03'", "'2023-01-01'"},
	{"timestamptz", "'2024-01-02 00:00+00'", "'2024-01-03 00:00+00'", "'2023-01-01 00:00+00'"},
	{"timestamp(0)", "'2024-01-02'", "'2024-01-03'", "'2023-01-01'"}, {"timestamp_ns", "'2024-01-02'", "'2024-01-03'", "'2023-01-01'"},
	{"interval", "'2 days'", "'3 days'", "'1 day'"},
	{"uuid", "'10000000-0000-0000-0000-000000000000'", "'20000000-0000-0000-0000-000000000000'", "'00000000-0000-0000-0000-000000000000'"},
	{"bitstring", "'101'", "'111'", "'001'"}, {"mood", "'ok'", "'ok'", "'sad'"}, {"json", `'{"a":1}'`, `'{"a":2}'`, ""},
	{"int[]", "ARRAY[2]", "ARRAY[3]", "ARRAY[1]"}, {"numeric(5, 2)[]", "ARRAY[2.5]", "ARRAY[3.5]", "ARRAY[1]"},
	{"hugeint[]", "ARRAY[2::hugeint]", "ARRAY[3::hugeint]", ""}, {"STRUCT(a int, b numeric(5, 2))", "ROW(1, 1.5)", "ROW(2, 2.5)", ""},
	{"MAP(text, numeric(5, 2))", "MAP {'a': 1.5}", "MAP {'a': 2.5}", ""}, {"UNION(a int, b text)", "1", "'x'", ""},
	{"numeric(5, 2)[2]", "array_value(1.5, 2.5)", "array_value(2.5, 2.5)", ""},
}

// Every statement that changes rows does so with rows of every type, in tables with a key, checks, defaults and generated
// columns: rows lie otherwise in what DuckDB gives than in chunks, and each way has to know.
func TestEveryTypeIsChangedInEveryWay(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE DOMAIN price AS numeric(6, 2) CHECK (VALUE > 0)")
	for i, c := range valuesOfTypes {
		table := fmt.Sprintf("t%d", i)
		of := func(value string) string { return fmt.Sprintf("CAST(%s AS %s)", value, c.of) }
		check := ""
		if c.below != "" {
			check = fmt.Sprintf(" CHECK (v > %s)", of(c.below))
		}
		// The type of a user beside one that only DuckDB's parser reads.
		exec(t, s, fmt.Sprintf("CREATE TABLE %s (k int PRIMARY KEY, v %s DEFAULT %s%s, n int CHECK (n > 0), "+
			"g int GENERATED ALWAYS AS (n * 2) STORED, m mood DEFAULT 'sad', p price)", table, c.of, c.other, check))
		w := &waysOfChange{t: t, s: s, of: c.of, fill: strings.NewReplacer("$t", table, "$value", c.value, "$other", c.other,
			"$cast", of(c.value), "$below", c.below)}
		blocks := []bool{i%2 == 0}
		if testsuite.Effort() > 1 {
			blocks = []bool{false, true}
		}
		for _, block := range blocks {
			if block {
				exec(t, s, "BEGIN")
			}
			w.change(of(c.value), of(c.other))
			if block {
				exec(t, s, "COMMIT")
			}
			w.is("k = 9", of(c.other))
			exec(t, s, "VACUUM "+table)
			w.is("k = 9", of(c.other))
			w.refused(c.below != "")
			exec(t, s, "TRUNCATE "+table)
		}
	}
}

// waysOfChange changes rows of a table whose column v is of a type.
type waysOfChange struct {
	t    *testing.T
	s    *engine.Session
	of   string
	fill *strings.Replacer
}

func (w *waysOfChange) exec(text string) { exec(w.t, w.s, w.fill.Replace(text)) }

// is compares v of the rows of a condition, of which there is one, with a value.
func (w *waysOfChange) is(where, value string) {
	w.t.Helper()
	text := fmt.Sprintf("SELECT v IS NOT DISTINCT FROM %s FROM $t WHERE %s", value, where)
	require.Equal(w.t, []string{"true"}, rows(w.t, w.s, w.fill.Replace(text)), "%s: %s", w.of, where)
}

func (w *waysOfChange) change(value, other string) {
	w.t.Helper()
	w.exec("INSERT INTO $t (k, v, n) VALUES (1, $value, 1), (2, $other, 2), (3, NULL, 3)")
	w.exec("INSERT INTO $t (k, n) VALUES (4, 4)")
	w.is("k = 4 AND g = 8 AND m = 'sad'", other)
	w.exec("INSERT INTO $t (k, v, n) SELECT 5, v, n FROM $t WHERE k = 1")
	w.is("k = 5", value)
	w.exec("INSERT INTO $t (k, v, n) VALUES (1, $other, 7) ON CONFLICT DO NOTHING")
	w.is("k = 1 AND n = 1", value)
	w.exec("INSERT INTO $t (k, v, n) VALUES (1, $other, 7) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = excluded.n")
	w.is("k = 1 AND n = 7 AND g = 14", other)
	w.exec("INSERT INTO $t (k, v, n) SELECT k, $cast, 6 FROM $t WHERE k < 3 " +
		"ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = $t.n + excluded.n")
	w.is("k = 1 AND n = 13", value)
	w.exec("UPDATE $t SET v = $other WHERE k = 1")
	w.is("k = 1", other)
	w.exec("UPDATE $t SET v = $cast, n = n + 1 WHERE k = 1")
	w.is("k = 1 AND n = 14", value)
	w.exec("UPDATE $t SET v = NULL WHERE k = 2")
	w.is("k = 2", "NULL")
	w.exec("UPDATE $t SET v = DEFAULT WHERE k = 3")
	w.is("k = 3", other)
	w.exec("UPDATE $t x SET v = y.v FROM $t y WHERE x.k = 2 AND y.k = 5 RETURNING x.*, y.*")
	w.is("k = 2", value)
	w.exec("MERGE INTO $t USING (SELECT k + 3 AS k, v, n FROM $t WHERE k >= 3) s ON $t.k = s.k " +
		"WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (k, v, n) VALUES (s.k, s.v, s.n)")
	w.is("k = 8", value)
	w.exec("DELETE FROM $t USING $t y WHERE $t.k = y.k AND y.k = 6 RETURNING $t.*, y.*")
	require.Equal(w.t, []string{"7"}, rows(w.t, w.s, w.fill.Replace("SELECT count(*) FROM $t")), w.of)
	w.exec("INSERT INTO $t (k, v, n) VALUES (9, $value, 9) RETURNING *")
	w.is("k = 9", value)
	w.exec("UPDATE $t SET v = y.v FROM (SELECT v FROM $t WHERE k = 3) y WHERE k = 9")
}

// refused has changes break the checks: nothing is changed.
func (w *waysOfChange) refused(ordered bool) {
	w.t.Helper()
	texts := []string{
		"INSERT INTO $t (k, v, n) VALUES (9, $other, 0) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 3",
		"INSERT INTO $t (k, v, n) VALUES (9, $other, 2) ON CONFLICT (k) DO UPDATE SET v = excluded.v, n = 0",
		"UPDATE $t SET n = 0 WHERE k = 9", "INSERT INTO $t (k, v, n) SELECT 10, v, 0 FROM $t WHERE k = 9",
	}
	if ordered {
		texts = append(texts, "INSERT INTO $t (k, v, n) VALUES (10, $below, 1)",
			"INSERT INTO $t (k, v, n) VALUES (9, $below, 2) ON CONFLICT (k) DO UPDATE SET v = excluded.v",
			"UPDATE $t SET v = $below WHERE k = 9")
	}
	before := rows(w.t, w.s, w.fill.Replace("SELECT * FROM $t ORDER BY k"))
	for _, text := range texts {
		require.Contains(w.t, keyRefused(w.t, w.s, w.fill.Replace(text)), "23514 ", "%s: %s", w.of, text)
	}
	require.Equal(w.t, before, rows(w.t, w.s, w.fill.Replace("SELECT * FROM $t ORDER BY k")), w.of)
}

// A temporary table's columns take texts as other tables' do.
func TestTextsBecomeValuesOfTemporaryTables(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "SET csm.dialect = postgres; CREATE TEMP TABLE own (k int, d date, t timetz, v timestamptz, m int[], b bytea, o boolean, x text)")
	exec(t, s, "CREATE TABLE other AS SELECT * FROM own")
	texts := "UPDATE %s SET k = ' 8 '; UPDATE %[1]s SET d = 'Jan 6, 2024', t = '10:00+01', v = '2024-01-03 00:00+00'; " +
		"UPDATE %[1]s SET (m, b) = ('{1,2}', E'\\\\xff'), o = 'off', x = '{1,2}' WHERE k = 8"
	for _, table := range []string{"own", "other"} {
		exec(t, s, "INSERT INTO "+table+" (k) VALUES (1)")
		exec(t, s, fmt.Sprintf(texts, table))
	}
	want := rows(t, s, "SELECT * FROM other")
	require.Equal(t, []string{"8|2024-01-06"}, rows(t, s, "SELECT k, d FROM other"))
	require.Equal(t, want, rows(t, s, "SELECT * FROM own"))
	for _, text := range []string{"d = 'nonsense'", "k = 'x'", "k = 1, d = '2024-02-30'"} {
		_, err := s.Exec(t.Context(), "UPDATE own SET "+text)
		require.Error(t, err, text)
		require.Contains(t, []string{"22007", "22008", "22P02"}, state(t, err), text)
	}
	fails(t, s, "42703", "UPDATE own SET nope = 'x'")
	require.Equal(t, want, rows(t, s, "SELECT * FROM own"))
}

// What can be no key is called by its name in SQL.
func TestTypesThatAreNoKeysAreCalledByTheirNames(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	for of, shown := range map[string]string{"int[]": "integer[]", "timetz": "time with time zone", "interval": "interval",
		"STRUCT(a int)": `struct("a" integer)`, "hugeint": "hugeint"} {
		exec(t, s, fmt.Sprintf("CREATE OR REPLACE TABLE t (v %s)", of))
		for _, text := range []string{"CREATE INDEX ON t (v)", "ALTER TABLE t ADD UNIQUE (v)", "CREATE TABLE u (v " + of + " PRIMARY KEY)"} {
			_, err := s.Exec(t.Context(), text)
			require.ErrorContains(t, err, `of column "v" is not supported: its type is `+shown, text)
			require.Equal(t, "0A000", state(t, err))
		}
	}
}
