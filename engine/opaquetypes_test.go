package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine"
)

// opaqueTypes are types that Arrow lacks, and others that results show as something else, with values of them.
var opaqueTypes = []struct {
	name, typeof string
	values       []string
}{
	{"hugeint", "HUGEINT", []string{"-170141183460469231731687303715884105728", "-5", "0", "7", "170141183460469231731687303715884105727"}},
	{"uhugeint", "UHUGEINT", []string{"0", "8", "18446744073709551616", "340282366920938463463374607431768211455"}},
	{"timetz", "TIME WITH TIME ZONE", []string{"'00:00:00-15:59:59'", "'12:34:56.5+05:30'", "'24:00:00+00'", "'10:00:00+02'", "'08:00:00+00'"}},
	{"bit varying", "BIT", []string{"'0'", "'1'", "'10110'", "'101101111'", "'11111111'", "'0000000000000000000000000000000000000000000000000000000000000000000000001'"}},
	{"bignum", "BIGNUM", []string{"'-99999999999999999999999999999999999999999999999999'", "'-1'", "'0'", "'255'", "'-256'", "'123456789012345678901234567890123456789012345678901234567890'"}},
	{"time_ns", "TIME_NS", []string{"'00:00:00'", "'12:34:56.123456789'", "'23:59:59.999999999'"}},
	{"union(i int, s text, h hugeint, b bool)", "UNION(i INTEGER, s VARCHAR, h HUGEINT, b BOOLEAN)", []string{"union_value(i := 1)", "union_value(b := true)", "union_value(s := 'a string of more than twelve bytes')", "union_value(h := 99999999999999999999999999999999999999)", "union_value(s := '')"}},
	{"hugeint[]", "HUGEINT[]", []string{"[1, NULL, 170141183460469231731687303715884105727]", "[]"}},
	{"struct(a uhugeint, b timetz[])", "STRUCT(a UHUGEINT, b TIME WITH TIME ZONE[])", []string{"{'a': 5::uhugeint, 'b': ['12:00:00+01'::timetz, NULL]}", "{'a': NULL, 'b': NULL}"}},
	{"map(varchar, bit)", "MAP(VARCHAR, BIT)", []string{"MAP {'x': '101'::bitstring}", "MAP {}"}},
	{"map(hugeint, timetz[])", "MAP(HUGEINT, TIME WITH TIME ZONE[])", []string{"MAP {170141183460469231731687303715884105727: ['10:00:00+01'::timetz]}", "MAP {-3: NULL}"}},
	{"hugeint[2]", "HUGEINT[2]", []string{"[1, NULL]", "[3, 4]"}},
}

