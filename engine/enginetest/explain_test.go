package enginetest

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
)

// TestExplain: what EXPLAIN says of the engine's own part: which backend, which chunks, which keys, which ENUMs. DuckDB's
// tree below it is DuckDB's business and left out.
func TestExplain(t *testing.T) {
	e := openEngine(t)
	s := openSession(t, e)
	datadriven.RunTest(t, "testdata/explain", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "exec":
			_, err := s.session.Exec(context.Background(), d.Input)
			require.NoError(t, err)
			return ""
		case "explain":
			o := s.query("EXPLAIN "+d.Input, nil)
			if o.state != "" {
				return o.state + " " + o.message + "\n"
			}
			return ourPart(o.rows)
		}
		d.Fatalf(t, "unknown command %q", d.Cmd)
		return ""
	})
}

var number = regexp.MustCompile(`csm_scan\(\d+\)`)

func ourPart(lines []string) string {
	var out strings.Builder
	for _, l := range lines {
		if strings.HasPrefix(l, "┌") || strings.TrimSpace(l) == "" {
			break
		}
		out.WriteString(number.ReplaceAllString(l, "csm_scan(n)") + "\n")
	}
	return out.String()
}
