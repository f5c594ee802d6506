package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is said of each row of a change is of one row: nothing is counted, and no row becomes two. Where any may, PostgreSQL says which it is.
func TestChangesAreOfOneRowEach(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int, l int[]); INSERT INTO t SELECT i, [i, i] FROM range(10) r(i)")
	const windows, aggregates, sets = "42P20 window functions are not allowed in ", "42803 aggregate functions are not allowed in ", "0A000 set-returning functions are not allowed in "
	for text, want := range map[string]string{
		"UPDATE t SET a = row_number() OVER ()":                               windows + "UPDATE",
		"UPDATE t SET a = sum(a)":                                             aggregates + "UPDATE",
		"UPDATE t SET a = unnest([1, 2])":                                     sets + "UPDATE",
		"UPDATE t SET a = 1 + unnest(l) WHERE a = 7":                          sets + "UPDATE",
		"UPDATE t SET l = [], a = 1 WHERE row_number() OVER () = 1":           windows + "WHERE",
		"UPDATE t SET a = 1 WHERE sum(a) > 1":                                 aggregates + "WHERE",
		"UPDATE t SET a = 1 WHERE unnest([true, false])":                      sets + "WHERE",
		"DELETE FROM t WHERE row_number() OVER () = 1":                        windows + "WHERE",
		"DELETE FROM t WHERE row_number() OVER () = 1 RETURNING a":            windows + "WHERE",
		"DELETE FROM t WHERE count(*) > 1 RETURNING a":                        aggregates + "WHERE",
		"DELETE FROM t WHERE unnest(l) = 3 RETURNING a":                       sets + "WHERE",
		"DELETE FROM t USING t AS u WHERE t.a = max(u.a)":                     aggregates + "WHERE",
		"INSERT INTO t (a) VALUES (1) RETURNING count(*)":                     aggregates + "RETURNING",
		"INSERT INTO t (a) VALUES (1) RETURNING a, max(a) AS most":            aggregates + "RETURNING",
		"INSERT INTO t (a) VALUES (1) RETURNING a + max(a) most":              aggregates + "RETURNING",
		`INSERT INTO t (a) VALUES (1) RETURNING count(*) "of all"`:            aggregates + "RETURNING",
		"INSERT INTO t (a) SELECT 1 RETURNING array_agg(a)":                   aggregates + "RETURNING",
		"INSERT INTO t (a) VALUES (1), (2) RETURNING unnest([1, 2])":          sets + "RETURNING",
		"INSERT INTO t (a) VALUES (1), (2) RETURNING sum(a) OVER ()":          windows + "RETURNING",
		"UPDATE t SET a = 5 RETURNING t.a, rank() OVER (ORDER BY public.t.a)": windows + "RETURNING",
		"DELETE FROM t RETURNING *, count(*) OVER () AS n":                    windows + "RETURNING",
		"DELETE FROM t RETURNING DISTINCT a":                                  `42601 syntax error at or near "DISTINCT"`,
		"DELETE FROM t RETURNING a UNION ALL SELECT 1":                        `42601 syntax error at or near "UNION"`,
		"DELETE FROM t RETURNING 1 FROM t AS u, t AS w":                       `42601 syntax error at or near "FROM"`,
		"DELETE FROM t RETURNING a LIMIT 1":                                   `42601 syntax error at or near "LIMIT"`,
		"DELETE FROM t RETURNING a QUALIFY true":                              `42601 syntax error at or near "QUALIFY"`,
		"DELETE FROM t AS q RETURNING t.a":                                    `42P01 missing FROM-clause entry for table "t"`,
		"DELETE FROM t RETURNING other.t.a":                                   `42P01 missing FROM-clause entry for table "other.t"`,
		"UPDATE t SET a = other.t.a":                                          `42P01 missing FROM-clause entry for table "other.t"`,
		"SELECT a FROM t WHERE row_number() OVER () = 1":                      windows + "WHERE",
		"SELECT a FROM t GROUP BY row_number() OVER ()":                       windows + "GROUP BY",
		"SELECT a FROM t GROUP BY a HAVING row_number() OVER () = 1":          windows + "HAVING",
		"INSERT INTO t (a) VALUES (row_number() OVER ())":                     windows + "VALUES",
		"INSERT INTO t (a) VALUES (sum(1))":                                   aggregates + "VALUES",
		"SELECT * FROM generate_series(1, row_number() OVER ())":              windows + "functions in FROM",
		"SELECT a FROM t LIMIT row_number() OVER ()":                          "42P20 window functions are not allowed here",
		"SELECT sum(count(*)) FROM t":                                         "42803 aggregate function calls cannot be nested",
		"SELECT count(row_number() OVER ()) FROM t":                           "42803 aggregate function calls cannot contain window function calls",
		"SELECT sum(sum(a) OVER ()) OVER () FROM t":                           "42P20 window function calls cannot be nested",
		"SELECT row_number() OVER (ORDER BY row_number() OVER ()) FROM t":     windows + "window definitions",
	} {
		_, err := s.Exec(t.Context(), text)
		require.Error(t, err, text)
		require.Equal(t, want, state(t, err)+" "+err.Error(), text)
	}
	require.Equal(t, []string{"10|45|20"}, rows(t, s, "SELECT count(*), sum(a), sum(len(l)) FROM t"), "nothing has changed")
}

// Columns may be named with their schema wherever rows of a table are changed, and sub-queries count what they like.
func TestQualifiedNamesInChanges(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE t (a int, b text); CREATE SCHEMA "O S"; CREATE TABLE "O S"."T t" (a int); INSERT INTO "O S"."T t" VALUES (7)`)
	for _, c := range []struct{ text, want string }{
		{"INSERT INTO t VALUES (1, 'x') RETURNING public.t.a, t.b, public.t.*, csmsql.public.t.a + 1 AS n", "1|x|1|x|2"},
		{"INSERT INTO public.t AS z VALUES (2, 'y') RETURNING z.a, z.*", "2|2|y"},
		{"UPDATE t SET a = public.t.a + 10 WHERE public.t.a = 2 RETURNING public.t.a", "12"},
		{"UPDATE public.t SET a = csmsql.public.t.a + (SELECT count(*) FROM csmsql.public.t) WHERE a = 12 RETURNING PUBLIC . T . a, (SELECT max(public.t.a) FROM public.t)", "14|12"},
		{`UPDATE "O S"."T t" SET a = "O S"."T t".a + 1 RETURNING "O S"."T t".a, "T t".a`, "8|8"},
		{"DELETE FROM t WHERE public.t.a > 10 RETURNING upper(public.t.b) AS count, length(b) length", "Y|1"},
		{"DELETE FROM t RETURNING a, (SELECT sum(u.a) OVER () FROM t u) AS sum, list_transform([1, 2], x -> x + a)[2]", "1|1|3"},
	} {
		require.Equal(t, []string{c.want}, rows(t, s, c.text), c.text)
	}
	_, err := s.Exec(t.Context(), "DELETE FROM t RETURNING public.t.a, public.t.nothing")
	require.Equal(t, "42703", state(t, err))
	require.Equal(t, 44, position(err), "%v", err)
}
