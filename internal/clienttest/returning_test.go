package clienttest

import (
	"slices"
	"strings"
	"testing"
)

// TestReturningAsInPostgres: RETURNING lists columns of the statement's other tables, too, and all of them for a star.
func TestReturningAsInPostgres(t *testing.T) {
	w := newTwins(t, `CREATE TABLE a (id int PRIMARY KEY, n int, s text, twice int GENERATED ALWAYS AS (n * 2) STORED);
		CREATE TABLE b (id int, m numeric(8,2), at timestamptz, "Od""d" text); CREATE TABLE c (id int, k int);
		INSERT INTO a VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, NULL);
		INSERT INTO b VALUES (1, 10, '2026-01-01', 'o'), (2, 20.5, NULL, 'p'), (4, 40, NULL, NULL); INSERT INTO c VALUES (1, 7), (2, 8)`)
	for _, sql := range []string{
		"UPDATE a SET n = b.m FROM b WHERE a.id = b.id RETURNING a.id, b.m, twice",
		"UPDATE a SET n = b.id FROM b WHERE a.id = b.id RETURNING *",
		"UPDATE a SET n = n + 1 FROM b WHERE a.id = b.id RETURNING a.*, b.*",
		"UPDATE a SET n = n + 1 FROM b AS x, c WHERE a.id = x.id AND c.id = a.id RETURNING k, m, x.id + c.id AS sum, *",
		"UPDATE a SET n = n + 1 FROM b JOIN c ON b.id = c.id WHERE a.id = b.id RETURNING b.*, c.k, a.n",
		"UPDATE a SET n = n + 1 FROM b JOIN c USING (id) WHERE a.id = b.id RETURNING a.n, b.id, m, k",
		"UPDATE a SET n = n + 1 FROM (SELECT id, count(*) AS many FROM b GROUP BY id) s (i, j) WHERE a.id = i RETURNING j, i, a.id",
		"UPDATE a SET n = n + 1 FROM (VALUES (1, 'v'), (3, 'w')) v (id, t) WHERE a.id = v.id RETURNING *",
		"UPDATE a AS z SET n = n + 1 FROM a AS y WHERE z.id = y.id + 1 RETURNING z.id, y.id, z.n - y.n",
		"WITH w AS (SELECT 2 AS id, 'cte' AS t) UPDATE a SET s = t FROM w WHERE a.id = w.id RETURNING w.*, a.s",
		"WITH w AS (SELECT id FROM a ORDER BY id LIMIT 1 FOR UPDATE) UPDATE a SET s = 'locked' FROM w WHERE a.id = w.id RETURNING *",
		`UPDATE a SET s = "Od""d" FROM b WHERE a.id = b.id RETURNING "Od""d", s, at IS NULL, upper(b."Od""d")`,
		"UPDATE a SET n = 0 FROM b WHERE a.id = b.id AND false RETURNING *",
		"UPDATE a SET n = 0 FROM b WHERE a.id = b.id RETURNING id", "UPDATE a SET n = 0 FROM b WHERE a.id = b.id RETURNING x.id",
		"UPDATE a SET n = 0 FROM b WHERE a.id = b.id RETURNING b.nosuch", "UPDATE a SET n = 0 FROM b WHERE a.id = b.id RETURNING count(b.id)",
		"UPDATE a SET n = 0 FROM generate_series(2, 3) AS g (x) WHERE a.id = x RETURNING x, g.x, a.id", "UPDATE a SET n = 0 FROM b WHERE a.id = b.id RETURNING (SELECT k FROM c WHERE c.id = b.id)",
		"DELETE FROM c USING b WHERE c.id = b.id AND b.m > 15 RETURNING c.k, b.m", "DELETE FROM c USING b WHERE c.id = b.id RETURNING *",
		"DELETE FROM a USING b, (SELECT 3 AS three) s WHERE a.id = b.id AND three > a.id RETURNING s.*, b.m, a.*", "DELETE FROM a USING b RETURNING a.id", "SELECT * FROM a",
	} {
		w.statements = append(w.statements, sql)
		w.same(t, sql, nil, sorted(answerOf(t, w.ours.conn, sql, nil)), sorted(answerOf(t, w.theirs.conn, sql, nil)))
	}
	// What is not there is named.
	for _, sql := range []string{"UPDATE b SET m = 0 FROM a JOIN c USING (id) RETURNING *", "DELETE FROM b USING a NATURAL JOIN c RETURNING *, b.id"} {
		if answer := answerOf(t, w.ours.conn, sql, nil); answer[:6] != "0A000|" {
			t.Errorf("%s: %s", sql, answer)
		}
	}
}

