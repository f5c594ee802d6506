package duckdb_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// What a database yields is neither DuckDB's nor C code's, until it has it again.
func TestYield(t *testing.T) {
	db, err := duckdb.Open(duckdb.Options{Threads: 1, MemoryBytes: 128 << 20, ProcessBytes: 1 << 30})
	require.NoError(t, err)
	c, err := db.Connect(nil)
	require.NoError(t, err)
	limit := func() string { return ask(t, c, "SELECT current_setting('memory_limit')")[0] }
	require.Equal(t, "128.0 MiB", limit())
	bound := duckdb.Bound()
	require.True(t, db.Yield(28<<20))
	require.Equal(t, "100.0 MiB", limit())
	require.EqualValues(t, 28<<20, bound-duckdb.Bound())
	require.True(t, db.Yield(1<<29))
	require.Equal(t, "16.0 MiB", limit(), "it is left with something")

	require.True(t, db.Yield(0))
	require.Equal(t, "128.0 MiB", limit())
	require.Equal(t, bound, duckdb.Bound())
	require.NoError(t, c.Exec("CREATE TABLE kept AS SELECT range i, hash(range) h FROM range(4_000_000)"))
	require.False(t, db.Yield(100<<20), "without a place to spill to it cannot do with less")
	require.Equal(t, "128.0 MiB", limit())
	require.Equal(t, bound, duckdb.Bound())
	require.False(t, db.Yield(1<<30-1<<20), "C code has more than that")
	require.Equal(t, bound, duckdb.Bound())
	c.Close()
	db.Close()
	require.False(t, db.Yield(1))
}

// Only the node sets how much memory queries have, though the setting is not locked.
func TestMemoryIsTheNodesToSet(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 1, MemoryBytes: 256 << 20})
	for _, sql := range []string{
		"SET memory_limit = '1TB'", "set MAX_memory='1TB'", "RESET memory_limit", "SET GLOBAL \"memory_limit\" = '1TB'", "PRAGMA memory_limit='1TB'",
		"SELECT 1; SET memory_limit = '1TB'", "/* a */ SET/**/memory_limit = '1TB'", "-- a\nSET memory_limit = '1TB'", "\u3000SET memory_limit = '1TB'",
		"EXPLAIN ANALYZE SET memory_limit = '1TB'", "PREPARE p AS SET memory_limit = '1TB'", "((SET memory_limit = '1TB'))", "SET SESSION max_memory TO '1TB'",
	} {
		_, err := tryAsk(c, sql)
		require.Error(t, err, sql)
		require.Equal(t, []string{"256.0 MiB"}, ask(t, c, "SELECT current_setting('memory_limit')"), sql)
	}
	require.NoError(t, c.Exec("CREATE TABLE containers(memory_limit int, max_memory int)"))
	require.NoError(t, c.Exec("UPDATE containers SET memory_limit = 1"))
	require.Equal(t, []string{"0"}, ask(t, c, "SELECT count(memory_limit) FROM containers"))
}
