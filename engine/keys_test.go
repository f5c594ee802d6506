package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
)

// keyRefused is the state and the detail of the error that a statement ends with.
func keyRefused(t *testing.T, s *engine.Session, text string) string {
	t.Helper()
	_, err := s.Exec(t.Context(), text)
	require.Error(t, err, text)
	return state(t, err) + " " + detailOf(err)
}

// KY1: no two rows with one key, whichever statement brings them.
func TestKeysAreUnique(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int PRIMARY KEY, b text UNIQUE, c int)")
	exec(t, s, "INSERT INTO t SELECT i, 'v' || i, i FROM range(1000) r(i)")
	for text, want := range map[string]string{
		"INSERT INTO t VALUES (1000, 'x', 0), (1000, 'y', 0)":        "Key (a)=(1000) already exists.",
		"INSERT INTO t VALUES (999, 'x', 0)":                         "Key (a)=(999) already exists.",
		"INSERT INTO t VALUES (1000, 'v7', 0)":                       "Key (b)=(v7) already exists.",
		"INSERT INTO t SELECT i, NULL, 0 FROM range(999, 5000) r(i)": "Key (a)=(999) already exists.",
		"UPDATE t SET a = 5 WHERE a = 6":                             "Key (a)=(5) already exists.",
		"UPDATE t SET b = 'one'":                                     "Key (b)=(one) already exists.",
	} {
		require.Equal(t, "23505 "+want, keyRefused(t, s, text))
	}
	require.Equal(t, "23502 ", keyRefused(t, s, "INSERT INTO t VALUES (NULL, 'x', 0)"))
	exec(t, s, "BEGIN; INSERT INTO t VALUES (2000, 'n', 0)")
	require.Equal(t, "23505 Key (a)=(2000) already exists.", keyRefused(t, s, "INSERT INTO t VALUES (2000, 'm', 0)"))
	exec(t, s, "ROLLBACK")
	all := "SELECT count(*), count(DISTINCT a), count(DISTINCT b) FROM t"
	require.Equal(t, []string{"1000|1000|1000"}, rows(t, s, all))

	// What is no duplicate.
	exec(t, s, "INSERT INTO t VALUES (1000, NULL, 0), (1001, NULL, 0)") // NULL is no value
	exec(t, s, "UPDATE t SET a = a + 1, c = 1")                         // all at once
	exec(t, s, "DELETE FROM t WHERE a = 7; INSERT INTO t VALUES (7, 'v6', 0), (8888, 'w', 0)")
	exec(t, s, "BEGIN; DELETE FROM t WHERE a = 8; INSERT INTO t VALUES (8, 'v7', 1)")
	exec(t, s, "SAVEPOINT p; INSERT INTO t VALUES (9000, 'p', 1); ROLLBACK TO p")
	exec(t, s, "INSERT INTO t VALUES (9000, 'p', 1); COMMIT")
	require.Equal(t, []string{"1004|1004|1002"}, rows(t, s, all))
	exec(t, s, "BEGIN; TRUNCATE t; INSERT INTO t VALUES (8, 'v8', 1); COMMIT")
	require.Equal(t, []string{"8|v8|1"}, rows(t, s, "SELECT * FROM t"))
}

// Keys of several columns, of NULLs that are values, and that are added later.
func TestKeysOfSeveralColumns(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE m (a int, b text, c float, UNIQUE NULLS NOT DISTINCT (a, b))")
	exec(t, s, "INSERT INTO m VALUES (1, 'x', 0), (1, 'y', '-0'::float), (2, 'x', 1), (NULL, 'x', 2), (NULL, NULL, 3)")
	require.Equal(t, "23505 Key (a, b)=(null, x) already exists.", keyRefused(t, s, "INSERT INTO m VALUES (NULL, 'x', 9)"))
	require.Equal(t, "23505 Key (a, b)=(2, x) already exists.", keyRefused(t, s, "INSERT INTO m VALUES (3, 'x', 9), (2, 'x', 9)"))
	twice := keyRefused(t, s, "ALTER TABLE m ADD PRIMARY KEY (c)")
	require.Equal(t, "23505 Key (c)=(-0) is duplicated.", twice, "there is one zero")
	exec(t, s, "DELETE FROM m WHERE b = 'y'; ALTER TABLE m ADD CONSTRAINT one PRIMARY KEY (c)")
	require.Equal(t, "23505 Key (c)=(0) already exists.", keyRefused(t, s, "INSERT INTO m VALUES (7, 'z', '-0'::float)"))
	exec(t, s, "ALTER TABLE m DROP CONSTRAINT one; INSERT INTO m VALUES (7, 'z', 0)")
	for _, typed := range []string{"int[] UNIQUE", "interval UNIQUE", "int UNIQUE DEFERRABLE INITIALLY DEFERRED"} {
		require.Equal(t, "0A000 ", keyRefused(t, s, "CREATE TABLE n (a "+typed+")"))
	}
}

