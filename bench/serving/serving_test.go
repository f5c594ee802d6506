package serving

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPostgresIsFound(t *testing.T) {
	_, err := FindPostgres(t.TempDir())
	require.ErrorIs(t, err, ErrNoPostgres)
	require.ErrorContains(t, err, "apt-get install")
	dir := filepath.Join(t.TempDir(), "16", "bin")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o755))
	}
	found, err := FindPostgres(dir)
	require.NoError(t, err)
	require.Equal(t, dir, found)
	require.Equal(t, 16, majorOf(dir))
}

// BS1: what ends at its start says why, and leaves no directory.
func TestAServerThatDoesNotStart(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	program := filepath.Join(t.TempDir(), "csmsql")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\necho there is no region >&2\nexit 3\n"), 0o755))
	_, err := Product{Command: program, Threads: 1}.Start(t.Context(), "--fabric", "file")
	require.ErrorContains(t, err, "csmsql ended at its start: exit status 3\nit said: there is no region")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

// Of what a process says only the end is kept.
func TestTail(t *testing.T) {
	var said Tail
	require.Empty(t, said.Text())
	for range 3 {
		_, err := said.Write([]byte(strings.Repeat("x", tailBytes)))
		require.NoError(t, err)
	}
	_, err := said.Write([]byte("the end\n"))
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(said.Text(), "xthe end"))
	require.Less(t, len(said.Text()), tailBytes+len("\nit said: ")+1)
}
