package duckdb_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// D8: a statement that is interrupted while it is planned is refused memory, but not inside functions that catch
// nothing: a table's type that was made meanwhile (duckdb_create_enum_type) ended the process.
func TestAnInterruptWhileATableIsBound(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("DuckDB's planner is led past planning.c on amd64 only")
	}
	words := make([]string, 1000)
	for i := range words {
		words[i] = fmt.Sprintf("a word that is too long to lie in a string of sixteen bytes %d", i)
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	db, err := duckdb.Open(duckdb.Options{Threads: 1})
	require.NoError(t, err)
	defer db.Close()
	var c *duckdb.Connection
	bound := false
	c, err = db.Connect(func(string, string) (*duckdb.Scan, error) {
		bound = true
		c.Interrupt()
		s := scanOf(schema)
		s.Domains = map[int][]string{0: words}
		return s, nil
	})
	require.NoError(t, err)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := c.Hear(ctx)
	_, err = c.Prepare("SELECT * FROM csm_table('public', 't') a, csm_table('public', 't') b")
	done()
	require.Error(t, err)
	require.True(t, bound)
	require.Equal(t, []string{"1"}, ask(t, c, "SELECT 1"))
}

// Nor are they inside functions that Go calls: a parameter's text, or what a function of Go's answers, is a block like
// any other, and refused before.
func TestLargeTextsOfGoAreRefused(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector's own memory cannot be distinguished")
	}
	refused := []string{
		"SELECT length(csm_json(repeat('x', 50000000 + i::int)::VARCHAR)) FROM range(1) r(i)",
		"SELECT length($1::VARCHAR) with a text of 300000000",
	}
	for _, sql := range refused {
		out := runMeasured(t, sql, "SELECT length($1::VARCHAR) with a text of 1000000", "SELECT 1")
		t.Logf("at most %d MiB: %s", out[0].PeakOwn>>20, out[0].Message)
		require.Equal(t, "53200", out[0].State, out[0].Message)
		require.LessOrEqual(t, out[0].PeakOwn, int64(given))
		require.Equal(t, []string{"1000000"}, out[1].Rows, out[1].Message)
		require.Equal(t, []string{"1"}, out[2].Rows)
	}
}
