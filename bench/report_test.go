package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// What people and programs read; B3: a goal that was missed is there, as missed.
func TestReportGolden(t *testing.T) {
	r := &Report{
		Name:    "example",
		Machine: Machine{CPU: "A Processor", Cores: 2, Memory: "24684092 kB", Kernel: "6.1", Go: "go1.26", Date: "2026-01-02T03:04:05Z", Load: "0.42"},
		Setting: "one thing against another one, with a description that is long enough to be wrapped into the next line of the report, medians of 3 runs",
		Columns: []string{"what", "rows", "ours", "theirs", "ratio"},
		Rows: [][]any{
			{"small", int64(300), 1234567 * time.Nanosecond, 2 * time.Millisecond, 0.617},
			{"Σ large", int64(157286400), 2 * time.Second, 4 * time.Second, 0.5},
			{"", "", "", "", 12345.678},
		},
		Goals: []Goal{
			atMost("small enough", 0.617, 1), atMost("too much", 1.234, 1.03), atLeast("often enough", 323.98, 100), atLeast("too little", 99.9, 100), atMost("nothing", 0, 0),
		},
		Samples: map[string][]time.Duration{"small, ours": {time.Millisecond, 1234567 * time.Nanosecond, 2 * time.Millisecond}},
	}
	require.False(t, r.Met())
	datadriven.RunTest(t, "testdata/report", func(t *testing.T, d *datadriven.TestData) string {
		var b strings.Builder
		switch d.Cmd {
		case "text":
			require.NoError(t, r.Text(&b))
		case "json":
			require.NoError(t, r.JSON(&b))
		case "markdown":
			require.NoError(t, Markdown(&b, "csmsql bench example", "pictures", []*Report{r}))
		default:
			return fmt.Sprintf("what is %q?", d.Cmd)
		}
		return b.String()
	})
}

func TestGoals(t *testing.T) {
	require.True(t, atMost("", 1, 1).Met)
	require.False(t, atMost("", 1.0001, 1).Met)
	require.True(t, atLeast("", 100, 100).Met)
	require.False(t, atLeast("", 99.999, 100).Met)
	require.True(t, (&Report{Goals: []Goal{atMost("", 0, 1), atLeast("", 1, 1)}}).Met())
	require.False(t, (&Report{Goals: []Goal{atMost("", 0, 1), atLeast("", 0, 1)}}).Met())
}

func TestMedians(t *testing.T) {
	require.Equal(t, 2*time.Second, median([]time.Duration{3 * time.Second, time.Second, 2 * time.Second}))
	var d []time.Duration
	for i := range 100 {
		d = append(d, time.Duration(100-i))
	}
	require.Equal(t, time.Duration(100), percentile(d, 99))
	require.Equal(t, time.Duration(51), percentile(d, 50))
	require.Equal(t, time.Duration(1), percentile(d[99:], 99))
	require.InDelta(t, 2, geometricMean([]float64{1, 4}), 1e-12)
}
