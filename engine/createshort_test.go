package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// Where DuckDB is asked what a word of CREATE TABLE is, its answer that there is no memory says nothing about the word.
func TestNoMemoryIsNoUnknownType(t *testing.T) {
	for state, handed := range map[string]bool{"53200": true, "57014": true, "58030": true, "XX000": true, "42704": false, "22P02": false, "0A000": false, "": false} {
		got := engine.Shortage(fmt.Errorf("prepare: %w", &duckdb.Error{State: state, Message: "why"}))
		require.Equal(t, handed, got != nil, state)
		if handed {
			require.Equal(t, state, got.SQLState())
			require.Contains(t, got.Error(), "why")
		}
	}
	require.Nil(t, engine.Shortage(nil))
}
