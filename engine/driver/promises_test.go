package driver_test

import (
	"context"
	"database/sql"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func state(t *testing.T, err error) string {
	t.Helper()
	var failed interface{ SQLState() string }
	require.ErrorAs(t, err, &failed)
	return failed.SQLState()
}

// What TxOptions ask for is kept, or refused.
func TestTxOptions(t *testing.T) {
	db := open(t)
	_, err := db.Exec("CREATE TABLE t (i int)")
	require.NoError(t, err)
	for level, want := range map[sql.IsolationLevel]string{
		sql.LevelDefault: "read committed", sql.LevelReadUncommitted: "read uncommitted", sql.LevelReadCommitted: "read committed",
		sql.LevelRepeatableRead: "repeatable read", sql.LevelSnapshot: "repeatable read", sql.LevelSerializable: "serializable",
	} {
		tx, err := db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level, ReadOnly: true})
		require.NoError(t, err, level)
		var got string
		require.NoError(t, tx.QueryRow("SHOW transaction_isolation").Scan(&got))
		require.Equal(t, want, got, level)
		_, err = tx.Exec("INSERT INTO t VALUES (1)")
		require.Equal(t, "25006", state(t, err), level)
		require.NoError(t, tx.Rollback())
	}
	for _, level := range []sql.IsolationLevel{sql.LevelLinearizable, 99} {
		_, err = db.BeginTx(t.Context(), &sql.TxOptions{Isolation: level})
		require.ErrorContains(t, err, "isolation level", level)
	}
	// Two that read what the other one writes: one of them is serialized before the other, or fails.
	var both [2]*sql.Tx
	for i := range both {
		both[i], err = db.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
		require.NoError(t, err)
		var n int
		require.NoError(t, both[i].QueryRow("SELECT count(*) FROM t").Scan(&n))
	}
	for i := range both {
		_, err = both[i].Exec("INSERT INTO t VALUES ($1)", i)
		require.NoError(t, err)
	}
	require.NoError(t, both[0].Commit())
	require.Equal(t, "40001", state(t, both[1].Commit()))
}

// A name that is neither a directory's nor a target's is refused, and makes no directory.
func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, says := range map[string]string{
		"postgres://localhost/csmsql": `"postgres:" is nothing that can be opened`, "atach:/tmp/x": `"atach:" is nothing that can be opened; did you mean attach:?`,
		"data?threads=4": "options behind ? are not known", "attach:": "attach: which node?", "attach:/x?readonly=1": "options behind ? are not known",
	} {
		_, err := sql.Open("csmsql", name)
		require.ErrorContains(t, err, says, name)
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, entries)
}

// Rows of several statements are refused, and none of them has run.
func TestSeveralStatements(t *testing.T) {
	db := open(t)
	_, err := db.Exec("CREATE TABLE t (i int); INSERT INTO t VALUES (1), (2)")
	require.NoError(t, err)
	_, err = db.Query("DELETE FROM t; SELECT count(*) FROM t")
	require.ErrorContains(t, err, "multiple commands")
	var n int
	require.NoError(t, db.QueryRow("SELECT count(*) FROM t").Scan(&n))
	require.Equal(t, 2, n)
}

// What ends a context ends the statement, and the connection is good for the next one.
func TestContexts(t *testing.T) {
	db := open(t)
	db.SetMaxOpenConns(1)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var n int
	err := db.QueryRowContext(ctx, "SELECT count(*) FROM range(100000000000) t(i) WHERE i % 7 = 3").Scan(&n)
	require.Error(t, err)
	require.NoError(t, db.QueryRow("SELECT 1").Scan(&n))

	began, stop := context.WithCancel(t.Context())
	tx, err := db.BeginTx(began, nil)
	require.NoError(t, err)
	_, err = tx.Exec("CREATE TABLE gone (i int)")
	require.NoError(t, err)
	stop()
	require.Error(t, tx.Commit())
	require.NoError(t, db.QueryRow("SELECT count(*) FROM pg_class WHERE relname = 'gone'").Scan(&n))
	require.Zero(t, n)

	result, err := db.Exec("CREATE TABLE kept (i int)")
	require.NoError(t, err)
	_, err = result.LastInsertId()
	require.ErrorContains(t, err, "not supported")
	st, err := db.Prepare("INSERT INTO kept VALUES ($1)")
	require.NoError(t, err)
	defer st.Close()
	for i := range 3 {
		_, err = st.Exec(i)
		require.NoError(t, err)
	}
	_, err = st.Exec(1, 2)
	require.Error(t, err)
	_, err = db.Exec("INSERT INTO kept VALUES ($1)", sql.Named("i", 1))
	require.ErrorContains(t, err, "no names")
}
