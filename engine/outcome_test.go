package engine_test

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/outcome"
	"github.com/csmsql/csmsql/internal/faults"
)

// executed runs a statement under an outcome, to its end.
func executed(t *testing.T, s *engine.Session, text string, o *outcome.Outcome) error {
	t.Helper()
	st, err := s.Prepare(t.Context(), text)
	require.NoError(t, err)
	defer st.Close()
	require.True(t, st.MayBeGivenUp(), text)
	rows, err := st.Execute(outcome.With(t.Context(), o), nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	for err == nil {
		_, err = rows.Next(t.Context())
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// A statement that was given up leaves nothing, though it comes to its end; one that has committed cannot be given up.
func TestAStatementThatWasGivenUp(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i FROM range(3) r(i)")
	exec(t, s, "CREATE TEMP TABLE own (i int)")
	for _, text := range []string{
		"INSERT INTO t VALUES (7)", "INSERT INTO t VALUES (7) RETURNING i", "UPDATE t SET i = i + 1", "DELETE FROM t WHERE i = 1", "CREATE TABLE n AS SELECT 1 AS a",
		"CREATE VIEW n AS SELECT 1 AS a", "CREATE TABLE n (a int DEFAULT 1)", "ALTER TABLE t ADD CONSTRAINT c CHECK (i >= 0)", "INSERT INTO own VALUES (1)", "CREATE TEMP TABLE n AS SELECT 1 AS a",
	} {
		given := &outcome.Outcome{}
		require.True(t, given.Fail())
		requireState(t, "57014", executed(t, s, text, given))
		require.Equal(t, []string{"0", "1", "2"}, rows(t, s, "SELECT i FROM t ORDER BY i"), text)
		require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM own"), text)
		_, err := s.Exec(t.Context(), "SELECT * FROM n")
		requireState(t, "42P01", err)
		require.Equal(t, engine.Idle, s.Status())
	}
	given := &outcome.Outcome{}
	require.True(t, given.Fail())
	requireState(t, "57014", executed(t, s, "PREPARE p AS SELECT 1", given))
	_, err := s.Exec(t.Context(), "EXECUTE p")
	requireState(t, "26000", err)
	exec(t, s, "BEGIN")
	exec(t, s, "SAVEPOINT a")
	requireState(t, "57014", executed(t, s, "DECLARE c CURSOR FOR SELECT 1", given))
	exec(t, s, "ROLLBACK TO a")
	_, err = s.Exec(t.Context(), "FETCH c")
	requireState(t, "34000", err)
	exec(t, s, "ROLLBACK")

	committed := &outcome.Outcome{}
	require.NoError(t, executed(t, s, "INSERT INTO t VALUES (7) RETURNING i", committed))
	require.False(t, committed.Fail())
	require.Equal(t, []string{"4"}, rows(t, s, "SELECT count(*) FROM t"))
	reads := &outcome.Outcome{}
	require.NoError(t, executed(t, s, "SELECT i FROM t", reads))
	require.True(t, reads.Fail())

	for text, may := range map[string]bool{
		"BEGIN": false, "COMMIT": false, "SET search_path = 'x'": false, "SELECT set_config('search_path', 'x', false)": false, "PREPARE p AS SELECT 1": true,
		"SAVEPOINT a": false, "EXPLAIN SELECT 1": true, "SELECT 1": true,
	} {
		st, err := s.Prepare(t.Context(), text)
		require.NoError(t, err, text)
		require.Equal(t, may, st.MayBeGivenUp(), text)
		require.NoError(t, st.Close())
	}
}

// statement_timeout bounds neither a COMMIT nor the commit of a single statement: PostgreSQL 15 stops the clock before (a deferred trigger that sleeps is not ended).
func TestACommitTakesItsTime(t *testing.T) {
	slow, late := false, 50*time.Millisecond
	e := open(t, func(c *engine.Config) {
		c.Fault = func(point faults.Point) {
			if slow && point == faults.CommitBegin {
				time.Sleep(late)
			}
		}
	})
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (i int)")
	for timeout := 200 * time.Millisecond; ; timeout *= 2 { // on a busy machine the work before it may take longer
		exec(t, s, fmt.Sprintf("SET statement_timeout = %d", timeout.Milliseconds()))
		slow, late = true, timeout+50*time.Millisecond
		_, err := s.Exec(t.Context(), "INSERT INTO t VALUES (1)")
		slow = false
		if err == nil {
			break
		}
		requireState(t, "57014", err)
		require.Less(t, timeout, 5*time.Second, "the commit of a single statement is not bounded, either")
	}
	late = 50 * time.Millisecond
	for end, left := range map[string]string{"COMMIT": "1", "END": "2"} {
		exec(t, s, "SET statement_timeout = 0")
		exec(t, s, "DELETE FROM t")
		exec(t, s, "BEGIN")
		exec(t, s, "INSERT INTO t VALUES ("+left+")")
		exec(t, s, "SET LOCAL statement_timeout = 5")
		slow = true
		exec(t, s, end)
		slow = false
		require.Equal(t, []string{left}, rows(t, s, "SELECT i FROM t"))
	}
	st, err := s.Prepare(context.Background(), "ROLLBACK")
	require.NoError(t, err)
	defer st.Close()
	require.True(t, st.EndsBlock())
}
