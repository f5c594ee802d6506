package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/faults"
)

// FK1: no child is without its parent, whichever statement would make it one.
func TestForeignKeys(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE p (id int PRIMARY KEY, v text); CREATE TABLE c (id bigint, p bigint REFERENCES p, n int)")
	exec(t, s, "INSERT INTO p SELECT i, 'v' || i FROM range(1000) r(i); INSERT INTO c SELECT i, i % 500, 0 FROM range(2000) r(i)")
	exec(t, s, "INSERT INTO c VALUES (9, NULL, 1)")
	absent := "23503 Key (p)=(1000) is not present in table \"p\"."
	needed := "23503 Key (id)=(7) is still referenced from table \"c\"."
	for text, want := range map[string]string{
		"INSERT INTO c VALUES (1, 1, 0), (2, 1000, 0)":                          absent,
		"INSERT INTO c SELECT 1, i, 0 FROM range(900, 1001) r(i)":               absent,
		"UPDATE c SET p = 1000 WHERE id = 3":                                    absent,
		"DELETE FROM p WHERE id = 7":                                            needed,
		"DELETE FROM p WHERE id IN (7, 700)":                                    needed,
		"UPDATE p SET id = 2000 WHERE id = 7":                                   needed,
		"INSERT INTO p VALUES (7, '') ON CONFLICT (id) DO UPDATE SET id = 4000": needed,
		"TRUNCATE p": "0A000 Table \"c\" references \"p\".",
	} {
		require.Equal(t, want, keyRefused(t, s, text), text)
	}
	exec(t, s, "UPDATE p SET v = 'w'; UPDATE p SET id = id + 5000 WHERE id >= 500; DELETE FROM p WHERE id > 5000")
	exec(t, s, "UPDATE p SET id = 499 - id WHERE id < 500") // the same keys
	exec(t, s, "BEGIN; DELETE FROM c WHERE p = 7; DELETE FROM p WHERE id = 7; COMMIT")
	require.Equal(t, "23503 Key (p)=(7) is not present in table \"p\".", keyRefused(t, s, "INSERT INTO c VALUES (1, 7, 0)"))
	exec(t, s, "BEGIN; INSERT INTO p VALUES (7, 'x'); INSERT INTO c VALUES (1, 7, 0); COMMIT")
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM c WHERE p IS NOT NULL AND p NOT IN (SELECT id FROM p)"))
	exec(t, s, "TRUNCATE p, c")
	exec(t, s, "INSERT INTO p VALUES (1, 'a'); INSERT INTO c VALUES (1, 1, 1); TRUNCATE p CASCADE")
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM c"))
	exec(t, s, "DROP TABLE c; INSERT INTO p VALUES (1, 'a'); DELETE FROM p; TRUNCATE p")
}

// FK1: of a child and the end of its parent, in two transactions, the second one fails; what goes together does not
// notice.
func TestForeignKeysBetweenTransactions(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, a, b *engine.Session) {
		exec(t, a, "CREATE TABLE p (id int PRIMARY KEY, v int); CREATE TABLE c (p int REFERENCES p, n int)")
		exec(t, a, "INSERT INTO p SELECT i, 0 FROM range(10) r(i)")
		exec(t, a, "BEGIN; INSERT INTO c VALUES (1, 1)")
		exec(t, b, "DELETE FROM p WHERE id = 1")
		require.Equal(t, `23503 Key (p)=(1) is not present in table "p".`, keyRefused(t, a, "COMMIT"))
		exec(t, a, "BEGIN; DELETE FROM p WHERE id = 2")
		exec(t, b, "INSERT INTO c VALUES (2, 1)")
		require.Equal(t, `23503 Key (id)=(2) is still referenced from table "c".`, keyRefused(t, a, "COMMIT"))
		exec(t, a, "BEGIN; UPDATE p SET id = 30 WHERE id = 3")
		exec(t, b, "UPDATE c SET p = 3")
		require.Equal(t, `23503 Key (id)=(3) is still referenced from table "c".`, keyRefused(t, a, "COMMIT"))

		exec(t, a, "BEGIN; INSERT INTO c VALUES (4, 1); INSERT INTO p VALUES (14, 0)")
		exec(t, b, "UPDATE p SET v = v + 1; INSERT INTO p VALUES (24, 0); DELETE FROM p WHERE id = 5")
		exec(t, a, "COMMIT")
		exec(t, a, "BEGIN; DELETE FROM p WHERE id = 6")
		exec(t, b, "INSERT INTO c VALUES (7, 1); DELETE FROM c WHERE p = 4")
		exec(t, a, "COMMIT")
		exec(t, a, "BEGIN; INSERT INTO c VALUES (8, 1)")
		exec(t, b, "BEGIN; DELETE FROM p WHERE id = 8; INSERT INTO p VALUES (8, 8); COMMIT")
		exec(t, a, "COMMIT")
		require.Equal(t, []string{"0|3"}, rows(t, a, "SELECT count(*) FILTER (p NOT IN (SELECT id FROM p)), count(*) FROM c"))

		// FK3: a foreign key that is made meanwhile.
		exec(t, a, "CREATE TABLE d (p int); INSERT INTO d VALUES (9)")
		exec(t, a, "BEGIN; DELETE FROM p WHERE id = 9")
		exec(t, b, "ALTER TABLE d ADD FOREIGN KEY (p) REFERENCES p")
		require.Equal(t, "40001 ", keyRefused(t, a, "COMMIT"))
	}
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		test(t, session(t, e), session(t, e))
	})
	t.Run("three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		test(t, c.session(0), c.session(1))
		c.requireSpace()
	})
}

