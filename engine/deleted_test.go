package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// naive is what a table of numbers and texts should have.
type naive map[int]string

func (n naive) rows() (list []string) {
	for id, text := range n {
		list = append(list, fmt.Sprintf("%d|%s", id, text))
	}
	slices.Sort(list)
	return list
}

// changeAtRandom does the same to a table and to its twin.
func changeAtRandom(t *testing.T, rng *rand.Rand, s *engine.Session, n naive) {
	low := rng.IntN(5000)
	high := low + []int{1, 30, 400}[rng.IntN(3)]
	var affected int64
	switch rng.IntN(5) {
	case 0:
		affected = exec(t, s, fmt.Sprintf("DELETE FROM d WHERE id >= %d AND id < %d", low, high)).RowsAffected
		for id := range n {
			if id >= low && id < high {
				delete(n, id)
				affected--
			}
		}
	case 1:
		affected = exec(t, s, fmt.Sprintf("DELETE FROM d WHERE id %% 50 = %d", low%50)).RowsAffected
		for id := range n {
			if id%50 == low%50 {
				delete(n, id)
				affected--
			}
		}
	case 2, 3:
		word := fmt.Sprint("w", rng.IntN(7))
		affected = exec(t, s, fmt.Sprintf("UPDATE d SET t = '%s' WHERE id BETWEEN %d AND %d", word, low, high)).RowsAffected
		for id := range n {
			if id >= low && id <= high {
				n[id] = word
				affected--
			}
		}
	default:
		exec(t, s, fmt.Sprintf("INSERT INTO d SELECT range, 'new' FROM range(%d, %d)", low, high))
		for id := low; id < high; id++ {
			if _, there := n[id]; there { // each number once
				affected++
			}
		}
		exec(t, s, "DELETE FROM d WHERE t = 'new' AND id IN (SELECT id FROM d GROUP BY id HAVING count(*) > 1)")
		for id := low; id < high; id++ {
			switch text, there := n[id]; {
			case !there:
				n[id] = "new"
			case text == "new": // which both of its rows are
				delete(n, id)
			}
		}
		affected = 0
	}
	require.Zero(t, affected, "rows that were said to be hit")
}

// Every way of reading a table leaves the same rows out: H6, D14, X7. Its rows are read by DuckDB, with and without what
// it is spared, by the kernels, by a process that attaches, by workers, and by three nodes that share it.
func TestDeletedRowsAreNotRead(t *testing.T) {
	t.Parallel()
	questions := []string{
		"SELECT count(*) FROM d", "SELECT count(id), sum(id), min(id), max(id) FROM d", "SELECT count(*) FROM d WHERE t = 'w3'",
		"SELECT min(t), max(t) FROM d", "SELECT count(*) FROM d WHERE t LIKE 'w%' AND id < 2500",
		"SELECT t, count(*) FROM d GROUP BY t ORDER BY t", "SELECT count(*) FROM d a JOIN d b ON a.id = b.id WHERE a.t = 'w1'",
		"SELECT sum(a.id)::BIGINT FROM d a WHERE EXISTS (SELECT 1 FROM d b WHERE b.id = a.id AND b.t = 'w2')",
		"SELECT count(*) FROM (SELECT id FROM d GROUP BY id HAVING count(*) > 0)", "SELECT count(*) FROM v",
		"SELECT count(*) FROM d WHERE id NOT IN (SELECT id FROM d WHERE t <> 'w5')",
	}
	ask := func(t *testing.T, n naive, from string, s *engine.Session, want map[string][]string) {
		got := rows(t, s, "SELECT id, t FROM d")
		slices.Sort(got)
		require.Equal(t, n.rows(), got, from)
		for _, q := range questions {
			answer := rows(t, s, q)
			if want[q] == nil {
				want[q] = answer
			}
			require.Equal(t, want[q], answer, "%s: %s", from, q)
		}
	}
	fill := func(t *testing.T, s *engine.Session) naive {
		exec(t, s, "CREATE TABLE d AS SELECT range::INT AS id, 'w' || range % 7 AS t FROM range(5000); CREATE VIEW v AS SELECT * FROM d WHERE id > 100")
		n := naive{}
		for id := range 5000 {
			n[id] = fmt.Sprint("w", id%7)
		}
		return n
	}
	backends := func(t *testing.T, n naive, from string, s *engine.Session) {
		want := map[string][]string{}
		for _, set := range []string{"csm.backend = 'duckdb'", "csm.backend = 'auto'", "csm.disable = 'all'"} {
			exec(t, s, "SET "+set)
			ask(t, n, from+" "+set, s, want)
		}
		exec(t, s, "RESET csm.disable; SET csm.backend = 'compute'")
		for _, q := range questions[:5] {
			require.Equal(t, want[q], rows(t, s, q), "%s, kernels: %s", from, q)
		}
		got := rows(t, s, "SELECT id, t FROM d")
		slices.Sort(got)
		require.Equal(t, n.rows(), got, from+", kernels")
		exec(t, s, "RESET csm.backend")
	}
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		s, rng := session(t, e), rand.New(rand.NewPCG(1, 1))
		n := fill(t, s)
		borrower := attached(t, e, t.TempDir()+"/s")
		for range 3 * testsuite.Effort() {
			for range 3 {
				changeAtRandom(t, rng, s, n)
			}
			backends(t, n, "here", s)
			ask(t, n, "attached", session(t, borrower()), map[string][]string{})
		}
	})
	t.Run("workers", func(t *testing.T) {
		s, rng := session(t, openWithWorkers(t, 1)), rand.New(rand.NewPCG(2, 2))
		n := fill(t, s)
		for range 4 * testsuite.Effort() {
			changeAtRandom(t, rng, s, n)
		}
		backends(t, n, "workers", s)
	})
	t.Run("three nodes", func(t *testing.T) {
		c, rng := newCluster(t, 3), rand.New(rand.NewPCG(3, 3))
		n := fill(t, c.session(0))
		exec(t, c.session(0), "ALTER TABLE d SET PLACEMENT 'rows'")
		for i := range 3 * testsuite.Effort() {
			changeAtRandom(t, rng, c.session(i%3), n)
			backends(t, n, fmt.Sprint("node ", (i+1)%3), c.session((i+1)%3))
		}
		exec(t, c.session(1), "ALTER TABLE d SET PLACEMENT 'hash(id)'") // rewritten
		backends(t, n, "divided again", c.session(2))
		require.Equal(t, []string{"0"}, rows(t, c.session(0), "SELECT sum(deleted)::BIGINT FROM csm.chunks WHERE name = 'd'"))
	})
}

