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
		w.told = append(w.told, sql)
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
