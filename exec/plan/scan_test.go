package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
)

// TestGolden runs every script in testdata. Commands: scans (what Scans finds), splice (the text after Splice), compute
// (the plan of the compute backend, or why there is none).
func TestGolden(t *testing.T) {
	resolver := tpch()
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			tree, err := pg.Parse(d.Input)
			if err != nil {
				return "syntax: " + err.Error() + "\n"
			}
			switch d.Cmd {
			case "scans":
				return describeScans(d.Input, tree, resolver)
			case "compute":
				return describePlan(d.Input, tree, resolver)
			case "splice":
				return spliced(d.Input, tree, resolver)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

func describeScans(sql string, tree *pg.ParseResult, resolver plan.Resolver) string {
	scans, err := plan.Read(sql, tree, resolver).Scans()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for i := range scans {
		b.WriteString(scans[i].String())
		b.WriteString("\n")
	}
	return b.String()
}

func spliced(sql string, tree *pg.ParseResult, resolver plan.Resolver) string {
	scans, err := plan.Read(sql, tree, resolver).Scans()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	spliced, _ := plan.Splice(sql, scans, func(i int, s *plan.Scan) string {
		return fmt.Sprintf("csm_scan('%s', %d)", s.Relation.Name, i)
	})
	return spliced + "\n"
}

func describePlan(sql string, tree *pg.ParseResult, resolver plan.Resolver) string {
	q, unsupported := plan.Read(sql, tree, resolver).Compute()
	if unsupported != nil {
		return "unsupported: " + unsupported.String() + "\n"
	}
	out := q.String()
	if q.Trivial() {
		out += "trivial\n"
	}
	return out
}