// KY2: of many rows each is looked at, in one pass or another.
func TestKeysInPasses(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a bigint PRIMARY KEY); INSERT INTO t SELECT i FROM range(600000) r(i)")
	for _, twice := range []int{0, 1, 2, 77777, 299999, 424242, 599998, 599999} {
		want := fmt.Sprintf("23505 Key (a)=(%d) already exists.", twice)
		more := fmt.Sprintf("INSERT INTO t SELECT CASE WHEN i = 700007 THEN %d ELSE i END FROM range(600000, 1200000) r(i)", twice)
		require.Equal(t, want, keyRefused(t, s, more))
	}
	exec(t, s, "INSERT INTO t SELECT i FROM range(600000, 1200000) r(i)")
	require.Equal(t, []string{"1200000|1200000"}, rows(t, s, "SELECT count(*), count(DISTINCT a) FROM t"))
}

// KY1: of two transactions that add rows with one key the second one fails; those that add others do not notice.
func TestKeysBetweenTransactions(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, a, b *engine.Session) {
		exec(t, a, "CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t SELECT i, i FROM range(100) r(i)")
		exec(t, a, "BEGIN; INSERT INTO t VALUES (200, 1)")
		exec(t, b, "BEGIN; INSERT INTO t VALUES (201, 2), (200, 2)")
		exec(t, a, "COMMIT")
		require.Equal(t, "23505 Key (a)=(200) already exists.", keyRefused(t, b, "COMMIT"))

		exec(t, a, "BEGIN; INSERT INTO t VALUES (300, 1); UPDATE t SET b = -1 WHERE a = 5")
		exec(t, b, "BEGIN; INSERT INTO t VALUES (301, 2); UPDATE t SET b = -2 WHERE a = 6")
		exec(t, a, "COMMIT")
		exec(t, b, "COMMIT")
		counted := rows(t, a, "SELECT count(*), count(DISTINCT a), count(*) FILTER (a >= 200) FROM t")
		require.Equal(t, []string{"103|103|3"}, counted)
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

// KY1: concurrent writers of the same keys get each of them once, in one node and in several.
func TestKeysAtOnce(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, sessions []*engine.Session, keys int) {
		exec(t, sessions[0], "CREATE TABLE t (a int PRIMARY KEY, writer int)")
		var done, late atomic.Int64
		var writers errgroup.Group
		for w, s := range sessions {
			writers.Go(func() error {
				for i := range keys {
					_, err := s.Exec(t.Context(), fmt.Sprintf("INSERT INTO t VALUES (%d, %d)", i, w))
					var e *engine.Error
					switch {
					case err == nil:
						done.Add(1)
					case errors.As(err, &e) && e.State == "23505":
						late.Add(1)
					default:
						return err
					}
				}
				return nil
			})
		}
		require.NoError(t, writers.Wait())
		require.EqualValues(t, keys, done.Load())
		require.EqualValues(t, keys*(len(sessions)-1), late.Load())
		counted := rows(t, sessions[0], "SELECT count(*), count(DISTINCT a) FROM t")
		require.Equal(t, []string{fmt.Sprintf("%d|%d", keys, keys)}, counted)
	}
	t.Run("one node", func(t *testing.T) {
		e := open(t)
		test(t, []*engine.Session{session(t, e), session(t, e), session(t, e), session(t, e)}, 40)
	})
	t.Run("three nodes", func(t *testing.T) {
		c := newCluster(t, 3)
		test(t, []*engine.Session{c.session(0), c.session(1), c.session(2)}, 15)
		c.requireSpace()
	})
}

// KY1: loads without SQL are held to keys, too.
func TestKeysOfLoads(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (3)")
	file := filepath.Join(t.TempDir(), "t.csv")
	require.NoError(t, os.WriteFile(file, []byte("a\n1\n2\n3\n"), 0o600))
	_, err := e.Load(t.Context(), noderpc.LoadRequest{
		Table: catalog.TableName{Name: "t"}, Files: []string{file}, Options: noderpc.LoadOptions{Mode: noderpc.LoadAppend},
	}, nil)
	require.Equal(t, "23505", state(t, err))
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT a FROM t"))
}

// The key is shown as PostgreSQL shows its values.
func TestKeysAreShown(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, `CREATE TABLE t (u uuid, b bytea, d date, at timestamp, n numeric(10,2), f boolean,
		PRIMARY KEY (u, b, d, at, n, f))`)
	row := `INSERT INTO t VALUES ('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a\xFF'::blob, '2020-01-02',
		'2020-01-02 03:04:05.5', 1.5, true)`
	exec(t, s, row)
	require.Equal(t, `23505 Key (u, b, d, at, n, f)=(a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11, \x61ff, 2020-01-02, `+
		"2020-01-02 03:04:05.5, 1.50, t) already exists.", keyRefused(t, s, row))
}
