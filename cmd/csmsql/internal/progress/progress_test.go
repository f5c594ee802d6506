package progress_test

import (
	"bytes"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/cmd/csmsql/internal/progress"
)

func TestCount(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", -999: "-999", math.MaxInt64: "9,223,372,036,854,775,807"} {
		require.Equal(t, want, progress.Count(n))
	}
}

func TestCounted(t *testing.T) {
	for n, want := range map[int64]string{0: "0 tables", 1: "1 table", 2: "2 tables", 1000: "1,000 tables"} {
		require.Equal(t, want, progress.Counted(n, "table"))
	}
}

// TestLines: without a terminal, every step has one line when it is finished, in whatever order its reports came.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	d := progress.New(&out)
	var workers sync.WaitGroup
	for i := range int64(8) {
		workers.Go(func() { d.Report(noderpc.Progress{Step: "lineitem", Rows: 1000 * (i + 1), RowsTotal: 8000}) })
	}
	workers.Wait()
	d.Report(noderpc.Progress{Step: "unknown.csv", Rows: 5})
	d.Report(noderpc.Progress{Step: "lineitem", Rows: 8000, RowsTotal: 8000})
	d.Finish(false)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 2, out.String())
	require.Contains(t, lines[0], "lineitem         8,000 rows in ")
	require.Contains(t, lines[1], "unknown.csv      5 rows in ")
}

// TestGivenUp: a failed load claims nothing.
func TestGivenUp(t *testing.T) {
	var out bytes.Buffer
	d := progress.New(&out)
	d.Report(noderpc.Progress{Step: "orders", Rows: 5, RowsTotal: 10})
	d.Finish(true)
	require.Empty(t, out.String())
}
