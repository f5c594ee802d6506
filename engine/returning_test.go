package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// What RETURNING gives is what was written, value by value, also where values are random; the rows that stay are the others.
func TestReturningIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (a BIGINT, r DOUBLE, w TEXT, u UUID, j JSON, d DECIMAL(10,2), l INTEGER[], b BLOB, z TIMESTAMPTZ)")
	list := "a, r, w, u::text, j, d, l::text, b::text, z::text"
	exec(t, s, "CREATE TEMP TABLE seen AS SELECT "+list+" FROM t")
	check := func(sql string, n int) {
		t.Helper()
		returned := rows(t, s, sql+" RETURNING "+list)
		require.Len(t, returned, n, sql)
		written := map[string]bool{}
		for _, row := range rows(t, s, "SELECT "+list+" FROM t") {
			written[row] = true
		}
		for _, row := range returned {
			require.True(t, written[row], "%s: %s", sql, row)
		}
	}
	values := "random(), 'word ' || i, gen_random_uuid(), '{\"a\": ' || i || '}', i / 100, [i, NULL], ('b' || i)::blob, TIMESTAMPTZ '2024-01-01 00:00:00+00' + INTERVAL 1 DAY"
	check("INSERT INTO t SELECT i, "+values+" FROM range(5000) r(i)", 5000)
	check("INSERT INTO t (a, r) VALUES (-1, random()), (-2, NULL)", 2)
	check("UPDATE t SET r = random(), w = w || '!' WHERE a % 3 = 0", 1667)
	check("UPDATE t SET u = gen_random_uuid()", 5002)
	check("UPDATE t SET r = 0 WHERE false", 0)

	before := rows(t, s, "SELECT a, r, w FROM t")
	deleted := rows(t, s, "DELETE FROM t WHERE random() < 0.5 RETURNING a, r, w")
	left := rows(t, s, "SELECT a, r, w FROM t")
	require.NotEmpty(t, deleted)
	require.NotEmpty(t, left)
	require.ElementsMatch(t, before, append(deleted, left...), "each row is deleted and returned, or stays")
	require.Len(t, rows(t, s, "DELETE FROM t RETURNING *"), len(left))
	require.Empty(t, rows(t, s, "FROM t"))
	require.NoError(t, e.CheckSpace(context.Background()))
}

// E4: what RETURNING finds wrong, or too much, leaves no row and no memory; E5: it points at the list.
func TestReturningFails(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i AS a, 'w' || i AS w FROM range(10) r(i)")
	for _, sql := range []string{
		"INSERT INTO t VALUES (1, 'x')", "INSERT INTO t VALUES (1, 'x') ON CONFLICT DO NOTHING",
		"INSERT INTO t SELECT 1, 'x'", "UPDATE t SET a = 0", "DELETE FROM t",
	} {
		_, err := s.Exec(context.Background(), sql+" RETURNING a, 'ü', nope")
		require.Equal(t, "42703", sqlState(err))
		require.Equal(t, len([]rune(sql+" RETURNING a, 'ü', "))+1, err.(*engine.Error).Position(), sql)
		fails(t, s, "22P02", sql+" RETURNING CAST(w AS INTEGER)")
		fails(t, s, "42601", sql+" RETURNING")
		fails(t, s, "42P01", sql+" RETURNING (SELECT max(a) FROM nowhere)")
		_, err = s.Exec(context.Background(), sql+" RETURNING a + $1", int64(1))
		require.Equal(t, "0A000", sqlState(err))
	}
	fails(t, s, "53200", "INSERT INTO t SELECT i, repeat('x', 10000) FROM range(40000) r(i) RETURNING a")
	require.Equal(t, []string{"10|45"}, rows(t, s, "SELECT count(*), sum(a) FROM t"))
	require.NoError(t, e.CheckSpace(context.Background()))
}

// The rows are there before anything else happens: the statement is complete without a reader.
func TestReturningIsComplete(t *testing.T) {
	ctx := context.Background()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t (a int)")
	st, err := s.Prepare(ctx, "INSERT INTO t SELECT i FROM range($1, 10000) r(i) RETURNING a")
	if err != nil { // a parameter of a table function
		st, err = s.Prepare(ctx, "INSERT INTO t SELECT i FROM range(10000) r(i) WHERE i >= $1 RETURNING a")
	}
	require.NoError(t, err)
	open, err := st.Execute(ctx, []any{int64(0)})
	require.NoError(t, err)
	require.Equal(t, []string{"10000"}, rows(t, other, "SELECT count(*) FROM t"), "it is committed")
	exec(t, s, "DELETE FROM t; DROP TABLE t")
	count := 0
	for batch, err := open.Next(ctx); err == nil; batch, err = open.Next(ctx) {
		require.Equal(t, fmt.Sprint(count), batch.Column(0).ValueStr(0))
		count += int(batch.NumRows())
		batch.Release()
	}
	require.Equal(t, 10000, count)
	require.Equal(t, "INSERT 0 10000", open.Tag())
	require.NoError(t, open.Close())
	require.NoError(t, st.Close())
}

