package node

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/invariants"
)

// fails is a query at which DuckDB 1.5 fails inside, so that it takes no statement any more, and that is refused therefore. When a later one does
// not, another has to be found.
const fails = "SELECT list_where(CAST([] AS BIGINT[]), [true]) FROM kept"

// When DuckDB has failed inside, the node begins anew by itself: its clients are sent away, what was committed is there again, what was
// not is gone, and so are temporary tables, whose names are free.
func TestNodeBeginsAnewWhenDuckDBFails(t *testing.T) {
	if !invariants.Enabled {
		t.Skip("what DuckDB fails at is refused")
	}
	t.Setenv(duckdb.CrashingVariable, "1")
	dir, err := os.MkdirTemp("", "csm") // short, for the names of sockets are bounded
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	readies, ended := make(chan Ready), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- Run(ctx, Options{
			Data: dir, PostgreSQL: Off, Fabric: "file", RegionBytes: 64 << 20, MemoryBytes: 256 << 20, Node: "local", Threads: 2,
			Log: slog.New(slog.DiscardHandler),
		}, func(r Ready) { readies <- r })
	}()
	await := func() {
		t.Helper()
		select {
		case <-readies:
		case err := <-ended:
			t.Fatal("the node has ended: ", err)
		}
	}
	connect := func() *pgx.Conn {
		t.Helper()
		c, err := pgx.Connect(t.Context(), "host="+dir+" port=5432 user=postgres dbname=csmsql sslmode=disable")
		require.NoError(t, err)
		return c
	}
	exec := func(c *pgx.Conn, sql string) {
		t.Helper()
		_, err := c.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	await()
	exec(connect(), "CREATE TABLE kept AS SELECT i FROM range(1000) r(i)")
	for range 2 { // it can do so more than once
		c := connect()
		exec(c, "CREATE TEMP TABLE mine (a int); BEGIN; INSERT INTO kept VALUES (-1)")
		_, err := connect().Exec(t.Context(), fails)
		require.ErrorContains(t, err, "XX000")
		await()
		_, err = c.Exec(t.Context(), "COMMIT")
		require.Error(t, err)
		if e, told := err.(*pgconn.PgError); told {
			require.Equal(t, "57P01", e.Code)
		}
		require.True(t, c.IsClosed())
		c = connect()
		var n, sum int
		require.NoError(t, c.QueryRow(t.Context(), "SELECT count(*), sum(i)::bigint FROM kept").Scan(&n, &sum))
		require.Equal(t, []int{1000, 499500}, []int{n, sum})
		_, err = c.Exec(t.Context(), "SELECT * FROM mine")
		require.ErrorContains(t, err, "42P01")
	}
	cancel()
	require.NoError(t, <-ended)
}
