package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine"
)

// Sessions that insert into one table are not in each other's way, in one node or in several: none fails, each row is
// there once, and a block that only inserts commits behind what came meanwhile.
func TestInsertsTogether(t *testing.T) {
	t.Parallel()
	insertTogether := func(t *testing.T, sessions []*engine.Session, each int) {
		exec(t, sessions[0], "CREATE TABLE t (writer int, i int)")
		block := sessions[len(sessions)-1]
		exec(t, block, "BEGIN ISOLATION LEVEL REPEATABLE READ")
		exec(t, block, "INSERT INTO t VALUES (-1, 0)")
		var writers errgroup.Group
		for w, s := range sessions[:len(sessions)-1] {
			writers.Go(func() error {
				for i := range each {
					if _, err := s.Exec(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d, %d)", w, i)); err != nil {
						return fmt.Errorf("writer %d, row %d: %w", w, i, err)
					}
				}
				return nil
			})
		}
		require.NoError(t, writers.Wait())
		require.Equal(t, []string{"1"}, rows(t, block, "SELECT count(*) FROM t"), "it sees its snapshot")
		exec(t, block, "COMMIT")
		want := fmt.Sprintf("%d|%d", (len(sessions)-1)*each+1, (len(sessions)-1)*each+1)
		for _, s := range sessions {
			require.Equal(t, []string{want}, rows(t, s, "SELECT count(*), count(DISTINCT (writer, i)) FROM t"))
		}
	}
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		var sessions []*engine.Session
		for range 7 {
			sessions = append(sessions, session(t, e))
		}
		insertTogether(t, sessions, 25)
	})
	t.Run("three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		var sessions []*engine.Session
		for i := range 7 {
			sessions = append(sessions, c.session(i%3))
		}
		insertTogether(t, sessions, 10)
		c.requireSpace()
	})
}
