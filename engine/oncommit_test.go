package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Temporary tables are dropped or emptied by the COMMIT of any transaction, and by a statement's own; a ROLLBACK takes
// back what was done to them, and what was made with them.
func TestOnCommit(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	gone := func(name string) {
		t.Helper()
		_, err := s.Exec(t.Context(), "SELECT * FROM "+name)
		requireRefused(t, "42P01", err)
	}
	exec(t, s, "CREATE TEMP TABLE d(a INTEGER) ON COMMIT DROP")
	gone("d")
	exec(t, s, "CREATE TEMP TABLE r ON COMMIT DELETE ROWS AS SELECT 1 AS a, 'on commit drop' AS b")
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM r"))
	exec(t, s, "INSERT INTO r VALUES (1, 'x')")
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM r"))

	exec(t, s, "CREATE TABLE t(a INTEGER PRIMARY KEY, b VARCHAR)")
	exec(t, s, "INSERT INTO t VALUES (1, 'one')")
	for range 2 { // the upsert of many loaders
		exec(t, s, "BEGIN")
		exec(t, s, `CREATE TEMP TABLE "New ones" (LIKE t INCLUDING ALL) ON COMMIT DROP`)
		exec(t, s, `INSERT INTO "New ones" VALUES (1, 'uno'), (2, 'dos')`)
		exec(t, s, `INSERT INTO t SELECT * FROM "New ones" ON CONFLICT (a) DO UPDATE SET b = excluded.b`)
		exec(t, s, "INSERT INTO r VALUES (1, 'x')")
		require.Equal(t, []string{"1"}, rows(t, s, "SELECT count(*) FROM r"))
		exec(t, s, "COMMIT")
		require.Equal(t, []string{"1|uno", "2|dos"}, rows(t, s, "SELECT * FROM t ORDER BY a"))
		gone(`"New ones"`)
		require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM r"))
	}

	exec(t, s, "BEGIN")
	exec(t, s, "CREATE TEMP TABLE d(a INTEGER) ON COMMIT DROP")
	exec(t, s, "ROLLBACK")
	exec(t, s, "CREATE TEMP TABLE d(a INTEGER)")
	exec(t, s, "INSERT INTO d VALUES (7)")
	exec(t, s, "CREATE TEMP TABLE IF NOT EXISTS d(a INTEGER) ON COMMIT DROP")
	require.Equal(t, []string{"7"}, rows(t, s, "SELECT * FROM d"), "it is another table of that name")

	exec(t, s, "BEGIN")
	exec(t, s, "CREATE TEMP TABLE parent(a INTEGER PRIMARY KEY) ON COMMIT DROP")
	exec(t, s, "CREATE TEMP TABLE child(a INTEGER REFERENCES parent) ON COMMIT DROP")
	exec(t, s, "INSERT INTO parent VALUES (1)")
	exec(t, s, "INSERT INTO child VALUES (1)")
	exec(t, s, "COMMIT")
	gone("parent")
	gone("child")

	exec(t, s, "BEGIN")
	exec(t, s, "INSERT INTO r VALUES (1, 'x')")
	exec(t, s, "DECLARE c CURSOR FOR SELECT a FROM r")
	require.Equal(t, []string{"1"}, rows(t, s, "FETCH ALL FROM c"))
	exec(t, s, "DROP TABLE r")
	exec(t, s, "CREATE TEMP TABLE r AS SELECT 5 AS a")
	exec(t, s, "COMMIT")
	require.Equal(t, []string{"5"}, rows(t, s, "SELECT a FROM r"), "it was made without ON COMMIT")

	for text, state := range map[string]string{
		"CREATE TABLE n(a INTEGER) ON COMMIT DROP":              "42P16",
		"CREATE TABLE n ON COMMIT DELETE ROWS AS SELECT 1 AS a": "42P16",
		"CREATE TEMP TABLE n(a INTEGER) ON COMMIT DELETE":       "42601",
		"CREATE TEMP TABLE n(a INTEGER) ON COMMIT KEEP ROWS":    "42601",
	} {
		_, err := s.Exec(t.Context(), text)
		requireRefused(t, state, err)
	}
}