// FK1: parents and children come and go by many sessions at once, beside folds.
func TestForeignKeysAtOnce(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, sessions []*engine.Session, each int) {
		exec(t, sessions[0], "CREATE TABLE p (id int PRIMARY KEY, v int); CREATE TABLE c (id int PRIMARY KEY, p int REFERENCES p)")
		exec(t, sessions[0], "ALTER TABLE c ADD COLUMN boss int REFERENCES c; INSERT INTO p SELECT i, 0 FROM range(8) r(i)")
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		var refused, done atomic.Int64
		var writers errgroup.Group
		for w, s := range sessions {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			writers.Go(func() error {
				for i := range each {
					id := 1000*w + i
					text := []string{
						fmt.Sprintf("INSERT INTO c VALUES (%d, %d)", id, r.IntN(8)),
						fmt.Sprintf("INSERT INTO c SELECT %d, %d, max(id) FROM c", id, r.IntN(8)),
						fmt.Sprintf("INSERT INTO p VALUES (%d, 0) ON CONFLICT (id) DO UPDATE SET v = p.v + 1", r.IntN(8)),
						fmt.Sprintf("DELETE FROM p WHERE id = %d", r.IntN(8)),
						fmt.Sprintf("DELETE FROM c WHERE p = %d", r.IntN(8)),
						fmt.Sprintf("UPDATE c SET p = %d WHERE id %% 7 = %d", r.IntN(8), r.IntN(7)),
						fmt.Sprintf("BEGIN; DELETE FROM c WHERE p = %d; DELETE FROM p WHERE id = %[1]d; COMMIT", r.IntN(8)),
						fmt.Sprintf("BEGIN; INSERT INTO p VALUES (%d, 1) ON CONFLICT DO NOTHING; INSERT INTO c VALUES (%d, %[1]d); COMMIT", r.IntN(8), id),
						"VACUUM",
					}[r.IntN(9)]
					err := tryAll(t.Context(), s, text)
					switch stateOf(err) {
					case "":
						done.Add(1)
					case "23503", "40001", "23505":
						refused.Add(1)
					default:
						return fmt.Errorf("%s: %w", text, err)
					}
					if err == nil || r.IntN(4) > 0 {
						continue
					}
					const orphans = "SELECT count(*) FROM c WHERE p NOT IN (SELECT id FROM p) OR boss NOT IN (SELECT id FROM c)"
					if got, err := tryRows(s, orphans); err != nil || got[0] != "0" {
						return fmt.Errorf("%v orphans after %s: %w", got, text, err)
					}
				}
				return nil
			})
		}
		require.NoError(t, writers.Wait())
		t.Logf("%d done, %d refused", done.Load(), refused.Load())
		require.Equal(t, []string{"0|0"}, rows(t, sessions[0], "SELECT count(*) FILTER (p NOT IN (SELECT id FROM p)), "+
			"count(*) FILTER (boss NOT IN (SELECT id FROM c)) FROM c"))
		require.Positive(t, done.Load())
	}
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		var sessions []*engine.Session
		for range 6 {
			sessions = append(sessions, session(t, e))
		}
		test(t, sessions, 80)
	})
	t.Run("three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		test(t, []*engine.Session{c.session(0), c.session(1), c.session(2), c.session(0)}, 25)
		c.requireSpace()
	})
}

// tryAll runs statements, and rolls back what it began if one fails.
func tryAll(ctx context.Context, s *engine.Session, text string) error {
	for _, one := range strings.Split(text, ";") {
		if _, err := s.Exec(ctx, one); err != nil {
			_, _ = s.Exec(ctx, "ROLLBACK")
			return err
		}
	}
	return nil
}

