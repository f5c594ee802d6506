package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/testsuite"
)

// MG1, MG3, MG4: what becomes of rows.
func TestMerge(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	all := "SELECT * FROM t ORDER BY k"
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY, v text, n int DEFAULT 7); CREATE TABLE s (k int, n int)")
	exec(t, s, "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (4, 'd', 4)")
	exec(t, s, "INSERT INTO s VALUES (1, 10), (2, 20), (3, 30), (5, 50), (6, 60), (7, 70)")
	require.Equal(t, "MERGE 5", exec(t, s, `MERGE INTO t USING s ON t.k = s.k
		WHEN MATCHED AND s.n = 10 THEN UPDATE SET n = t.n + s.n, v = v || '!'
		WHEN MATCHED AND t.n = 2 THEN DELETE
		WHEN MATCHED THEN DO NOTHING
		WHEN NOT MATCHED AND s.n = 50 THEN INSERT VALUES (s.k, 'new', n)
		WHEN NOT MATCHED AND n = 60 THEN INSERT (v, k) VALUES (DEFAULT, k)
		WHEN NOT MATCHED THEN INSERT (n, k) VALUES (DEFAULT, s.k)`).Tag)
	require.Equal(t, []string{"1|a!|11", "3|c|3", "4|d|4", "5|new|50", "6|(null)|7", "7|(null)|7"}, rows(t, s, all))
	require.Equal(t, "MERGE 5", exec(t, s, "MERGE INTO t USING (SELECT 1) AS s(one) ON t.k < 10 "+
		"WHEN MATCHED AND k > one THEN DELETE").Tag)
	require.Equal(t, "MERGE 2", exec(t, s, "MERGE INTO t USING (VALUES (8), (9)) AS s(k) ON t.k = s.k "+
		"WHEN NOT MATCHED THEN INSERT VALUES (s.k)").Tag)
	require.Equal(t, []string{"1|a!|11", "8|(null)|7", "9|(null)|7"}, rows(t, s, all))
	require.Equal(t, "21000 ", keyRefused(t, s, "MERGE INTO t USING (VALUES (8), (8)) AS s(k) ON t.k = s.k "+
		"WHEN MATCHED THEN UPDATE SET n = 0"))
	require.Contains(t, keyRefused(t, s, "MERGE INTO t USING (VALUES (5), (5)) AS s(k) ON t.k = s.k "+
		"WHEN NOT MATCHED THEN INSERT VALUES (s.k)"), "23505 ")
	require.Equal(t, "MERGE 0", exec(t, s, "MERGE INTO t USING (VALUES (8), (8), (10)) AS s(k) ON t.k = s.k "+
		"WHEN MATCHED THEN DO NOTHING WHEN NOT MATCHED THEN DO NOTHING").Tag)
	require.Equal(t, []string{"1|a!|11", "8|(null)|7", "9|(null)|7"}, rows(t, s, all))
}

// MG2: what random() gave for a condition and for a value is what counts, and a sequence counts rows that are written.
func TestMergeIsAskedOnce(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY, a float8, b float8); CREATE SEQUENCE c")
	exec(t, s, "INSERT INTO t SELECT i, 0, 2 FROM range(0, 10000, 2) r(i)")
	exec(t, s, `MERGE INTO t USING (SELECT i, random() AS r FROM range(10000) g(i)) AS s ON t.k = s.i
		WHEN MATCHED AND random() < 0.3 THEN UPDATE SET a = r, b = r
		WHEN MATCHED AND random() < 0.3 THEN DELETE
		WHEN MATCHED AND random() < 2 THEN UPDATE SET a = nextval('c')
		WHEN MATCHED THEN DELETE
		WHEN NOT MATCHED AND random() < 0.5 THEN INSERT VALUES (i, r, r)
		WHEN NOT MATCHED AND random() < 0.5 THEN INSERT (k, a) VALUES (i, nextval('c'))`)
	require.Equal(t, []string{"0|0"}, rows(t, s, "SELECT count(*) FILTER (a < 1 AND a <> b), count(*) FILTER (a = 0) FROM t"))
	got := rows(t, s, "SELECT count(*), count(DISTINCT a), max(a) FROM t WHERE a >= 1")[0]
	var counted, different, most int
	_, err := fmt.Sscanf(got, "%d|%d|%d", &counted, &different, &most)
	require.NoError(t, err)
	require.Equal(t, []int{counted, counted}, []int{different, most}, "one value for each row that asks for one")
	require.InDelta(t, 0.7*0.7*5000+0.5*0.5*5000, counted, 300)
	require.Equal(t, []string{fmt.Sprint(counted + 1)}, rows(t, s, "SELECT nextval('c')"))
}

