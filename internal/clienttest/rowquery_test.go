package clienttest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRowsOfQueriesAsInPostgres: SET (a, b) = (SELECT …) gives what it gives in PostgreSQL, in UPDATE and ON CONFLICT.
func TestRowsOfQueriesAsInPostgres(t *testing.T) {
	w := newTwins(t, `CREATE TABLE t (a int PRIMARY KEY, b int, c text DEFAULT 'd', d int, CHECK (b <> 66), UNIQUE (d, a));
		CREATE TABLE u (k int, x int, y text); CREATE TABLE g (a int, b int, s int GENERATED ALWAYS AS (a + b) STORED);
		INSERT INTO t VALUES (1, 2, 'x', 0), (2, 3, 'y', 0), (3, NULL, 'z', 0); INSERT INTO g VALUES (1, 2);
		INSERT INTO u VALUES (1, 10, 'ten'), (2, 20, 'twenty'), (2, 21, 'more')`)
	for _, sql := range []string{
		"UPDATE t SET (b, c) = (SELECT x, y FROM u WHERE k = t.a) WHERE a <> 2", "UPDATE t SET (b, c) = (SELECT x, y FROM u WHERE k = t.a)",
		"UPDATE t SET (b, c) = (SELECT x, y FROM u WHERE k = a ORDER BY x DESC LIMIT 1) RETURNING a", "UPDATE t SET (b) = (SELECT 9) WHERE a = 1",
		"UPDATE t SET (d, b) = (SELECT b, d), c = 'swap' WHERE a = 1", "UPDATE t SET (b, c) = (SELECT max(x), min(y) FROM u WHERE k = t.a), d = (SELECT count(*) FROM u)",
		"UPDATE t SET (b, c) = (SELECT x, y FROM u WHERE k = t.a HAVING false)", "UPDATE t AS z SET (b, c) = (SELECT z.b + 1, z.c || '!') WHERE z.a IN (SELECT k FROM u)",
		"UPDATE t SET (b, c) = (SELECT x, y FROM u WHERE k = t.a) WHERE a IN (SELECT k FROM u WHERE x = 10)", // not hit: its many rows are no error
		"UPDATE t SET (b, c) = (VALUES (4, 'v')) WHERE a = 1", "UPDATE t SET (b, c) = (WITH q AS (SELECT 5 AS n) SELECT n, 'w' FROM q) WHERE a = 1",
		"UPDATE t SET (b, c) = ((SELECT 6, 'p')) WHERE a = 1", "UPDATE t SET (b, c) = ((SELECT 7), (SELECT 'q')) WHERE a = 1", "UPDATE t SET (b, c) = ((SELECT 8, 'r') UNION SELECT 8, 'r') WHERE a = 1",
		"UPDATE t SET (b, c) = (SELECT 1, 'a'), (d) = (SELECT 4) WHERE a = 1", "UPDATE t SET (b, d) = (SELECT 1, 2), (c) = ROW ('r') WHERE a = 1",
		"WITH q AS (SELECT 50 AS n, 'fifty' AS s) UPDATE t SET (b, c) = (SELECT n, s FROM q) WHERE a = 2", "UPDATE t SET (b, c) = (SELECT u.x, q.y FROM u WHERE u.k = q.k) FROM u q WHERE q.k = t.a AND q.x = 10",
		"UPDATE t SET (b, c) = (SELECT 66, 'check') WHERE a = 1", "UPDATE t SET (a, c) = (SELECT 2, 'key') WHERE a = 1", "UPDATE t SET (b, c) = (SELECT 1)", "UPDATE t SET (b, c) = (SELECT 1, 'x', 2)",
		"UPDATE t SET (b, c) = (SELECT * FROM u WHERE k = 1)", "UPDATE t SET (b, c) = (SELECT x, y FROM u LIMIT 0)", "UPDATE t SET (b, nosuch) = (SELECT 1, 2)", "UPDATE t SET (b, b) = (SELECT 1, 2)",
		"UPDATE t SET (b, c) = 5", "UPDATE t SET (b, c) = ROW (1)", "UPDATE t SET (b, c) = (SELECT nosuch, 2)", "UPDATE t SET (b, c) = (SELECT sum(t.b), 'x')", "UPDATE g SET (a, b) = (SELECT 5, 6)",
		"UPDATE g SET (b, s) = (SELECT 5, 6)", "SELECT * FROM g",
		"INSERT INTO t VALUES (1, 0, 'n', 0) ON CONFLICT (a) DO UPDATE SET (b, c) = (SELECT x, y FROM u WHERE k = excluded.a) RETURNING *",
		"INSERT INTO t VALUES (1, 0, 'n', 0), (2, 1, 'm', 1) ON CONFLICT (a) DO UPDATE SET (b, c) = (SELECT x, y FROM u WHERE k = excluded.a)",
		"INSERT INTO t VALUES (1, 3, 'n', 0), (3, 4, 'm', 1) ON CONFLICT (a) DO UPDATE SET (b, c) = (SELECT t.b + excluded.b, max(y) FROM u), d = 5 WHERE t.a > 1",
		"INSERT INTO t VALUES (1, 0, 'n', 0) ON CONFLICT (a) DO UPDATE SET (b, c) = (SELECT 1)", "INSERT INTO t VALUES (1, 0, 'n', 0) ON CONFLICT (a) DO UPDATE SET (b, c) = (SELECT 1, 'x' WHERE false)",
		"WITH w AS (UPDATE t SET (b, c) = (SELECT x, y FROM u WHERE k = 1) WHERE a = 3 RETURNING b, c) SELECT * FROM w",
		"CREATE TEMP TABLE o (a int, b int, c text)", "INSERT INTO o VALUES (1, 2, 'x')",
	} {
		w.tell(t, sql)
		w.tell(t, "SELECT * FROM t ORDER BY a")
	}
	w.tell(t, "UPDATE t SET (b, c) = (SELECT x, $1 FROM u WHERE k = $2::int) WHERE a = 2 RETURNING b, c", "given", "1")
	answer := answerOf(t, w.ours.conn, "MERGE INTO t USING u ON t.a = u.k AND x < 21 WHEN MATCHED THEN UPDATE SET (b, c) = (SELECT 1, 'x')", nil)
	require.Contains(t, answer, "0A000|assigning a query's row to several columns in a MERGE is not supported")
	require.Contains(t, answerOf(t, w.ours.conn, "UPDATE o SET (b, c) = (SELECT 3, 'y')", nil), "0A000")
}

// TestRowOfQueryIsAskedOnce: both columns are of one row, whatever the query says another time.
func TestRowOfQueryIsAskedOnce(t *testing.T) {
	w := newRoom(t, shared.dsn(), "CREATE SEQUENCE q; CREATE TABLE t (a int, b bigint, c bigint); INSERT INTO t SELECT i, 0, 0 FROM range(3000) r(i)")
	require.Contains(t, answerOf(t, w.conn, "UPDATE t SET (b, c) = (SELECT n, n FROM (SELECT (random() * 1000000000)::bigint + t.a AS n) s)", nil), "UPDATE 3000")
	require.Equal(t, "SELECT 1\n0|t", answerOf(t, w.conn, "SELECT count(*) FILTER (WHERE b <> c), count(DISTINCT b) > 1000 FROM t", nil))
}
