package engine_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// A thread of DuckDB that finds the statement's context ended, before DuckDB is interrupted, says so in a way that
// DuckDB carries: else the user who cancels, or whose engine is closed (E6), gets an internal error.
func TestAScanThatIsCancelledSaysSo(t *testing.T) {
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT range AS i FROM range(10)")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	requireState(t, "57014", s.ReadFirstChunk(cancelled, "t"))
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	requireState(t, "57014", s.ReadFirstChunk(late, "t"))
	require.NoError(t, s.ReadFirstChunk(context.Background(), "t"))
}

// Whatever a statement is doing when its time is over, or when its user has had enough: it says so, in the same words, and not what was
// broken off; and what took too long within one row, or while it was planned, gives no answer afterwards.
func TestEndedStatementsSayWhy(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	hurried := func() *engine.Session { // only for what is late: a second SET could be late, too
		h := session(t, e)
		exec(t, h, "SET statement_timeout = 20")
		return h
	}
	exec(t, s, "CREATE TABLE t AS SELECT i FROM range(3) r(i)")
	chain := "WITH c0 AS (SELECT i FROM t)"
	for i := range 30 {
		chain += fmt.Sprintf(", c%d AS NOT MATERIALIZED (SELECT a.i FROM c%d a, c%[2]d b)", i+1, i)
	}
	chain += " SELECT i FROM c30"
	slow := "levenshtein(repeat('ab', 5000 + i::int), repeat('bca', 4000))" // one call takes longer than the statements may
	for name, text := range map[string]string{
		"within one row":      "SELECT " + slow + " FROM t",
		"planning":            "SELECT count(*) FROM (SELECT 1" + strings.Repeat(" UNION ALL SELECT 1", 3000) + ")",
		"planning for years":  chain,
		"streaming":           "SELECT i FROM range(10000000000) r(i)",
		"CREATE TABLE AS":     "CREATE TABLE n AS SELECT i, random() FROM range(10000000000) r(i)",
		"INSERT":              "INSERT INTO t SELECT i FROM range(10000000000) r(i)",
		"UPDATE":              "UPDATE t SET i = " + slow,
		"UPDATE of many rows": "UPDATE t SET i = (SELECT count(*) FROM range(10000000000) r(k) WHERE k % 7 = t.i)",
		"DELETE":              "DELETE FROM t WHERE " + slow + " > 0",
		"of no table":         "SELECT count(*) FROM range(10000000000) r(i) WHERE i % 7 = 0",
	} {
		t.Run(name, func(t *testing.T) {
			err := drained(context.Background(), hurried(), text)
			requireState(t, "57014", err)
			require.EqualError(t, err, "canceling statement due to statement timeout")
			require.ErrorIs(t, err, context.DeadlineExceeded)

			ctx, cancel := context.WithCancel(context.Background())
			defer time.AfterFunc(20*time.Millisecond, cancel).Stop()
			err = drained(ctx, s, text)
			requireState(t, "57014", err)
			require.EqualError(t, err, "canceling statement due to user request")
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, []string{"0", "1", "2"}, rows(t, s, "SELECT i FROM t ORDER BY i"))
		})
	}
	t.Run("a statement that was prepared before", func(t *testing.T) {
		s := session(t, e)
		st, err := s.Prepare(context.Background(), "SELECT i FROM range(10000000000) r(i)")
		require.NoError(t, err)
		defer st.Close()
		exec(t, s, "SET statement_timeout = 20")
		_, err = st.Exec(context.Background())
		requireState(t, "57014", err)
	})
}

// drained runs a statement to its end.
func drained(ctx context.Context, s *engine.Session, text string) error {
	r, err := s.Query(ctx, text)
	if err != nil {
		return err
	}
	defer r.Release()
	for r.Next() {
	}
	return r.Err()
}
