package engine_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// An attached process asks for tables when it needs them, and finds those of its snapshot: each commit drops the one
// table of the row that is its name and makes another one, and a block finds one, its rows, and no other, also while
// more are made and dropped.
func TestAttachedLooksTablesUpInItsSnapshot(t *testing.T) {
	t.Parallel()
	node, socket := lend(t)
	s := session(t, node)
	exec(t, s, "CREATE TABLE g0 AS SELECT 0 AS n; CREATE TABLE \"Mixed\" AS SELECT 7 AS a; CREATE VIEW v AS SELECT a FROM \"Mixed\"")
	var stop atomic.Bool
	changed := make(chan error, 1)
	go func() {
		var err error
		for n := 1; !stop.Load() && err == nil; n++ {
			_, err = s.Exec(t.Context(), fmt.Sprintf("BEGIN; DROP TABLE g%d; CREATE TABLE g%d AS SELECT %d AS n; COMMIT", n-1, n, n))
		}
		changed <- err
	}()
	e, err := engine.AttachWith(t.Context(), socket, attachedConfig())
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	seen := map[string]bool{}
	for range 40 {
		a := session(t, e)
		require.Equal(t, []string{"7"}, rows(t, a, "SELECT a FROM mixed"))
		require.Equal(t, []string{"7"}, rows(t, a, "SELECT a FROM v"))
		_, err := a.Exec(t.Context(), "SELECT * FROM nowhere")
		require.Equal(t, "42P01", sqlState(err), "%v", err)
		exec(t, a, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ")
		names := rows(t, a, "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'g%'")
		require.Len(t, names, 1)
		require.Equal(t, []string{strings.TrimPrefix(names[0], "g")}, rows(t, a, "SELECT n FROM "+names[0]))
		seen[names[0]] = true
		exec(t, a, "COMMIT")
		require.NoError(t, a.Close())
	}
	stop.Store(true)
	require.NoError(t, <-changed)
	require.Greater(t, len(seen), 1, "tables were made and dropped meanwhile")
}

// A node that is gone when a table is asked for is an error that says so, and the table is not said to be missing.
func TestTablesOfANodeThatIsGone(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	config := engine.Config{Directory: directory, RegionDirectory: shmDirectory(t), RegionBytes: 64 << 20, Node: "alone"}
	e, err := engine.Open(t.Context(), config)
	require.NoError(t, err)
	socket := directory + "/csmsql.sock"
	end, err := serve(e, socket)
	require.NoError(t, err)
	s := session(t, e)
	exec(t, s, "CREATE TABLE a AS SELECT 1 AS n; CREATE TABLE b AS SELECT 2 AS n")
	guest, err := engine.AttachWith(t.Context(), socket, attachedConfig())
	require.NoError(t, err)
	defer func() { require.NoError(t, guest.Close()) }()
	in := session(t, guest)
	require.Equal(t, []string{"1"}, rows(t, in, "SELECT n FROM a"))
	require.NoError(t, s.Close())
	require.NoError(t, end())
	require.NoError(t, e.Close())
	_, err = in.Exec(t.Context(), "SELECT n FROM c")
	require.Contains(t, []string{"08001", "08006", "72000", "57P01"}, sqlState(err), "%v", err)
	e, err = engine.Open(t.Context(), config)
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	end, err = serve(e, socket)
	require.NoError(t, err)
	defer func() { require.NoError(t, end()) }()
	require.Equal(t, []string{"2"}, rows(t, in, "SELECT n FROM b"), "of its next process")
}
