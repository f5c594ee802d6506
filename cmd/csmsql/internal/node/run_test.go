package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fails is a statement at which DuckDB 1.5 fails inside, so that it takes no statement any more, because it is one that
// writes; its query alone costs itself. When a later DuckDB does not fail, another has to be found.
const (
	fails      = "CREATE TEMP TABLE failing AS " + failsAlone
	failsAlone = "SELECT lead(id ORDER BY id) OVER (ORDER BY ch ROWS BETWEEN 3 FOLLOWING AND 1 FOLLOWING) AS l " +
		"FROM (VALUES (1, 'A'), (2, 'B'), (NULL, 'B')) v(id, ch)"
)

// When DuckDB has failed inside, the node restarts by itself: its clients are disconnected, what was committed is there
// again, what was not is gone, and so are temporary tables, whose names are free.
func TestNodeRestartsWhenDuckDBFails(t *testing.T) {
	dir := shortDirectory(t)
	readies, ended := make(chan Ready), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- Run(ctx, Options{
			Data: dir, PostgreSQL: "127.0.0.1:0", HTTP: "127.0.0.1:0", Fabric: "file", RegionBytes: 64 << 20, MemoryBytes: 256 << 20, Node: "local", Threads: 2,
			Log: slog.New(slog.DiscardHandler),
		}, func(r Ready) { readies <- r })
	}()
	await := func() (r Ready) {
		t.Helper()
		select {
		case r = <-readies:
		case err := <-ended:
			t.Fatal("the node has ended: ", err)
		}
		return r
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
	first := await()
	knocked := knock(t, first)
	exec(connect(), "CREATE TABLE kept AS SELECT i FROM range(1000) r(i)")
	for range 2 { // it can do so more than once
		c := connect()
		exec(c, "CREATE TEMP TABLE mine (a int); BEGIN; INSERT INTO kept VALUES (-1)")
		reader := connect()
		_, err := reader.Exec(t.Context(), failsAlone)
		require.ErrorContains(t, err, "XX000")
		exec(reader, "SELECT 1")
		exec(c, "SELECT * FROM mine")
		_, err = reader.Exec(t.Context(), fails)
		require.ErrorContains(t, err, "XX000")
		again := await()
		require.Equal(t, []string{first.Frontend.Address, first.HTTP}, []string{again.Frontend.Address, again.HTTP})
		_, err = c.Exec(t.Context(), "COMMIT")
		require.Error(t, err)
		if e, ok := err.(*pgconn.PgError); ok {
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
	knocked()
	cancel()
	require.NoError(t, <-ended)
}

// knock connects to every address of a node again and again, until the returned function is called. It requires that
// each connection was accepted, or refused with a reason.
func knock(t *testing.T, r Ready) (stop func()) {
	var all sync.WaitGroup
	over := make(chan struct{})
	again := func(try func() error) {
		all.Go(func() {
			for {
				select {
				case <-over:
					return
				default:
				}
				if err := try(); !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	for way, address := range waysTo(r.Data, r.Frontend.Address) {
		again(func() error {
			conn, err := pgx.Connect(t.Context(), address)
			var pgError *pgconn.PgError
			if errors.As(err, &pgError) && strings.HasPrefix(pgError.Code, "57P0") {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", way, err)
			}
			return conn.Close(t.Context())
		})
	}
	again(func() error {
		conn, err := net.Dial("tcp", r.HTTP)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return func() {
		close(over)
		all.Wait()
	}
}