// FK1: another node's commit comes between the look at the tables and the store.
func TestForeignKeysBetweenLookAndStore(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	a, b := c.session(0), c.session(1)
	exec(t, a, "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (p int REFERENCES p); INSERT INTO p VALUES (1), (2)")
	between := func(mine, others string) string {
		var once sync.Once
		c.onFault(func(node int, point faults.Point) {
			if node == 0 && point == faults.CommitPublished {
				once.Do(func() { exec(t, b, others) })
			}
		})
		defer c.onFault(nil)
		return keyRefused(t, a, mine)
	}
	require.Equal(t, `23503 Key (p)=(1) is not present in table "p".`, between("INSERT INTO c SELECT 1", "DELETE FROM p WHERE id = 1"))
	require.Equal(t, `23503 Key (id)=(2) is still referenced from table "c".`, between("DELETE FROM p WHERE id = 2", "INSERT INTO c VALUES (2)"))
	require.Equal(t, []string{"2"}, rows(t, a, "SELECT p FROM c"))
	c.requireSpace()
}

// FK1: children that follow, when others add some meanwhile: a statement alone is repeated, and takes those along, too.
func TestChildrenFollowAtOnce(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, sessions []*engine.Session, each int) {
		a, b := sessions[0], sessions[1]
		exec(t, a, "CREATE TABLE p (id int PRIMARY KEY); CREATE TABLE c (p int REFERENCES p ON DELETE CASCADE, q int REFERENCES p ON DELETE SET NULL)")
		exec(t, a, "INSERT INTO p SELECT i FROM range(6) r(i); BEGIN; DELETE FROM p WHERE id = 1")
		exec(t, b, "INSERT INTO c VALUES (1, 2)")
		require.Equal(t, `40001 Key (id)=(1) is still referenced from table "c".`, keyRefused(t, a, "COMMIT"))
		exec(t, a, "DELETE FROM p WHERE id = 2")
		require.Equal(t, []string{"1|(null)"}, rows(t, a, "SELECT * FROM c"))

		var writers errgroup.Group
		for w, s := range sessions {
			r := rand.New(rand.NewPCG(7, uint64(w)))
			writers.Go(func() error {
				for range each {
					id := r.IntN(6)
					text := []string{
						fmt.Sprintf("DELETE FROM p WHERE id = %d", id), fmt.Sprintf("INSERT INTO p VALUES (%d) ON CONFLICT DO NOTHING", id),
						fmt.Sprintf("INSERT INTO c VALUES (%d, NULL), (NULL, %[1]d)", id), fmt.Sprintf("INSERT INTO c SELECT p, %d FROM c LIMIT 2", id),
					}[r.IntN(4)]
					_, err := s.Exec(t.Context(), text)
					if err != nil && (text[0] == 'D' || stateOf(err) != "23503") {
						return fmt.Errorf("%s: %w", text, err)
					}
				}
				return nil
			})
		}
		require.NoError(t, writers.Wait())
		require.Equal(t, []string{"0"}, rows(t, a, "SELECT count(*) FROM c WHERE p NOT IN (SELECT id FROM p) OR q NOT IN (SELECT id FROM p)"))
	}
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		test(t, []*engine.Session{session(t, e), session(t, e), session(t, e), session(t, e)}, 60)
	})
	t.Run("three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		test(t, []*engine.Session{c.session(0), c.session(1), c.session(2)}, 25)
		c.requireSpace()
	})
}

// KY1 and FK1 of generated columns, whose values an UPDATE of others changes.
func TestConstraintsOfGeneratedColumns(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE p (a int, k int GENERATED ALWAYS AS (a * 2) STORED UNIQUE); INSERT INTO p (a) VALUES (1), (2)")
	exec(t, s, "CREATE TABLE c (a int, k int GENERATED ALWAYS AS (a * 2) STORED REFERENCES p (k)); INSERT INTO c (a) VALUES (1)")
	for sql, state := range map[string]string{
		"UPDATE p SET a = 1 WHERE a = 2": "23505", "UPDATE p SET a = 5 WHERE a = 1": "23503", "UPDATE c SET a = 9 WHERE a = 1": "23503",
		"UPDATE c SET a = a + 8": "23503", "DELETE FROM p WHERE a = 1": "23503",
	} {
		requireState(t, state, failing(s, sql))
	}
	exec(t, s, "UPDATE c SET a = 2 WHERE a = 1; UPDATE p SET a = 7 WHERE a = 1")
	require.Equal(t, []string{"2|4"}, rows(t, s, "SELECT * FROM c"))
	require.Equal(t, []string{"2|4", "7|14"}, rows(t, s, "SELECT * FROM p ORDER BY a"))
}
