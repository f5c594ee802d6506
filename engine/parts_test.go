package engine_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine/account"
)

// PT1, PT2: rows that one statement moves from table to table are in one of them, also while other sessions move some,
// roll a statement back or fold the tables.
func TestRowsAreMoved(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	const rowsMoved, workers = 200, 6
	exec(t, s, fmt.Sprintf("CREATE TABLE q (k int PRIMARY KEY); CREATE TABLE done (k int); CREATE TABLE log (n bigint); INSERT INTO q SELECT i FROM range(%d) r(i)", rowsMoved))
	for _, pick := range []string{"SELECT k FROM q ORDER BY k LIMIT 3 FOR UPDATE SKIP LOCKED", "SELECT k FROM q ORDER BY k LIMIT 2 FOR UPDATE"} {
		exec(t, s, fmt.Sprintf("DELETE FROM q; DELETE FROM done; DELETE FROM log; INSERT INTO q SELECT i FROM range(%d) r(i)", rowsMoved))
		move := "WITH d AS (DELETE FROM q WHERE k IN (" + pick + ") RETURNING k), i AS (INSERT INTO done SELECT k FROM d RETURNING k), " +
			"l AS (INSERT INTO log SELECT count(*) FROM i) SELECT k FROM i"
		var mu sync.Mutex
		var moved []string
		var group errgroup.Group
		for w := range workers {
			s := session(t, e)
			group.Go(func() error {
				for round := 1; ; round++ {
					block := round%3 == 0
					if block {
						if _, err := s.Exec(t.Context(), "BEGIN"); err != nil {
							return err
						}
					}
					got, err := tryRows(s, move)
					if err != nil {
						return err
					}
					undone := block && (round+w)%2 == 0
					if block {
						if _, err := s.Exec(t.Context(), map[bool]string{false: "COMMIT", true: "ROLLBACK"}[undone]); err != nil {
							return err
						}
					}
					if w == 0 && round%4 == 0 {
						if _, err := s.Exec(t.Context(), "VACUUM q"); err != nil {
							return err
						}
					}
					if !undone {
						mu.Lock()
						moved = append(moved, got...)
						mu.Unlock()
					}
					if len(got) == 0 {
						return nil
					}
				}
			})
		}
		require.NoError(t, group.Wait())
		slices.Sort(moved)
		require.Len(t, moved, len(slices.Compact(slices.Clone(moved))), "no row is moved twice")
		left := rows(t, s, "SELECT k FROM q")
		require.Equal(t, rowsMoved, len(moved)+len(left))
		require.ElementsMatch(t, moved, rows(t, s, "SELECT k FROM done"))
		require.Equal(t, rows(t, s, "SELECT count(*)::varchar FROM done"), rows(t, s, "SELECT sum(n)::varchar FROM log"))
	}
	require.Zero(t, e.RowLocks().Claims)
}

// PT1, PT4: a statement whose part fails has changed nothing; what it prepared is given back; another node's commits
// and keys are kept to.
func TestPartsFailTogether(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE q (k int PRIMARY KEY, s text); CREATE TABLE done (k int CHECK (k < 5)); INSERT INTO q SELECT i, 'x' FROM range(10) r(i)")
	for sql, state := range map[string]string{
		"WITH d AS (DELETE FROM q WHERE k < 3 RETURNING k) INSERT INTO done SELECT k + 4 FROM d":                          "23514",
		"WITH d AS (INSERT INTO done SELECT k FROM q RETURNING k) DELETE FROM q USING d WHERE q.k = d.k":                  "23514",
		"WITH d AS (DELETE FROM q RETURNING k), i AS (INSERT INTO q VALUES (1, 'y')) SELECT CAST('x' || k AS int) FROM d": "22P02",
		"WITH a AS (UPDATE q SET s = 'a' WHERE k = 1), b AS (DELETE FROM q WHERE k = 1) SELECT 1":                         "0A000",
		"WITH a AS (INSERT INTO q VALUES (1, 'twice')) SELECT 1":                                                          "23505",
		"WITH a AS (INSERT INTO q VALUES (11, 'one')) INSERT INTO q VALUES (11, 'two')":                                   "23505",
	} {
		_, err := s.Exec(t.Context(), sql)
		requireState(t, state, err)
		require.Equal(t, []string{"10|0"}, rows(t, s, "SELECT count(*), (SELECT count(*) FROM done) FROM q WHERE s = 'x'"), sql)
	}
	require.Zero(t, e.RowLocks().Claims)

	st, err := s.Prepare(t.Context(), "WITH d AS (DELETE FROM q WHERE k = $2 RETURNING k, s) SELECT s || $1, k FROM d")
	require.NoError(t, err)
	require.Equal(t, 2, len(st.Parameters()))
	for k := range 3 {
		reader, err := st.Query(t.Context(), "!", k)
		require.NoError(t, err)
		got, err := linesOf(reader)
		require.NoError(t, err)
		require.Equal(t, []string{fmt.Sprint("x!|", k)}, got)
		require.Empty(t, rows(t, other, "SELECT kind FROM csm.memory WHERE kind = '"+account.Returning+"'"))
	}
	exec(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM done")
	exec(t, other, "UPDATE q SET s = 'changed' WHERE k = 5")
	_, err = st.Exec(t.Context(), "!", 5)
	requireState(t, "40001", err)
	exec(t, s, "ROLLBACK")
	_, err = st.Exec(t.Context(), "!", 5)
	require.NoError(t, err)
	require.NoError(t, st.Close())
	exec(t, s, "CREATE TEMP TABLE own (k int)")
	for _, sql := range []string{
		"WITH d AS (DELETE FROM q RETURNING k) INSERT INTO own SELECT k FROM d", "WITH d AS (INSERT INTO own VALUES (1) RETURNING k) SELECT * FROM d", "INSERT INTO own SELECT k FROM q FOR UPDATE",
	} {
		_, err := s.Exec(t.Context(), sql)
		requireState(t, "0A000", err)
	}
	require.Equal(t, []string{"0|6"}, rows(t, s, "SELECT count(*), (SELECT count(*) FROM q) FROM own"))

	s.BeginImplicit()
	_, err = s.Exec(t.Context(), "WITH d AS (DELETE FROM q WHERE k = 6) INSERT INTO done VALUES (1)")
	require.NoError(t, err)
	exec(t, other, "DELETE FROM q WHERE k = 7")
	require.NoError(t, s.EndImplicit(t.Context(), false))
	require.Equal(t, []string{"4|1"}, rows(t, s, "SELECT count(*), (SELECT count(*) FROM done) FROM q"))
}
