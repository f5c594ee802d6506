package main_test

import (
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// hours is what DuckDB works on for hours without listening: one value, and while it plans.
const (
	hours         = "SELECT levenshtein(repeat('ab', 300000 + i::int), repeat('bca', 300000)) FROM overdue WHERE i = 1"
	hoursPlanning = "SELECT levenshtein(repeat('ab', 300000), repeat('bca', 300000))"
)

// A statement that DuckDB does not end fails all the same, nothing of it stays, and its connection waits no longer than it may. A node that is
// told to stop does not wait for it, either, and keeps its tables.
func TestWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--workers", "0")
	_, err := n.connect(t).Exec(deadline(t), "CREATE TABLE overdue AS SELECT i FROM range(3) r(i)")
	require.NoError(t, err)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		conn := n.connect(t)
		exec := func(sql string) error {
			_, err := conn.Exec(deadline(t), sql, mode)
			return err
		}
		require.NoError(t, exec("SET statement_timeout = 500"))
		require.NoError(t, exec("BEGIN"))
		require.Equal(t, "57014", stateOfPg(exec("UPDATE overdue SET i = ("+hours+")")))
		require.EqualValues(t, 'E', conn.PgConn().TxStatus())
		require.Equal(t, "57014", stateOfPg(exec("ROLLBACK")), "the session is not done")
		require.EqualValues(t, 'E', conn.PgConn().TxStatus())
	}
	for _, sql := range []string{hours, hoursPlanning} {
		conn := n.connect(t)
		_, err = conn.Exec(deadline(t), "SET statement_timeout = 500")
		require.NoError(t, err)
		_, err = conn.Exec(deadline(t), sql)
		require.Equal(t, "57014", stateOfPg(err), "%v", err)
		require.EqualValues(t, 'I', conn.PgConn().TxStatus())
	}
	var sum int
	require.NoError(t, n.connect(t).QueryRow(deadline(t), "SELECT sum(i)::int FROM overdue").Scan(&sum))
	require.Equal(t, 3, sum)

	require.ErrorContains(t, n.signal(syscall.SIGTERM), "exit status 130")
	require.Contains(t, n.stderr.String(), "statements do not end")
	require.NoError(t, n.launch(n.command.Args[1:]))
	require.NoError(t, n.connect(t).QueryRow(deadline(t), "SELECT sum(i)::int FROM overdue").Scan(&sum))
	require.Equal(t, 3, sum)
}
