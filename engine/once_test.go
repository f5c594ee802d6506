package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A statement is evaluated once: what is volatile in it has one value for each row, wherever the row's value shows. random() has 2^53
// values, so that no two rows of these tables, nor two evaluations of one row, are equal by chance.
func TestAStatementIsEvaluatedOncePerRow(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	ctx := context.Background()
	fill := func(t *testing.T) {
		exec(t, s, `DROP TABLE IF EXISTS u; CREATE TABLE u (a DOUBLE, b DOUBLE, k BIGINT);
			INSERT INTO u SELECT i, i, i FROM range(10000) r(i)`)
	}
	none := func(t *testing.T, query string) {
		t.Helper()
		require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM "+query))
	}
	some := func(t *testing.T, query string) {
		t.Helper()
		require.Equal(t, []string{"true"}, rows(t, s, "SELECT count(*) BETWEEN 3000 AND 7000 FROM "+query))
	}

	t.Run("the condition of UPDATE", func(t *testing.T) {
		fill(t)
		exec(t, s, "UPDATE u SET a = -1, b = -1 WHERE random() < 0.5")
		none(t, "u WHERE (a = -1) <> (b = -1)")
		some(t, "u WHERE a = -1")
	})
	t.Run("UPDATE … RETURNING gives the rows that were written", func(t *testing.T) {
		fill(t)
		returned := rows(t, s, "UPDATE u SET a = random(), b = -1 WHERE random() < 0.5 RETURNING k, a")
		require.ElementsMatch(t, returned, rows(t, s, "SELECT k, a FROM u WHERE b = -1"))
		some(t, "u WHERE b = -1")
	})
	t.Run("every assignment is evaluated for its row", func(t *testing.T) {
		fill(t)
		exec(t, s, "UPDATE u SET a = random(), b = random()")
		none(t, "u WHERE a = b")
		require.Equal(t, []string{"true"}, rows(t, s, "SELECT count(DISTINCT a) > 9990 FROM u"))
	})
	t.Run("DELETE … RETURNING gives the rows that went", func(t *testing.T) {
		fill(t)
		gone := rows(t, s, "DELETE FROM u WHERE random() < 0.5 RETURNING k")
		require.ElementsMatch(t, rows(t, s, "SELECT i FROM range(10000) r(i)"), append(gone, rows(t, s, "SELECT k FROM u")...))
		some(t, "u")
	})
	t.Run("INSERT … RETURNING gives the rows that were stored", func(t *testing.T) {
		fill(t)
		returned := rows(t, s, "INSERT INTO u SELECT r, r, -1 FROM (SELECT random() AS r FROM range(1000)) WHERE r < 0.5 RETURNING a, b")
		require.ElementsMatch(t, returned, rows(t, s, "SELECT a, b FROM u WHERE k = -1"))
		none(t, "u WHERE a <> b OR k = -1 AND a >= 0.5")
	})
	t.Run("the query of CREATE TABLE AS", func(t *testing.T) {
		exec(t, s, "CREATE TABLE c AS SELECT r AS a, r AS b, h FROM (SELECT random() AS r, random() < 0.5 AS h FROM range(10000)) WHERE h AND r < 0.9")
		none(t, "c WHERE a <> b OR NOT h OR a >= 0.9")
	})
	t.Run("a prepared UPDATE, at each execution", func(t *testing.T) {
		fill(t)
		st, err := s.Prepare(ctx, "UPDATE u SET a = $1, b = $1 WHERE random() < 0.5")
		require.NoError(t, err)
		defer st.Close()
		for _, value := range []float64{-1, -2} {
			done, err := st.Execute(ctx, []any{value})
			require.NoError(t, err)
			require.NoError(t, done.Close())
		}
		none(t, "u WHERE (a < 0 OR b < 0) AND a <> b")
		require.Equal(t, []string{"2"}, rows(t, s, "SELECT count(DISTINCT a) FROM u WHERE a < 0"))
	})
}

// What UPDATE assigns is computed for the rows that it hits and no others.
func TestUpdateComputesNothingForRowsThatItDoesNotHit(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	ctx := context.Background()
	exec(t, s, `CREATE SCHEMA d; CREATE TABLE d.n (t VARCHAR, i INT); INSERT INTO d.n VALUES ('1', 0), ('x', 1), ('3', 2);
		UPDATE d.n SET i = CAST(t AS INT) WHERE t SIMILAR TO '[0-9]+' -- digits`)
	require.Equal(t, []string{"1|1", "3|3", "x|1"}, rows(t, s, "SELECT * FROM d.n ORDER BY lower(t)"))

	exec(t, s, "UPDATE d.n SET i = d.n.i + (SELECT max(d.n.i) FROM d.n) WHERE d.n.t = '1'")
	require.Equal(t, []string{"1|4", "3|3", "x|1"}, rows(t, s, "SELECT * FROM d.n ORDER BY lower(t)"))
	exec(t, s, `WITH m AS (SELECT 10 AS x) UPDATE d.n AS y SET (i, t) = (y.i + (SELECT x FROM m), upper(y.t)) WHERE y.t = 'x'`)
	require.Equal(t, []string{"1|4", "3|3", "X|11"}, rows(t, s, "SELECT * FROM d.n ORDER BY lower(t)"))
	_, err := s.Exec(ctx, "UPDATE d.n SET i = CAST(t AS INT)")
	require.Error(t, err)
}
