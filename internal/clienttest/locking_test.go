package clienttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/testsuite"
)

// another is one more session of a room.
func (r *room) another(t *testing.T) *room {
	t.Helper()
	conn, err := pgconn.Connect(t.Context(), r.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close(t.Context()) })
	more := &room{dsn: r.dsn, conn: conn}
	require.NotContains(t, answerOf(t, conn, "SET search_path = sql_list", nil), "|")
	return more
}

// another is one more session in both.
func (w *twins) another(t *testing.T) *twins {
	return &twins{ours: w.ours.another(t), theirs: w.theirs.another(t)}
}

// lockingGenerator says what sessions do to rows that others lock.
type lockingGenerator struct {
	conflictGenerator
	made int // rows that were inserted: each has a number, so that ORDER BY and LIMIT leave no choice
}

func (g *lockingGenerator) rows() string {
	return g.one("k = %d", "k = %d", "k <= %d", "n = %d", "k IN (1, %d)", "k BETWEEN %d AND 4")
}

func (g *lockingGenerator) statement() string {
	where := fmt.Sprintf(g.rows(), 1+g.IntN(6))
	switch g.IntN(12) {
	case 0:
		return "UPDATE t SET n = n + 1 WHERE " + where
	case 1:
		return "DELETE FROM t WHERE " + where
	case 2:
		g.made++
		return fmt.Sprintf("INSERT INTO t VALUES (%d, 3, %d)", 1+g.IntN(6), g.made)
	case 3:
		return "SELECT * FROM t ORDER BY k, n, id"
	case 4, 5:
		return g.one("BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ", "COMMIT", "COMMIT", "ROLLBACK", "SAVEPOINT p", "ROLLBACK TO p")
	case 6:
		return "SELECT a.k, b.n FROM t a JOIN u b ON a.k = b.k WHERE a." + g.one("k = 2", "k < 3", "n > 1") + " ORDER BY 1, 2 " + g.lock() + g.one(" OF a", " OF b", "", " OF a NOWAIT", " OF b SKIP LOCKED")
	}
	limit := ""
	if g.IntN(3) == 0 {
		limit = g.one(" LIMIT 1", " LIMIT 2", " FETCH FIRST ROW ONLY")
	}
	query := " FROM t WHERE " + where + " ORDER BY k, n, id" + limit + " " + g.lock() + g.one("", "", " NOWAIT", " SKIP LOCKED", " SKIP LOCKED")
	first := " FROM t WHERE " + where + " ORDER BY k, n, id LIMIT 1 " + g.lock() + g.one("", " NOWAIT", " SKIP LOCKED", " SKIP LOCKED")
	switch g.IntN(9) {
	case 0:
		return "DELETE FROM t WHERE k = (SELECT k" + first + ")"
	case 1:
		return "UPDATE u SET n = n + 1 WHERE k = (SELECT k" + first + ")"
	case 2:
		return "WITH w AS (SELECT *" + query + ") SELECT * FROM w ORDER BY 1, 2, 3"
	case 3:
		return "WITH w AS (SELECT k, n AS m" + first + ") UPDATE t SET n = n + m FROM w WHERE t.k = w.k"
	case 4:
		return "INSERT INTO u SELECT k, n" + query
	}
	return "SELECT *" + query
}

func (g *lockingGenerator) lock() string {
	return g.one("FOR UPDATE", "FOR UPDATE", "FOR NO KEY UPDATE", "FOR SHARE", "FOR SHARE")
}

