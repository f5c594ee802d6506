package main_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// Statements that do not end keep no client out, though their clients have left: each of the sessions that there may be has a slot. What goes on is shown,
// and counted on the account.
func TestOverdueStatementsKeepNoClientOut(t *testing.T) {
	t.Parallel()
	const many, sessionsMost = 60, 100
	const long = "SELECT levenshtein(repeat('ab', 1000000 + i::int), repeat('bca', 20000)) FROM overdue WHERE i = 1" // as hours, with little memory
	n := startNode(t, "--workers", "0", "--http", "127.0.0.1:0")
	admin := n.connect(t)
	_, err := admin.Exec(deadline(t), "CREATE TABLE overdue AS SELECT i FROM range(3) r(i)")
	require.NoError(t, err)
	var group errgroup.Group
	group.SetLimit(10)
	var asking sync.Mutex // guards admin
	leave := func() error {
		conn, err := pgx.Connect(deadline(t), n.url()+"&statement_timeout=100")
		if err != nil {
			return err
		}
		for left := false; !left; { // on a busy machine it may be cancelled before DuckDB has begun
			if _, err := conn.Exec(deadline(t), long); stateOfPg(err) != "57014" {
				return fmt.Errorf("%w: %w", errors.New("not cancelled"), err)
			}
			asking.Lock()
			err := admin.QueryRow(deadline(t), "SELECT count(*) > 0 FROM csm.memory WHERE kind = 'overdue' AND session = $1", conn.PgConn().PID()).Scan(&left)
			asking.Unlock()
			if err != nil {
				return err
			}
		}
		return conn.Close(context.Background())
	}
	overdue := func() (now int) {
		require.NoError(t, admin.QueryRow(deadline(t), "SELECT count(*)::int FROM csm.queries WHERE overdue AND query LIKE '%levenshtein%' AND error LIKE '%timeout%'").Scan(&now))
		return now
	}
	for range many {
		group.Go(leave)
	}
	require.NoError(t, group.Wait())
	for overdue() < many { // one that is planned slowly is overdue as well, and ends where DuckDB would begin
		require.NoError(t, leave())
	}
	for range sessionsMost - 1 { // and the admin
		var one int
		require.NoError(t, n.connect(t).QueryRow(deadline(t), "SELECT count(*)::int FROM overdue WHERE i = 1").Scan(&one))
		require.Equal(t, 1, one)
	}
	var charged int
	require.Equal(t, many, overdue(), "none has ended meanwhile")
	require.NoError(t, admin.QueryRow(deadline(t), "SELECT count(*)::int FROM csm.memory WHERE kind = 'overdue' AND bytes > 0").Scan(&charged))
	require.Equal(t, many, charged)
	status, _, code := n.csmsql(t, "", "status")
	require.Zero(t, code)
	require.Equal(t, many, strings.Count(status, "SELECT levenshtein"), status)
	require.Contains(t, metrics(t, n), fmt.Sprintf("\ncsmsql_statements_overdue %d\n", many))
	require.ErrorContains(t, n.signal(syscall.SIGTERM), "exit status 130")
}

// hours is what DuckDB works on for hours without listening: one value, and while it plans.
const (
	hours         = "SELECT levenshtein(repeat('ab', 300000 + i::int), repeat('bca', 300000)) FROM overdue WHERE i = 1"
	hoursPlanning = "SELECT levenshtein(repeat('ab', 300000), repeat('bca', 300000))"
)

// A statement that DuckDB does not end fails all the same, nothing of it stays, and its connection waits no longer than it may. A node that is
// asked to stop does not wait for it, either, and keeps its tables.
func TestWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--workers", "0", "--threads", "2") // and one of them plans long texts
	_, err := n.connect(t).Exec(deadline(t), "CREATE TABLE overdue AS SELECT i FROM range(3) r(i)")
	require.NoError(t, err)
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		conn := n.connect(t)
		exec := func(sql string) error {
			_, err := conn.Exec(deadline(t), sql, mode)
			return err
		}
		require.NoError(t, exec("SET statement_timeout = 500"))
		var ended string
		for tries := 0; ended == "" && tries < 10; tries++ { // on a busy machine the time is up before DuckDB begins
			require.NoError(t, exec("BEGIN"))
			require.Equal(t, "57014", stateOfPg(exec("UPDATE overdue SET i = ("+hours+")")))
			require.EqualValues(t, 'E', conn.PgConn().TxStatus())
			ended = stateOfPg(exec("ROLLBACK"))
		}
		require.Equal(t, "57014", ended, "the session is not done")
		require.EqualValues(t, 'E', conn.PgConn().TxStatus())
	}
	const wide = 1000
	for _, sql := range []string{hours, hoursPlanning, hoursPlanning + strings.Repeat(", 1", wide)} {
		conn := n.connect(t)
		_, err = conn.Exec(deadline(t), "SET statement_timeout = 500")
		require.NoError(t, err)
		_, err = conn.Exec(deadline(t), sql)
		require.Equal(t, "57014", stateOfPg(err), "%v", err)
		require.EqualValues(t, 'I', conn.PgConn().TxStatus())
	}
	_, err = n.connect(t).Exec(deadline(t), "SELECT 2"+strings.Repeat(", 1", wide))
	require.NoError(t, err, "it has a turn to plan")
	var sum int
	require.NoError(t, n.connect(t).QueryRow(deadline(t), "SELECT sum(i)::int FROM overdue").Scan(&sum))
	require.Equal(t, 3, sum)

	require.ErrorContains(t, n.signal(syscall.SIGTERM), "exit status 130")
	require.Contains(t, n.stderr.String(), "statements do not end")
	require.NoError(t, n.launch(n.command.Args[1:]))
	require.NoError(t, n.connect(t).QueryRow(deadline(t), "SELECT sum(i)::int FROM overdue").Scan(&sum))
	require.Equal(t, 3, sum)
}