// Drivers ask from which table a column is (getTableName): RETURNING, FETCH and EXECUTE tell it as the query itself does.
func TestOriginsOfReturnedAndFetchedRows(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a, 'x' AS b; CREATE TABLE u AS SELECT 1 AS a, 2 AS c; PREPARE p AS SELECT c, a FROM u; BEGIN; DECLARE k CURSOR FOR SELECT * FROM t JOIN u USING (a)")
	oid := func(table string) string {
		return rows(t, s, "SELECT oid FROM pg_class WHERE relname = '"+table+"'")[0]
	}
	tOID, uOID := oid("t"), oid("u")
	for sql, want := range map[string]string{
		"SELECT * FROM t NATURAL JOIN u":                                       "t.1 t.2 u.2",
		"INSERT INTO t VALUES (2, 'y') RETURNING *, a + 1, b":                  "t.1 t.2 - t.2",
		"UPDATE public.t AS x SET a = 3 RETURNING x.b, (SELECT max(c) FROM u)": "t.2 -",
		"UPDATE t SET b = 'z' FROM u WHERE t.a = u.a RETURNING *, u.c":         "t.1 t.2 u.1 u.2 u.2",
		"DELETE FROM u RETURNING c":                                            "u.2",
		"FETCH 1 FROM k":                                                       "t.1 t.2 u.2",
		"MOVE 1 FROM k":                                                        "",
		"EXECUTE p":                                                            "u.2 u.1",
	} {
		st, err := s.Prepare(context.Background(), sql)
		require.NoError(t, err, sql)
		var got []string
		for _, o := range st.Origins() {
			switch fmt.Sprint(o.Table) {
			case "0":
				got = append(got, "-")
			case tOID:
				got = append(got, fmt.Sprintf("t.%d", o.Column))
			case uOID:
				got = append(got, fmt.Sprintf("u.%d", o.Column))
			}
		}
		require.Equal(t, want, strings.Join(got, " "), sql)
		require.NoError(t, st.Close())
	}
}

// RW4, RW5: RETURNING has of the statement's other tables what the changed row met, once; of temporary tables it is
// refused rather than left out.
func TestReturningOfOthers(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int, b text, c int GENERATED ALWAYS AS (a + 1) STORED); INSERT INTO t VALUES (1, 'x'), (2, 'y'), (3, 'z')")
	exec(t, s, "CREATE TABLE u (a int, d text); INSERT INTO u VALUES (1, 'p'), (1, 'q'), (2, 'r')")
	_, err := s.Prepare(t.Context(), "UPDATE t SET b = d FROM u WHERE t.a = u.a AND u.a >= $1 RETURNING t.a, b = d, c, count(*) OVER ()")
	requireState(t, "42P20", err)
	st, err := s.Prepare(t.Context(), "UPDATE t SET b = d FROM u WHERE t.a = u.a AND u.a >= $1 RETURNING t.a, b = d, c, u.*")
	require.NoError(t, err)
	for range 2 {
		reader, err := st.Query(t.Context(), 1)
		require.NoError(t, err)
		got, err := linesOf(reader)
		require.NoError(t, err)
		require.Len(t, got, 2)
		for _, line := range got {
			require.Regexp(t, "^(1.true.2.1.[pq]|2.true.3.2.r)$", line)
		}
	}
	exec(t, s, "ALTER TABLE u DROP COLUMN d")
	_, err = st.Exec(t.Context(), 1)
	require.Error(t, err)
	require.NoError(t, st.Close())
	require.ElementsMatch(t, []string{"1|1", "2|2"}, rows(t, s, "DELETE FROM t USING u WHERE t.a = u.a RETURNING u.a, t.a"))
	require.Equal(t, []string{"3|z|4"}, rows(t, s, "SELECT * FROM t"))
	exec(t, s, "CREATE TEMP TABLE own AS SELECT 3 AS k")
	for _, sql := range []string{"UPDATE own SET k = 4 FROM t WHERE a = k RETURNING *", "DELETE FROM own USING t WHERE a = k RETURNING k, *"} {
		_, err := s.Exec(t.Context(), sql)
		requireState(t, "0A000", err)
	}
	require.Equal(t, []string{"3"}, rows(t, s, "DELETE FROM own USING t WHERE a = k RETURNING own.*"))
}
