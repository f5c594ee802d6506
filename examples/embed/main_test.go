package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	directory := t.TempDir()
	for range 2 { // the second time the table is there
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), &out, directory))
		require.Equal(t, "rest 0: 333323 rows\nrest 1: 333322 rows\nrest 2: 333323 rows\n", out.String())
	}
}