// Sessions that change different rows of one table do not conflict, however they do it, and lose nothing; one of two
// that change the same row fails with 40001.
func TestDifferentRowsDoNotConflict(t *testing.T) {
	t.Parallel()
	const sessions, rounds = 8, 12
	e := open(t)
	s := session(t, e)
	exec(t, s, fmt.Sprintf("CREATE TABLE c AS SELECT range::INT AS id, 0 AS n, range %% %d AS owner FROM range(800)", sessions))
	var group errgroup.Group
	for i := range sessions {
		own := session(t, e)
		group.Go(func() error {
			for range rounds {
				for _, sql := range []string{
					fmt.Sprintf("UPDATE c SET n = n + 1 WHERE id = %d", i),
					fmt.Sprintf("UPDATE c SET n = n + 1 WHERE owner = %d AND id >= 400", i),
					fmt.Sprintf("INSERT INTO c VALUES (%d, 0, %d)", 1000+i, i), fmt.Sprintf("DELETE FROM c WHERE id = %d", 1000+i),
				} {
					if _, err := own.Exec(context.Background(), sql); err != nil {
						return fmt.Errorf("%s: %w", sql, err)
					}
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.Equal(t, []string{"800|800"}, rows(t, s, "SELECT count(*), count(DISTINCT id) FROM c"))
	require.Equal(t, []string{fmt.Sprint(sessions * rounds)}, rows(t, s, "SELECT sum(n)::BIGINT FROM c WHERE id < 8"))
	require.Equal(t, []string{fmt.Sprint(400 * rounds)}, rows(t, s, "SELECT sum(n)::BIGINT FROM c WHERE id >= 400"))

	one, two := session(t, e), session(t, e)
	exec(t, one, "BEGIN; UPDATE c SET n = -1 WHERE id = 5")
	exec(t, two, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM c")
	exec(t, one, "COMMIT")
	_, err := two.Exec(context.Background(), "DELETE FROM c WHERE id IN (5, 6)")
	require.Equal(t, "40001", sqlState(err))
	exec(t, two, "ROLLBACK")
	require.Equal(t, []string{"-1", "12"}, rows(t, s, "SELECT n FROM c WHERE id IN (5, 6) ORDER BY id"))
}

// Rows of the block itself are changed like all others, and what is taken back is back.
func TestChangedRowsOfABlock(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE b AS SELECT range AS a FROM range(10);
		BEGIN; INSERT INTO b VALUES (10), (11); UPDATE b SET a = a + 100 WHERE a >= 8; SAVEPOINT one;
		UPDATE b SET a = a + 1000 WHERE a >= 110; DELETE FROM b WHERE a < 5`)
	require.Equal(t, []string{"5", "6", "7", "108", "109", "1110", "1111"}, rows(t, s, "SELECT a FROM b ORDER BY a"))
	exec(t, s, "ROLLBACK TO one")
	require.Equal(t, []string{"12|466"}, rows(t, s, "SELECT count(*), sum(a)::BIGINT FROM b"))
	exec(t, s, "UPDATE b SET a = 0 WHERE a > 108; DELETE FROM b WHERE a = 0; COMMIT")
	require.Equal(t, []string{"8|136"}, rows(t, s, "SELECT count(*), sum(a)::BIGINT FROM b"))
	exec(t, s, "BEGIN; INSERT INTO b VALUES (1); DELETE FROM b; COMMIT")
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM b"))
	exec(t, s, "INSERT INTO b VALUES (1), (2); DELETE FROM b WHERE a > 0")
	require.Equal(t, []string{"0|0"}, rows(t, s, "SELECT rows, chunks FROM csm.tables WHERE name = 'b'"), "and no chunk")
}

// UPDATE … FROM changes a row once, however many it meets (RW4).
func TestUpdateFrom(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE t AS SELECT range AS a, 0 AS b FROM range(5); CREATE TABLE f (a INT, n INT);
		INSERT INTO f VALUES (1, 10), (1, 11), (3, 30), (9, 90)`)
	require.EqualValues(t, 2, exec(t, s, "UPDATE t SET b = f.n FROM f WHERE f.a = t.a").RowsAffected)
	require.Equal(t, []string{"5|1|30"}, rows(t, s, "SELECT count(*), count(*) FILTER (WHERE b IN (10, 11)), max(b) FROM t"))
	require.EqualValues(t, 2, exec(t, s, "UPDATE t AS x SET b = x.b + y.b FROM t AS y, f WHERE y.a = 3 AND f.a = x.a").RowsAffected)
	require.Equal(t, []string{"60"}, rows(t, s, "UPDATE t SET a = 7 FROM f WHERE f.a = t.a AND f.n = 30 RETURNING b"))
}

// RW3: a star, a whole row and a name that looks like ours mean what they mean in a SELECT.
func TestRowNumbersAreHidden(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE n AS SELECT range AS a, range % 2 AS b FROM range(6); CREATE TABLE csm_numbered (csm_row INT); INSERT INTO csm_numbered VALUES (1), (5)")
	require.Equal(t, []string{"2", "4"}, rows(t, s, "DELETE FROM n WHERE (a, b) IN (SELECT * FROM n WHERE b = 0 AND a > 0) RETURNING a"))
	exec(t, s, "DELETE FROM n WHERE n::TEXT = '{''a'': 3, ''b'': 1}'")
	require.Equal(t, []string{"0|0", "1|1", "5|1"}, rows(t, s, "SELECT * FROM n ORDER BY a"))
	exec(t, s, "UPDATE n SET b = 9 WHERE a IN (SELECT csm_row FROM csm_numbered)")
	require.Equal(t, []string{"0|0", "1|9", "5|9"}, rows(t, s, "SELECT * FROM n ORDER BY a"))
	exec(t, s, "UPDATE csm_numbered SET csm_row = csm_row + 1")
	require.Equal(t, []string{"2", "6"}, rows(t, s, "SELECT * FROM csm_numbered ORDER BY 1"))
	for _, sql := range []string{"DELETE FROM n WHERE csm_row = 0", "UPDATE n SET a = csm_row", "DELETE FROM n RETURNING csm_row", "SELECT csm_row FROM n", "DELETE FROM n WHERE a IN (SELECT a FROM csm_numbered.n)"} {
		_, err := s.Exec(context.Background(), sql)
		require.Error(t, err, sql)
		require.Contains(t, []string{"42703", "42P01"}, sqlState(err), sql)
	}
	exec(t, s, "UPDATE n SET a = list_sum(list_transform([a, 1], lambda x: x + 1)) WHERE b = 9") // which only DuckDB reads
	require.Equal(t, []string{"0|0", "4|9", "8|9"}, rows(t, s, "SELECT * FROM n ORDER BY a"))
	exec(t, s, "DELETE FROM n WHERE a IN (SELECT 4 FROM pg_catalog.pg_class WHERE relname = 'n')")
	require.Equal(t, []string{"0", "8"}, rows(t, s, "SELECT a FROM n ORDER BY a"))
}

// A statement about one row reads the chunks in which it may be, and leaves all others where they are.
func TestChangesReadWhatTheyMust(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE p (a BIGINT, b BIGINT)")
	for i := range 10 {
		exec(t, s, fmt.Sprintf("INSERT INTO p SELECT range, 0 FROM range(%d, %d)", i*1000, i*1000+1000))
	}
	before := rows(t, s, "SELECT chunk, region, generation FROM csm.chunks WHERE name = 'p' ORDER BY chunk")
	exec(t, s, "UPDATE p SET b = 1 WHERE a = 4321")
	after := rows(t, s, "SELECT chunk, region, generation FROM csm.chunks WHERE name = 'p' ORDER BY chunk")
	require.Equal(t, before, after[:10])
	require.Len(t, after, 11)
	require.Equal(t, []string{"4|1"}, rows(t, s, "SELECT chunk, deleted FROM csm.chunks WHERE name = 'p' AND deleted > 0"))
	require.Equal(t, []string{"10000|1"}, rows(t, s, "SELECT count(*), sum(b)::BIGINT FROM p"))
}
