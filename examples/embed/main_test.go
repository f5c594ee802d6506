package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/internal/shmdir"
)

func TestRun(t *testing.T) {
	config := engine.Config{
		Directory: t.TempDir(), RegionDirectory: shmdir.For(t), RegionBytes: 64 << 20, MemoryBytes: 256 << 20,
	}
	for range 2 { // the second time the table is there
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out, config))
		require.Equal(t, "rest 0: 333323 rows\nrest 1: 333322 rows\nrest 2: 333323 rows\n", out.String())
	}
}