// sorted is an answer with its rows in one order.
func sorted(answer string) string {
	lines := strings.Split(answer, "\n")
	slices.Sort(lines[1:])
	return strings.Join(lines, "\n")
}

// TestChangesInWithAsInPostgres: changes in WITH run once each, see what the statement sees, and give it their rows.
func TestChangesInWithAsInPostgres(t *testing.T) {
	w := newTwins(t, `CREATE TABLE q (id int PRIMARY KEY, s text, n numeric(8,2) DEFAULT 1.5); CREATE TABLE done (id int, s text);
		CREATE TABLE p (k int PRIMARY KEY); CREATE TABLE c (k int REFERENCES p ON DELETE CASCADE, v int);
		CREATE TABLE numbered (i int GENERATED ALWAYS AS IDENTITY, q int);
		INSERT INTO q SELECT i, 'x' || i FROM generate_series(1, 20) AS g (i); INSERT INTO p VALUES (1), (2), (3); INSERT INTO c VALUES (1, 1), (2, 2)`)
	for _, sql := range []string{
		"WITH d AS (DELETE FROM q WHERE id < 3 RETURNING *) INSERT INTO done SELECT id, s FROM d RETURNING *",
		"WITH d AS (DELETE FROM q WHERE id IN (SELECT id FROM q ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) RETURNING id, s), i AS (INSERT INTO done SELECT * FROM d RETURNING id) SELECT sum(id), count(*) FROM i",
		"WITH u AS (UPDATE q SET s = s || '!' WHERE id = 5 RETURNING *) INSERT INTO q SELECT 5, 'new' WHERE NOT EXISTS (SELECT 1 FROM u)",
		"WITH u AS (UPDATE q SET s = s || '!' WHERE id = 55 RETURNING *) INSERT INTO q SELECT 55, 'new' WHERE NOT EXISTS (SELECT 1 FROM u) RETURNING *",
		"WITH a AS (INSERT INTO q VALUES (100, 'h'), (101, 'i') RETURNING id) SELECT count(*), (SELECT count(*) FROM q) FROM a",
		"SELECT count(*), sum(id), sum(n) FROM q", "SELECT * FROM done",
		"WITH a AS (DELETE FROM q WHERE id = 100) SELECT 1", "WITH a AS (DELETE FROM q WHERE id = 101) UPDATE q SET s = 'z' WHERE id = 55 RETURNING id, s",
		"WITH a AS (UPDATE q SET s = 'unread' WHERE id = 6 RETURNING id) SELECT 2", "SELECT s FROM q WHERE id IN (6, 101)",
		"WITH a (x, y) AS (UPDATE q SET n = n * 2 WHERE id IN (6, 7) RETURNING id, n) SELECT y, x FROM a ORDER BY x",
		"WITH f AS (SELECT 8 AS id), a AS (UPDATE q SET s = 'eight' FROM f WHERE q.id = f.id RETURNING q.id, f.id AS of), b AS (SELECT of + 1 AS nine FROM a) DELETE FROM q USING b WHERE q.id = nine RETURNING q.id, q.s",
		"WITH a AS (INSERT INTO q VALUES (8, 'dup') ON CONFLICT (id) DO UPDATE SET s = excluded.s RETURNING *) SELECT * FROM a", "WITH a AS (INSERT INTO q VALUES (8, 'dup') ON CONFLICT DO NOTHING RETURNING *) SELECT count(*) FROM a",
		"WITH a AS (INSERT INTO q VALUES (8, 'dup') RETURNING *) SELECT * FROM a", "WITH a AS (DELETE FROM q WHERE id = 10 RETURNING (id || 'x')::int) SELECT * FROM a", "SELECT count(*) FROM q WHERE id = 10",
		"WITH a AS (INSERT INTO numbered (q) SELECT id FROM q WHERE id < 8 ORDER BY id RETURNING i, q) SELECT count(*), min(i), max(i) FROM a",
		"WITH a AS (DELETE FROM p WHERE k = 1 RETURNING k) SELECT * FROM a", "SELECT * FROM c", "WITH a AS (DELETE FROM c WHERE k = 2 RETURNING v) DELETE FROM p USING a WHERE k = v RETURNING k", "SELECT count(*) FROM c",
		"WITH a AS (INSERT INTO p VALUES (9) RETURNING k) INSERT INTO c SELECT k, k FROM a RETURNING *", "WITH a AS (INSERT INTO c VALUES (77, 1) RETURNING k) SELECT * FROM a",
		"WITH a AS (DELETE FROM q RETURNING nosuch) SELECT * FROM a", "WITH a AS (DELETE FROM nosuch RETURNING 1) SELECT * FROM a", "WITH a AS (DELETE FROM q WHERE id = 10) SELECT * FROM a",
		"SELECT * FROM (WITH a AS (DELETE FROM q RETURNING id) SELECT * FROM a) s", "WITH a AS (DELETE FROM q WHERE id > 18 RETURNING id) SELECT nosuch FROM a",
		"BEGIN READ ONLY", "WITH a AS (DELETE FROM q RETURNING id) SELECT * FROM a", "ROLLBACK", "BEGIN", "WITH a AS (DELETE FROM q RETURNING id) SELECT count(*) FROM a", "SELECT count(*) FROM q", "ROLLBACK", "SELECT count(*) FROM q",
		"BEGIN", "DECLARE k CURSOR FOR WITH a AS (DELETE FROM q RETURNING id) SELECT * FROM a", "ROLLBACK",
		"PREPARE w (int, text) AS WITH i AS (INSERT INTO q VALUES ($1, $2) RETURNING id, s) UPDATE done SET s = i.s FROM i WHERE done.id = $3 RETURNING done.id, i.s",
		"EXECUTE w (300, 'three', 1)", "EXECUTE w (301, 'four', 2)", "EXECUTE w (301, 'five', 2)", "SELECT * FROM done",
	} {
		w.statements = append(w.statements, sql)
		w.same(t, sql, nil, sorted(answerOf(t, w.ours.conn, sql, nil)), sorted(answerOf(t, w.theirs.conn, sql, nil)))
	}
	w.tell(t, "WITH a AS (INSERT INTO q VALUES ($2, 'two') RETURNING id) SELECT id + $1::int FROM a", "1", "400")
	w.tell(t, "WITH a AS (DELETE FROM q WHERE id > $1 RETURNING id) INSERT INTO done SELECT id, $2 FROM a WHERE id < $3 RETURNING s", "299", "gone", "400")
	for sql, words := range map[string]string{
		"WITH a AS (UPDATE q SET s = 'a' WHERE id = 6) UPDATE q SET s = 'b' WHERE id = 6": "twice", "EXPLAIN WITH a AS (DELETE FROM q RETURNING id) SELECT * FROM a": "DELETE",
		"CREATE VIEW v AS WITH a AS (DELETE FROM q RETURNING id) SELECT * FROM a": "DELETE", "CREATE TABLE x AS WITH a AS (DELETE FROM q RETURNING id) SELECT * FROM a": "DELETE",
		"WITH a AS (SELECT random() AS r), b AS (INSERT INTO done SELECT 1, r FROM a RETURNING *) SELECT * FROM a": "random()", "COPY (WITH a AS (DELETE FROM q RETURNING id) SELECT * FROM a) TO STDOUT": "DELETE",
	} {
		answer := answerOf(t, w.ours.conn, sql, nil)
		if !strings.HasPrefix(answer, "0A000|") || !strings.Contains(answer, words) {
			t.Errorf("%s: %s", sql, answer)
		}
	}
	w.tell(t, "SELECT id, s FROM q ORDER BY id")
}