// A column of such a type has what a temporary table, DuckDB's own, has after the same statements: T1 of columntype, NO1
// and NO3 of exec/duckdb/normal.
func TestOpaqueTypesAreStored(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	for i, k := range opaqueTypes {
		stored, own := fmt.Sprintf("s%d", i), fmt.Sprintf("o%d", i)
		exec(t, s, "CREATE TABLE "+stored+" (k int PRIMARY KEY, c "+k.name+")")
		exec(t, s, "CREATE TEMP TABLE "+own+" (k int, c "+k.name+")")
		same := func(what string) {
			t.Helper()
			for _, q := range []string{
				"SELECT k, c, typeof(c) FROM %s ORDER BY k", "SELECT k, c FROM %s ORDER BY c, k", "SELECT c, count(*), min(k) FROM %s GROUP BY c ORDER BY min(k)",
				"SELECT count(c), min(c), max(c) FROM %s", "SELECT a.k, count(*) FROM %[1]s a JOIN %[1]s b ON a.c = b.c GROUP BY a.k ORDER BY a.k", "SELECT k FROM %[1]s WHERE c >= (SELECT c FROM %[1]s WHERE k = 1) ORDER BY k",
				"SELECT k FROM %s WHERE c IS NULL ORDER BY k", "SELECT k, c::text FROM %s ORDER BY k",
			} {
				want := rows(t, s, fmt.Sprintf(q, own))
				require.Equal(t, want, rows(t, s, fmt.Sprintf(q, stored)), "%s: %s: %s", k.name, what, q)
			}
		}
		both := func(text string) {
			t.Helper()
			want := rows(t, s, fmt.Sprintf(text, own))
			require.Equal(t, want, rows(t, s, fmt.Sprintf(text, stored)), "%s: %s", k.name, text)
		}
		var list []string
		for j, v := range k.values {
			list = append(list, fmt.Sprintf("(%d, %s)", j, v))
		}
		both("INSERT INTO %s VALUES " + strings.Join(list, ", ") + " RETURNING k, c, typeof(c)")
		both("INSERT INTO %s (k) VALUES (100) RETURNING c, typeof(c)")
		same("values")
		require.Equal(t, []string{k.typeof}, rows(t, s, "SELECT DISTINCT typeof(c) FROM "+stored))
		both("INSERT INTO %[1]s SELECT 200 + k, c FROM %[1]s RETURNING c")
		both("UPDATE %s SET c = " + k.values[0] + " WHERE k = 201 RETURNING k, c")
		both("DELETE FROM %s WHERE k IN (200, 300) RETURNING k, c")
		same("changes")

		// What DuckDB's temporary tables do not do in the same words, or do not keep.
		exec(t, s, "INSERT INTO "+stored+" VALUES (100, "+k.values[1]+") ON CONFLICT (k) DO UPDATE SET c = excluded.c")
		exec(t, s, "UPDATE "+own+" SET c = "+k.values[1]+" WHERE k = 100")
		same("ON CONFLICT")
		const conflict = " VALUES (1, NULL) ON CONFLICT (k) DO UPDATE SET k = excluded.k RETURNING c"
		require.Equal(t, rows(t, s, "SELECT c FROM "+own+" WHERE k = 1"), rows(t, s, "INSERT INTO "+stored+conflict))
		exec(t, s, "MERGE INTO "+stored+" USING (SELECT k FROM "+stored+" WHERE k = 1) q ON q.k = "+stored+".k"+
			" WHEN MATCHED THEN UPDATE SET c = "+k.values[0])
		exec(t, s, "UPDATE "+own+" SET c = "+k.values[0]+" WHERE k = 1")
		same("MERGE")
		one := rows(t, s, "SELECT c, typeof(c) FROM "+own+" WHERE k = 1")
		require.Equal(t, one, rows(t, s, "WITH q AS (UPDATE "+stored+" SET k = k WHERE k = 1 RETURNING c) "+
			"SELECT c, typeof(c) FROM q"))
		exec(t, s, "INSERT INTO "+stored+" SELECT 1000 + i, c FROM "+stored+", range(300) r(i) WHERE k = 1")
		exec(t, s, "INSERT INTO "+own+" SELECT 1000 + i, c FROM "+own+", range(300) r(i) WHERE k = 1")
		same("many")
		exec(t, s, "VACUUM "+stored)
		same("VACUUM")

		// CREATE TABLE AS of a column that says so has its type, and a materialized view, too.
		exec(t, s, "CREATE TABLE c"+stored+" AS SELECT * FROM "+stored)
		exec(t, s, "CREATE MATERIALIZED VIEW m"+stored+" AS SELECT k, c FROM "+stored)
		exec(t, s, "REFRESH MATERIALIZED VIEW m"+stored)
		const all = "SELECT k, c, typeof(c) FROM %s ORDER BY k"
		for _, made := range []string{"c" + stored, "m" + stored} {
			require.Equal(t, rows(t, s, fmt.Sprintf(all, stored)), rows(t, s, fmt.Sprintf(all, made)), k.name)
		}
		exec(t, s, "ALTER TABLE c"+stored+" ADD COLUMN d "+k.name+" DEFAULT "+k.values[0])
		require.Equal(t, one, rows(t, s, "SELECT DISTINCT d, typeof(d) FROM c"+stored), k.name)

		for _, text := range []string{"CREATE TABLE x (c %s PRIMARY KEY)", "CREATE TABLE x (c %s UNIQUE)"} {
			_, err := s.Exec(t.Context(), fmt.Sprintf(text, k.name))
			if k.name == "time_ns" { // which Arrow has
				exec(t, s, "DROP TABLE IF EXISTS x")
				continue
			}
			require.Error(t, err, "%s: %s", k.name, text)
			require.Equal(t, "0A000", state(t, err), "%s: %v", k.name, err)
		}
	}
}