// MG2: a join whose condition is random joins each row once: it is either matched or left.
func TestMergeJoinsOnce(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (k int, n int); INSERT INTO t SELECT i, 0 FROM range(5000) r(i)")
	require.Equal(t, "MERGE 5000", exec(t, s, "MERGE INTO t USING (SELECT i FROM range(5000) g(i)) AS s "+
		"ON t.k = s.i AND random() < 0.5 WHEN MATCHED THEN UPDATE SET n = 1 WHEN NOT MATCHED THEN INSERT VALUES (i, 2)").Tag)
	require.Equal(t, []string{"5000|5000"}, rows(t, s, "SELECT count(*), count(DISTINCT k) FROM t WHERE n > 0"))
}

// Rows of the target lie in many chunks, were deleted, or are the transaction's own; words may mean whole rows.
func TestMergeOverManyChunks(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (k text PRIMARY KEY, n bigint, l int[])")
	for i := range 12 {
		exec(t, s, fmt.Sprintf("INSERT INTO t SELECT 'k' || i, i, [i] FROM range(%d, %d) r(i)", i*500, i*500+500))
	}
	exec(t, s, "DELETE FROM t WHERE n % 3 = 0; BEGIN; INSERT INTO t VALUES ('k0', -1, NULL)")
	exec(t, s, "MERGE INTO t USING (SELECT 'k' || i AS k, i FROM range(7000) r(i) ORDER BY hash(i)) AS s ON t.k = s.k "+
		"WHEN MATCHED AND i % 2 = 0 THEN UPDATE SET n = t.n + 1000000 WHEN MATCHED THEN DELETE "+
		"WHEN NOT MATCHED THEN INSERT VALUES (k, 0, [])")
	exec(t, s, "COMMIT")
	require.Equal(t, []string{"5000|5000|2001"}, rows(t, s,
		"SELECT count(*), count(DISTINCT k), count(*) FILTER (n >= 900000) FROM t"))
	require.Equal(t, []string{"0"}, rows(t, s,
		"SELECT count(*) FROM t WHERE n > 1000000 AND (k <> 'k' || n - 1000000 OR l[1] <> n - 1000000)"))
	require.Equal(t, []string{"999999|(null)"}, rows(t, s, "SELECT n, l FROM t WHERE k = 'k0'"))
	exec(t, s, "MERGE INTO t USING (SELECT 'k0' AS k) AS s ON t.k = s.k AND CAST(t AS text) LIKE '%k0%' "+
		"WHEN MATCHED AND len(CAST(t AS text)) > 5 THEN UPDATE SET k = CAST(t AS text) "+
		"WHEN NOT MATCHED THEN INSERT VALUES (CAST(s AS text))")
	require.Equal(t, []string{"{'k': k0, 'n': 999999, 'l': NULL}"}, rows(t, s, "SELECT k FROM t WHERE n = 999999"))
}

// Children of rows that a MERGE deletes follow them, and those of rows that it changes or writes stay; a key that comes
// again in another row does not keep them, as in PostgreSQL.
func TestMergeAndForeignKeys(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE p (k int PRIMARY KEY, n int); INSERT INTO p SELECT i, i FROM range(6) r(i)")
	exec(t, s, "CREATE TABLE gone (k int REFERENCES p ON DELETE CASCADE); INSERT INTO gone SELECT i FROM range(6) r(i)")
	exec(t, s, "CREATE TABLE empty (k int REFERENCES p ON DELETE SET NULL); INSERT INTO empty SELECT i FROM range(6) r(i)")
	require.Equal(t, "MERGE 5", exec(t, s, "MERGE INTO p USING (VALUES (1), (2), (3), (11), (12)) AS s(k) ON p.k = s.k "+
		"WHEN MATCHED AND p.k < 3 THEN DELETE WHEN MATCHED THEN UPDATE SET n = 30 WHEN NOT MATCHED THEN INSERT VALUES (k - 10)").Tag)
	require.Equal(t, []string{"0|0", "1|(null)", "2|(null)", "3|30", "4|4", "5|5"}, rows(t, s, "SELECT * FROM p ORDER BY k"))
	require.Equal(t, []string{"0", "3", "4", "5"}, rows(t, s, "SELECT * FROM gone ORDER BY k"))
	require.Equal(t, []string{"0", "3", "4", "5", "(null)", "(null)"}, rows(t, s, "SELECT * FROM empty ORDER BY k"))
	require.Contains(t, keyRefused(t, s, "MERGE INTO p USING (SELECT 3 AS k) s ON p.k = s.k "+
		"WHEN MATCHED THEN UPDATE SET k = 33"), "23503 ")
	require.Contains(t, keyRefused(t, s, "MERGE INTO gone USING (SELECT 3 AS k) s ON gone.k = s.k "+
		"WHEN MATCHED THEN UPDATE SET k = 33"), "23503 ")
}