// TestLockingAsInPostgres: each of three sessions gets rows, has to wait (lock_timeout says so), is refused or skips
// them as in PostgreSQL. One statement runs at a time, so that nothing depends on speed.
func TestLockingAsInPostgres(t *testing.T) {
	first := newTwins(t, "CREATE TABLE t (k int, n int, id int); CREATE TABLE u (k int, n int)")
	sessions := []*twins{first, first.another(t), first.another(t)}
	seed := rand.Uint64()
	if text := os.Getenv("CSMSQL_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("CSMSQL_SEED=%d", seed)
	g := &lockingGenerator{conflictGenerator{rand.New(rand.NewPCG(seed, 1))}, 100}
	codes := map[string]int{}
	var statements []string
	rounds := 400 * testsuite.Effort()
	for i := range rounds {
		if i%40 == 0 {
			for _, w := range sessions {
				for _, r := range []*room{w.ours, w.theirs} {
					answerOf(t, r.conn, "ROLLBACK", nil)
					answerOf(t, r.conn, "SET lock_timeout = '60ms'", nil)
				}
			}
			statements = nil
			for _, sql := range []string{"DELETE FROM t", "DELETE FROM u", "INSERT INTO t SELECT i, i, i FROM generate_series(1, 5) AS g(i)", "INSERT INTO u SELECT i % 4, i FROM generate_series(1, 6) AS g(i)"} {
				first.tell(t, sql)
			}
		}
		who := g.IntN(len(sessions))
		w, sql := sessions[who], g.statement()
		statements = append(statements, fmt.Sprintf("%d: %s", who, sql))
		ours, theirs := answerOf(t, w.ours.conn, sql, nil), answerOf(t, w.theirs.conn, sql, nil)
		if code, _, is := strings.Cut(theirs, "|"); is && len(code) == 5 && (code == "40001" || code == "55P03") {
			codes[code]++
			ours, theirs = strings.Split(ours, "|")[0], code
		}
		require.Equal(t, theirs, ours, strings.Join(statements, ";\n"))
		require.Equal(t, w.theirs.conn.TxStatus(), w.ours.conn.TxStatus(), sql)
		if w.ours.conn.TxStatus() == 'E' && g.IntN(3) > 0 {
			for _, r := range []*room{w.ours, w.theirs} {
				answerOf(t, r.conn, "ROLLBACK", nil)
			}
		}
	}
	t.Log(codes)
	require.Greater(t, codes["55P03"], rounds/400) // 13 of 400 on average, few at times
}

// TestSkipLockedSeesOwnRows: a row that a snapshot does not have, and that another session has locked, is not taken for
// one that the transaction has inserted itself.
func TestSkipLockedSeesOwnRows(t *testing.T) {
	own := newTwins(t, "CREATE TABLE t (k int); INSERT INTO t VALUES (1)")
	other := own.another(t)
	for _, step := range []struct {
		in  *twins
		sql string
	}{
		{own, "BEGIN ISOLATION LEVEL REPEATABLE READ"}, {own, "SELECT * FROM t"},
		{other, "INSERT INTO t VALUES (2)"}, {other, "BEGIN"}, {other, "SELECT * FROM t WHERE k = 2 FOR UPDATE"},
		{own, "INSERT INTO t VALUES (3)"}, {own, "SELECT * FROM t ORDER BY k FOR SHARE SKIP LOCKED"},
		{own, "SELECT * FROM t WHERE k = 3 FOR UPDATE SKIP LOCKED"}, {own, "DELETE FROM t WHERE k = (SELECT k FROM t WHERE k > 1 LIMIT 1 FOR UPDATE SKIP LOCKED)"},
		{own, "COMMIT"}, {other, "ROLLBACK"}, {other, "SELECT * FROM t ORDER BY k"},
	} {
		step.in.tell(t, step.sql)
	}
}

// TestLockingWordsAsInPostgres: what cannot be locked is refused as PostgreSQL refuses it.
func TestLockingWordsAsInPostgres(t *testing.T) {
	w := newTwins(t, `CREATE TABLE t (k int, n int); CREATE SEQUENCE s; CREATE VIEW v AS SELECT k FROM t; INSERT INTO t VALUES (1, 2)`)
	for _, sql := range []string{
		"SELECT k FROM t GROUP BY k FOR UPDATE", "SELECT DISTINCT k FROM t FOR UPDATE", "SELECT count(*) FROM t FOR SHARE", "SELECT 1 FROM t HAVING true FOR UPDATE",
		"SELECT k FROM t UNION SELECT n FROM t FOR UPDATE", "SELECT k FROM t EXCEPT ALL SELECT n FROM t FOR NO KEY UPDATE", "VALUES (1) FOR UPDATE", "SELECT row_number() OVER () FROM t FOR UPDATE",
		"SELECT k FROM t ORDER BY sum(n) OVER () FOR KEY SHARE", "SELECT unnest(ARRAY[k, n]) FROM t FOR UPDATE", "SELECT t.k FROM t LEFT JOIN t b ON b.k = t.k FOR UPDATE",
		"SELECT t.k FROM t RIGHT JOIN t b ON b.k = t.k FOR UPDATE OF t", "SELECT t.k FROM t FULL JOIN t b ON b.k = t.k FOR SHARE OF b", "SELECT k FROM t FOR UPDATE OF u", "SELECT k FROM t FOR UPDATE OF public.t",
		"SELECT a.k FROM t AS a FOR UPDATE OF t", "SELECT x FROM t FOR UPDATE", "SELECT * FROM nothing FOR UPDATE", "SELECT k FROM t FOR UPDATE OF t, u NOWAIT",
		"WITH c AS (SELECT 1 AS k) SELECT * FROM c, t FOR UPDATE OF c", "SELECT * FROM generate_series(1, 2) AS g FOR UPDATE OF g", "SELECT * FROM (VALUES (1)) AS w (i), t FOR UPDATE OF w",
		"SELECT * FROM s FOR UPDATE", "BEGIN READ ONLY", "SELECT k FROM t FOR UPDATE", "ROLLBACK", "BEGIN READ ONLY", "SELECT k FROM t FOR NO KEY UPDATE SKIP LOCKED", "ROLLBACK", "BEGIN READ ONLY", "SELECT k FROM t FOR KEY SHARE FOR SHARE", "ROLLBACK",
		"SELECT k FROM t FOR UPDATE FOR SHARE", "SELECT * FROM t LIMIT 1 FOR UPDATE", "SELECT * FROM t FOR UPDATE LIMIT 1", "TABLE t FOR SHARE", "SELECT k FROM t FOR UPDATE UPDATE",
		"SELECT 1 FOR UPDATE", "SELECT * FROM generate_series(1, 2) AS g FOR UPDATE", "WITH c AS (SELECT 1 AS i) SELECT * FROM c, t FOR UPDATE", "SELECT t.k FROM t LEFT JOIN t b ON b.k = t.n FOR UPDATE OF t",
		"SELECT * FROM (VALUES (1)) AS w (i), t FOR UPDATE OF t", "CREATE TEMPORARY TABLE mine (i int)", "INSERT INTO mine VALUES (4)", "SELECT * FROM mine FOR UPDATE", "SELECT * FROM mine, t FOR UPDATE NOWAIT",
		"SELECT * FROM (SELECT k FROM t FOR UPDATE) s", "SELECT (SELECT k FROM t LIMIT 1 FOR UPDATE), ARRAY(SELECT n FROM t FOR SHARE), 1 FROM t",
		"SELECT * FROM (SELECT k, k, n AS k, 'x', 1.5 AS \"A\" FROM t FOR UPDATE) s (a, b, c)", "SELECT s.a FROM (SELECT k AS a FROM t FOR UPDATE) s UNION ALL (SELECT n FROM t FOR SHARE) ORDER BY 1", "SELECT x FROM (SELECT k FROM t FOR UPDATE) s", "WITH a AS (SELECT 1 AS i), b AS (SELECT k FROM t, a WHERE k = i FOR UPDATE OF t) SELECT * FROM b, a",
		"SELECT * FROM (SELECT x FROM t FOR UPDATE) s", "SELECT * FROM (SELECT DISTINCT k FROM t FOR UPDATE) s", "SELECT * FROM (SELECT count(*) FROM t FOR UPDATE) s", "SELECT * FROM t WHERE k = (SELECT 1 FOR UPDATE)", "SELECT substring('abc' FOR 2) FROM (SELECT k FROM t FOR UPDATE) s",
		"BEGIN READ ONLY", "SELECT * FROM (SELECT k FROM t FOR UPDATE) s", "ROLLBACK", "DELETE FROM t WHERE k = (SELECT k FROM t FOR UPDATE) RETURNING *", "INSERT INTO t SELECT 1, 2 FROM (SELECT k FROM t FOR UPDATE) s RETURNING k", "INSERT INTO t VALUES (1, 2) RETURNING k",
		"UPDATE t SET n = (SELECT k + n FROM t FOR UPDATE) RETURNING *", "MERGE INTO t USING (SELECT k, n FROM t FOR UPDATE) s ON s.k = t.k WHEN MATCHED THEN UPDATE SET n = s.n + 1", "SELECT * FROM t",
		"SELECT to_char(1, '9') || k FROM t WHERE k = '1' FOR UPDATE", "SELECT 'a' || t.k::text, * FROM t WHERE n / 2 = 1 FOR NO KEY UPDATE OF t",
	} {
		w.tell(t, sql)
	}
	for _, sql := range []string{"SELECT k FROM t WHERE k = $1 FOR UPDATE", "SELECT k, n + $1::int FROM t FOR UPDATE SKIP LOCKED"} {
		w.tell(t, sql, "1")
	}
	for _, sql := range []string{
		"SELECT * FROM t WHERE k = (SELECT k FROM t WHERE n > $1 LIMIT 1 FOR UPDATE)", "UPDATE t SET n = $2 WHERE k IN (SELECT k FROM t WHERE k < $1 + 5 FOR UPDATE) AND n >= $3 RETURNING k, n",
		"INSERT INTO t SELECT $1, n FROM t WHERE n > $2 FOR UPDATE RETURNING *", "WITH w AS (SELECT k FROM t WHERE k < $2 FOR SHARE) SELECT count(*) FROM w WHERE $1 > 0",
	} {
		w.tell(t, sql, []string{"1", "2", "0"}[:strings.Count(sql, "$1")+min(1, strings.Count(sql, "$2"))+strings.Count(sql, "$3")]...)
	}
	// What PostgreSQL has and is not there is named.
	for sql, words := range map[string]string{
		"SELECT * FROM v FOR UPDATE": `FOR UPDATE of the view "v"`, "SELECT * FROM (SELECT k FROM t) s FOR SHARE": "FOR SHARE of a subquery in FROM", "SELECT * FROM pg_catalog.pg_class FOR UPDATE": "pg_class",
		"(SELECT k FROM t) FOR UPDATE": "written like this", "EXPLAIN ANALYZE SELECT k FROM t FOR UPDATE": "SELECT FOR UPDATE",
		"CREATE TABLE x AS SELECT k FROM t FOR UPDATE": "FOR UPDATE", "CREATE VIEW x AS SELECT k FROM t FOR UPDATE": "FOR UPDATE",
		"SELECT * FROM (SELECT * FROM (SELECT k FROM t FOR UPDATE) s FOR UPDATE OF t) s": "in a query within one",
	} {
		answer := answerOf(t, w.ours.conn, sql, nil)
		require.True(t, strings.HasPrefix(answer, "0A000|") && strings.Contains(answer, words), "%s: %s", sql, answer)
	}
}