// Sums are decimals as before; a sum of a hugeint column may be too large for them, and says so.
func TestHugeintOfAQuery(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE h (c hugeint)")
	exec(t, s, "INSERT INTO h VALUES (170141183460469231731687303715884105727)")
	exec(t, s, "CREATE TABLE s AS SELECT sum(i) AS c FROM range(5) r(i)")
	require.Equal(t, []string{"10|DECIMAL(38,0)"}, rows(t, s, "SELECT c, typeof(c) FROM s"))
	exec(t, s, "CREATE TABLE b AS SELECT i FROM range(5) r(i); CREATE VIEW v AS SELECT sum(i) AS c FROM b")
	exec(t, s, "CREATE TABLE sv AS SELECT c FROM v")
	require.Equal(t, []string{"10|DECIMAL(38,0)"}, rows(t, s, "SELECT c, typeof(c) FROM sv"))
	_, err := s.Exec(t.Context(), "CREATE TABLE x AS SELECT sum(c) AS c FROM h")
	require.Equal(t, "22003", state(t, err), "%v", err)
	exec(t, s, "CREATE TABLE x AS SELECT q.c FROM (SELECT c FROM h) q")
	require.Equal(t, []string{"170141183460469231731687303715884105727|HUGEINT"}, rows(t, s, "SELECT c::text, typeof(c) FROM x"))
}

// They survive the node, and are read in place by another process's engine.
func TestOpaqueTypesAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var want []string
	for range 2 {
		e := open(t, func(c *engine.Config) { c.Directory = dir })
		s := session(t, e)
		if want == nil {
			for i, k := range opaqueTypes {
				exec(t, s, fmt.Sprintf("CREATE TABLE t%d (k int, c %s)", i, k.name))
				for j, v := range k.values {
					exec(t, s, fmt.Sprintf("INSERT INTO t%d VALUES (%d, %s)", i, j, v))
				}
			}
		}
		var now []string
		for i := range opaqueTypes {
			now = append(now, rows(t, s, fmt.Sprintf("SELECT k, c, typeof(c) FROM t%d ORDER BY k", i))...)
		}
		if want != nil {
			require.Equal(t, want, now)
		}
		want = now
		require.NoError(t, e.Close())
	}
}

// Bytes that no DuckDB has checked get into no such column: a Go program says so with text and numbers.
func TestOpaqueTypesAreNotAssembled(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE bits (c bitstring[])")
	name := catalog.TableName{Schema: "public", Name: "bits"}
	_, err := e.Assemble(t.Context(), engine.AssembleOptions{Table: name})
	require.Equal(t, "0A000", state(t, err), "%v", err)
	keys := []string{"ARROW:extension:name", "ARROW:extension:metadata"}
	mark := arrow.NewMetadata(keys, []string{"arrow.opaque", `{"type_name":"bit","vendor_name":"DuckDB"}`})
	for _, of := range []arrow.DataType{arrow.BinaryTypes.Binary, arrow.PrimitiveTypes.Int32} {
		columns := arrow.NewSchema([]arrow.Field{{Name: "c", Type: of, Metadata: mark}}, nil)
		name.Name = "others"
		_, err = e.Assemble(t.Context(), engine.AssembleOptions{Table: name, Columns: columns})
		require.Error(t, err)
		require.Equal(t, "0A000", state(t, err), "%v", err)
	}
}
