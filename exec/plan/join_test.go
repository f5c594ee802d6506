package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/plan"
)

// TestJoins: which scans filter which (P7), one line for each: "t1.a <- u2.a" says that the keys that are left of the second scan's
// a thin out the first one's. The number is the scan's place in the text.
func TestJoins(t *testing.T) {
	resolver := tpch()
	datadriven.RunTest(t, "testdata/joins", func(t *testing.T, d *datadriven.TestData) string {
		tree, err := pg.Parse(d.Input)
		if err != nil {
			return "syntax: " + err.Error() + "\n"
		}
		scans, err := plan.Scans(d.Input, tree, resolver)
		require.NoError(t, err)
		return describeJoins(scans)
	})
}

func describeJoins(scans []plan.Scan) string {
	var b strings.Builder
	name := func(scan, column int) string {
		r := scans[scan].Relation
		return fmt.Sprintf("%s%d.%s", r.Name, scan+1, r.Columns[column].Name)
	}
	for i := range scans {
		for _, j := range scans[i].Joins {
			fmt.Fprintf(&b, "%s <- %s\n", name(i, j.Column), name(j.Other, j.Match))
		}
	}
	if b.Len() == 0 {
		return "none\n"
	}
	return b.String()
}

// A Join never points to its own scan, nor out of the list.
func TestJoinsPointToOtherScans(t *testing.T) {
	resolver := tpch()
	for _, sql := range []string{
		"SELECT * FROM t WHERE a = b", "SELECT * FROM t WHERE t.a = t.a", "SELECT * FROM t x, t y WHERE x.a = y.a AND y.b = x.b",
		"SELECT * FROM t WHERE EXISTS (SELECT 1 FROM t y WHERE y.a = t.a AND y.a = y.b)",
		"WITH q AS (SELECT * FROM t) SELECT * FROM q, u WHERE q.a = u.a",
	} {
		tree, err := pg.Parse(sql)
		require.NoError(t, err)
		scans, err := plan.Scans(sql, tree, resolver)
		require.NoError(t, err)
		for i, s := range scans {
			for _, j := range s.Joins {
				require.NotEqual(t, i, j.Other, sql)
				require.Less(t, j.Other, len(scans), sql)
			}
		}
	}
}