// Clients that count by MERGE, at once, never fail, and count exactly: what loses a race is repeated.
func TestMergesAtOnce(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, sessions []*engine.Session, each int) {
		exec(t, sessions[0], "CREATE TABLE t (k int PRIMARY KEY, n int)")
		var writers errgroup.Group
		for w, s := range sessions {
			writers.Go(func() error {
				for i := range each {
					text := fmt.Sprintf("MERGE INTO t USING (SELECT %d AS k) AS s ON t.k = s.k "+
						"WHEN MATCHED THEN UPDATE SET n = t.n + 1 WHEN NOT MATCHED THEN INSERT VALUES (s.k, 1)", i%3)
					var err error
					if w%2 == 0 {
						_, err = s.Exec(t.Context(), text)
					} else {
						_, err = within(t.Context(), s, text)
					}
					if err != nil {
						return fmt.Errorf("%d %d: %w", w, i, err)
					}
				}
				return nil
			})
		}
		require.NoError(t, writers.Wait())
		require.Equal(t, []string{fmt.Sprint("3|", len(sessions)*each)}, rows(t, sessions[0], "SELECT count(*), sum(n) FROM t"))
	}
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		var sessions []*engine.Session
		for range 8 {
			sessions = append(sessions, session(t, e))
		}
		test(t, sessions, 8*testsuite.Effort())
	})
	t.Run("three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		test(t, []*engine.Session{c.session(0), c.session(1), c.session(2), c.session(0)}, 5*testsuite.Effort())
		c.requireSpace()
	})
}

// A MERGE is prepared by its text and by PREPARE, replanned when its source or its target changes, and refused where
// nothing may be written.
func TestPreparedMerges(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (k int PRIMARY KEY, n int); CREATE TABLE s (k int); INSERT INTO s VALUES (1)")
	st, err := s.Prepare(t.Context(), "MERGE INTO t USING (SELECT k + $1::int AS k FROM s) AS s ON t.k = s.k "+
		"WHEN MATCHED AND t.n > $2 THEN DELETE WHEN MATCHED THEN UPDATE SET n = t.n + $3::int WHEN NOT MATCHED THEN INSERT VALUES (k, $3)")
	require.NoError(t, err)
	defer st.Close()
	for i, want := range []string{"1|5", "1|10", "1|15", ""} {
		_, err := st.Exec(t.Context(), 0, 12, 5)
		require.NoError(t, err)
		var list []string
		if want != "" {
			list = []string{want}
		}
		require.Equal(t, list, rows(t, s, "SELECT * FROM t"), "%d", i)
	}
	exec(t, s, "ALTER TABLE t ADD COLUMN more int DEFAULT 3; ALTER TABLE s ADD COLUMN more int; INSERT INTO s VALUES (2, 2)")
	_, err = st.Exec(t.Context(), 10, 12, 5)
	require.NoError(t, err)
	require.Equal(t, []string{"11|5|3", "12|5|3"}, rows(t, s, "SELECT * FROM t ORDER BY k"))
	exec(t, s, "PREPARE m (int) AS MERGE INTO t USING s ON t.k = s.k + $1 WHEN MATCHED THEN DELETE; EXECUTE m(10)")
	require.Empty(t, rows(t, s, "SELECT * FROM t"))
	exec(t, s, "BEGIN READ ONLY")
	require.Equal(t, "25006 ", keyRefused(t, s, "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN DELETE"))
	exec(t, s, "ROLLBACK")
	require.Equal(t, "0A000 ", keyRefused(t, s, "EXPLAIN MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN DELETE"))
}
