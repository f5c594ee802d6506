package duckdb_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// A window over all rows does not fail because one of the threads that made them had none (duckdb/duckdb#22846 and #25713): that ends the database,
// and every session with it. When DuckDB is right by itself, chunks.c can go.
func TestWindowOverFewRows(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 8})
	const input = `WITH a AS (SELECT i AS x FROM range(1) t(i)),
		b AS (SELECT * FROM a WHERE x >= 5000 UNION ALL SELECT * FROM a WHERE NOT EXISTS (SELECT 1 FROM a WHERE x >= 5000))`
	for range 1000 {
		require.Equal(t, []string{"1"}, ask(t, c, input+" SELECT count(*) OVER () FROM b ORDER BY x DESC LIMIT 5"))
	}
}

// Rows keep their order and number, however many of the parts that they come in are empty.
func TestWindowOverEmptyParts(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 4})
	for _, sizes := range [][]int{{0, 3}, {3, 0}, {1, 0, 2}, {0, 0, 5000, 0, 1}, {2048, 0, 2048}, {0, 0}, {0}} {
		input, total := "", 0
		for n, size := range sizes {
			if n > 0 {
				input += " UNION ALL "
			}
			input += fmt.Sprintf("SELECT i + %d AS i FROM range(10000) r(i) WHERE i < %d", total, size)
			total += size
		}
		const expected = "SELECT count(*), coalesce(bool_and(i = place AND n = %d), true) FROM (SELECT i, row_number() OVER () - 1 AS place, count(*) OVER () AS n FROM (%s))"
		require.Equal(t, []string{fmt.Sprintf("%d|true", total)}, ask(t, c, fmt.Sprintf(expected, total, input)), "%v", sizes)
	}
}
