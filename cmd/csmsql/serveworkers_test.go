package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// workerStatus is what csmsql status says of a worker.
type workerStatus struct {
	Process                    int
	Busy                       bool
	Statements, Crashes, Kills int64
}

func (n *node) workers(t *testing.T) []workerStatus {
	t.Helper()
	out, errOut, code := n.csmsql(t, "", "status", "--json")
	require.Zero(t, code, errOut)
	var status struct{ Workers []workerStatus }
	require.NoError(t, json.Unmarshal([]byte(out), &status))
	return status.Workers
}

func stateOfPg(err error) string {
	var pgError *pgconn.PgError
	if errors.As(err, &pgError) {
		return pgError.Code
	}
	return ""
}

// crashing ends the process that runs it, where it is not refused.
const crashing = `SELECT switch(js, map{1: NULL}, ROW(1, 'a')) FROM (VALUES ('{}'::json)) t(js)`

// A crash fails its query: the connection that asked it lives, the node lives, and says so.
func TestACrashCostsAQueryAndNotTheNode(t *testing.T) {
	t.Setenv(duckdb.CrashingVariable, "1")
	n := startNode(t, "--workers", "1", "--http", "127.0.0.1:0")
	conn := n.connect(t)
	_, err := conn.Exec(deadline(t), "CREATE TABLE t AS SELECT i FROM range(1000) r(i)")
	require.NoError(t, err)
	ask := func(mode pgx.QueryExecMode) {
		var sum int64
		require.NoError(t, conn.QueryRow(deadline(t), "SELECT sum(i * 2)::bigint FROM t", mode).Scan(&sum))
		require.EqualValues(t, 999_000, sum)
	}
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeExec} {
		ask(mode)
		_, err := conn.Exec(deadline(t), crashing, mode)
		require.Equal(t, "58000", stateOfPg(err), "%v", err)
		ask(mode)
	}
	// One that does not listen is killed: what DuckDB works out while it plans, and while it runs.
	for _, sql := range []string{
		"SELECT levenshtein(repeat('ab', 100000), repeat('bca', 100000))", "SELECT levenshtein(repeat('ab', 100000 + i), repeat('bca', 100000)) FROM t LIMIT 1",
	} {
		_, err = conn.Exec(deadline(t), "SET statement_timeout = 1000")
		require.NoError(t, err)
		_, err = conn.Exec(deadline(t), sql, pgx.QueryExecModeSimpleProtocol)
		require.Equal(t, "57014", stateOfPg(err), "%v", err)
		_, err = conn.Exec(deadline(t), "RESET statement_timeout")
		require.NoError(t, err)
		ask(pgx.QueryExecModeCacheStatement)
	}
	list := n.workers(t)
	require.Len(t, list, 1)
	require.Equal(t, []int64{3, 2}, []int64{list[0].Crashes, list[0].Kills})
	out, _, _ := n.csmsql(t, "", "status")
	require.Regexp(t, `WORKER +STATE +AGE +STATEMENTS +CRASHES +KILLS\n`+strconv.Itoa(list[0].Process)+` +idle +\S+ +\d+ +3 +2\n`, out)
	require.Contains(t, metrics(t, n), "csmsql_worker_crashes_total 3\n")
	require.Contains(t, metrics(t, n), `csmsql_workers{state="idle"} 1`)
	require.Contains(t, n.stderr.String(), "a worker crashed")
	require.Contains(t, n.stderr.String(), "switch(js")
}

// A node that is killed leaves no worker, whatever that is in the middle of; and the next life of the node has
// workers again.
func TestWorkersEndWithTheirNode(t *testing.T) {
	n := startNode(t, "--workers", "2", "--memory", "640MiB")
	conn := n.connect(t)
	_, err := conn.Exec(deadline(t), "CREATE TABLE t AS SELECT i FROM range(1000) r(i)")
	require.NoError(t, err)
	var pid uint32
	require.NoError(t, conn.QueryRow(deadline(t), "SELECT pg_backend_pid()").Scan(&pid))
	go func() {
		_, _ = conn.Exec(context.Background(), "SELECT levenshtein(repeat('ab', 100000 + i), repeat('bca', 100000)) FROM t LIMIT 1")
	}()
	require.Eventually(t, func() bool {
		list := n.workers(t)
		return list[0].Process != 0 && list[1].Process != 0 && (list[0].Busy || list[1].Busy)
	}, patience, 10*time.Millisecond)
	list := n.workers(t)
	require.Error(t, n.signal(syscall.SIGKILL))
	for _, w := range list {
		require.Eventually(t, func() bool { return errors.Is(syscall.Kill(w.Process, 0), syscall.ESRCH) }, patience, 10*time.Millisecond)
	}
	require.NoError(t, n.launch(n.command.Args[1:]))
	var sum int64
	require.NoError(t, n.connect(t).QueryRow(deadline(t), "SELECT sum(i * 2)::bigint FROM t").Scan(&sum))
	require.EqualValues(t, 999_000, sum)
}
