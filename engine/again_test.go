package engine_test

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine"
)

// within runs a statement as the one of an implicit block, as the extended protocol does.
func within(ctx context.Context, s *engine.Session, text string) (tag string, err error) {
	s.BeginImplicit()
	st, err := s.PrepareIn(ctx, text, "")
	if err != nil {
		return "", err
	}
	defer st.Close()
	rows, err := st.Execute(ctx, nil)
	if err == nil {
		tag = rows.Tag()
		rows.Close()
	}
	if ended := s.EndImplicit(ctx, err != nil); err == nil {
		err = ended
	}
	return tag, err
}

// A statement that loses a race for a row is repeated if it is alone in its transaction: each change of a row that many
// change at once is made, and once.
func TestStatementsThatLoseARaceAreRepeated(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, sessions []*engine.Session, each int) {
		exec(t, sessions[0], "CREATE TABLE t (a int, b int); INSERT INTO t VALUES (0, 0), (0, 1)")
		var writers errgroup.Group
		for w, s := range sessions {
			writers.Go(func() error {
				for range each {
					var err error
					if w%2 == 0 {
						_, err = s.Exec(t.Context(), "UPDATE t SET a = a + 1 WHERE b = 0")
					} else {
						_, err = within(t.Context(), s, "UPDATE t SET a = a + 1 WHERE b = 0")
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, writers.Wait())
		require.Equal(t, []string{fmt.Sprint(len(sessions) * each), "0"}, rows(t, sessions[0], "SELECT a FROM t ORDER BY b"))
	}
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		test(t, []*engine.Session{session(t, e), session(t, e), session(t, e), session(t, e)}, 15)
	})
	t.Run("three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		test(t, []*engine.Session{c.session(0), c.session(1), c.session(2)}, 8)
		c.requireSpace()
	})
}

// The number of rows that was reported to the client stays true: if another number would be written it is an error. The
// same holds for a statement that is not alone.
func TestReportedRowCountStaysTrue(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2) // on one node the other one would wait
	a, b := c.session(0), c.session(1)
	exec(t, a, "CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
	race := func(mine ...string) error {
		exec(t, a, "TRUNCATE t; INSERT INTO t VALUES (1)")
		b.BeginImplicit()
		var statements []*engine.Statement
		for _, text := range mine {
			st, err := b.PrepareIn(t.Context(), text, "")
			require.NoError(t, err)
			rows, err := st.Execute(t.Context(), nil)
			require.NoError(t, err)
			rows.Close()
			statements = append(statements, st)
		}
		exec(t, a, "UPDATE t SET a = a + 1")
		err := b.EndImplicit(t.Context(), false)
		for _, st := range statements {
			require.NoError(t, st.Close())
		}
		return err
	}
	require.NoError(t, race("UPDATE t SET a = a * 10"))
	require.Equal(t, []string{"20"}, rows(t, a, "SELECT a FROM t"))
	require.Equal(t, "40001", state(t, race("UPDATE t SET a = 7 WHERE a = 1")))
	require.Equal(t, "40001", state(t, race("UPDATE t SET a = a * 10", "SELECT a FROM t")))
	require.Equal(t, "40001", state(t, race("SELECT a FROM t", "UPDATE t SET a = a * 10")))
	require.Equal(t, "40001", state(t, race("UPDATE t SET a = a * 10 RETURNING a")))
	require.Equal(t, []string{"2"}, rows(t, a, "SELECT a FROM t"))
}

// RETURNING gives the rows of the run that was committed.
func TestReturnedRowsAreThoseOfTheLastRun(t *testing.T) {
	t.Parallel()
	e := open(t)
	exec(t, session(t, e), "CREATE TABLE t (a int); INSERT INTO t VALUES (0)")
	var seen [61]atomic.Int64
	var writers errgroup.Group
	for range 4 {
		s := session(t, e)
		writers.Go(func() error {
			for range 15 {
				returned, err := tryRows(s, "UPDATE t SET a = a + 1 RETURNING a")
				if err != nil {
					return err
				}
				a, err := strconv.Atoi(returned[0])
				if err != nil {
					return err
				}
				seen[a].Add(1)
			}
			return nil
		})
	}
	require.NoError(t, writers.Wait())
	for i := 1; i < len(seen); i++ {
		require.EqualValues(t, 1, seen[i].Load(), "%d", i)
	}
}

// Rows that were made for a table as it was go into the one that it has become, if they may.
func TestInsertsFollowTheirTable(t *testing.T) {
	t.Parallel()
	e := open(t)
	a, b := session(t, e), session(t, e)
	exec(t, a, "CREATE TABLE t (a int)")
	race := func(insert, change string) error {
		b.BeginImplicit()
		st, err := b.PrepareIn(t.Context(), insert, "")
		require.NoError(t, err)
		defer st.Close()
		rows, err := st.Execute(t.Context(), nil)
		require.NoError(t, err)
		rows.Close()
		exec(t, a, change)
		return b.EndImplicit(t.Context(), false)
	}
	require.NoError(t, race("INSERT INTO t VALUES (1), (2)", "ALTER TABLE t ADD CHECK (a > 0)"))
	require.Equal(t, "23514", state(t, race("INSERT INTO t VALUES (1)", "CREATE OR REPLACE TABLE t (a int CHECK (a > 1))")))
	require.NoError(t, race("INSERT INTO t (a) VALUES (2)", "CREATE OR REPLACE TABLE t (b int DEFAULT 7, a text)"))
	require.Equal(t, []string{"7|2"}, rows(t, a, "SELECT b, a FROM t"))
	require.Equal(t, "42P01", state(t, race("INSERT INTO t (a) VALUES ('y')", "DROP TABLE t")))
}
