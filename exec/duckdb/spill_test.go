package duckdb_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// D11, SPD1: databases that spill to one directory do not meet there: DuckDB's files have the same names in all of
// them.
func TestDatabasesSpillApart(t *testing.T) {
	directory := t.TempDir()
	var group sync.WaitGroup
	for _, rows := range []string{"3000000", "3500000", "4000000"} {
		c := openWith(t, duckdb.Options{Threads: 1, MemoryBytes: 64 << 20, SpillDirectory: directory})
		group.Go(func() {
			for range 3 {
				got, err := c.Texts(t.Context(), "SELECT (SELECT count(DISTINCT h) FROM (SELECT hash(i) AS h FROM range("+rows+") r(i)))::VARCHAR")
				if err != nil || len(got) != 1 || got[0] != rows {
					t.Errorf("%s: %v %v", rows, got, err)
				}
			}
		})
	}
	group.Wait()
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Len(t, entries, 3)
}

// D11, SPD1: what a killed process has spilled goes when the next database is opened there; what a living one spills stays.
func TestAbandonedSpillsGo(t *testing.T) {
	directory := t.TempDir()
	abandoned := filepath.Join(directory, "database-1")
	require.NoError(t, os.Mkdir(abandoned, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(abandoned, "duckdb_temp_storage_DEFAULT-0.tmp"), []byte("rows"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "note"), nil, 0o600))
	for range 2 {
		openWith(t, duckdb.Options{Threads: 1, SpillDirectory: directory})
	}
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Len(t, entries, 3, "two living ones, and what is none of ours")
	require.NoDirExists(t, abandoned)
	db, err := duckdb.Open(duckdb.Options{Threads: 1, SpillDirectory: directory})
	require.NoError(t, err)
	db.Close()
	entries, err = os.ReadDir(directory)
	require.NoError(t, err)
	require.Len(t, entries, 3)
}
