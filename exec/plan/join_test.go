package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
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
		scans, err := plan.Read(d.Input, tree, resolver).Scans()
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
		scans, err := plan.Read(sql, tree, resolver).Scans()
		require.NoError(t, err)
		for i, s := range scans {
			for _, j := range s.Joins {
				require.NotEqual(t, i, j.Other, sql)
				require.Less(t, j.Other, len(scans), sql)
			}
		}
	}
}

// P7 through a column between: what equals it equals what it equals only where equality is that of one type, or of integers.
func TestJoinsThroughAColumnBetween(t *testing.T) {
	integers := []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
	}
	others := []plan.Column{
		{Type: arrow.FixedWidthTypes.Boolean}, {Type: arrow.PrimitiveTypes.Float32}, {Type: arrow.PrimitiveTypes.Float64},
		{Type: &arrow.Decimal64Type{Precision: 4, Scale: 1}}, {Type: &arrow.Decimal64Type{Precision: 18}}, {Type: &arrow.Decimal64Type{Precision: 18, Scale: 3}},
		{Type: &arrow.Decimal128Type{Precision: 38}}, {Type: arrow.BinaryTypes.String}, {Type: arrow.BinaryTypes.String, Mark: "arrow.json"},
		{Type: arrow.FixedWidthTypes.Date32}, {Type: &arrow.TimestampType{Unit: arrow.Second}}, {Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
		{Type: &arrow.TimestampType{Unit: arrow.Nanosecond}}, {Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}},
		{Type: arrow.FixedWidthTypes.Time64us}, {Type: arrow.FixedWidthTypes.MonthDayNanoInterval}, {Type: arrow.BinaryTypes.Binary},
		{Type: arrow.BinaryTypes.Binary, Mark: "arrow.opaque bit"}, {Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}, Mark: "arrow.uuid"},
		{Type: &arrow.FixedSizeBinaryType{ByteWidth: 16}, Mark: "arrow.opaque uhugeint"},
	}
	types := others
	for _, i := range integers {
		types = append(types, plan.Column{Type: i})
	}
	same := func(a, b plan.Column) bool {
		return a.Mark == b.Mark && (arrow.TypeEqual(a.Type, b.Type) || arrow.IsInteger(a.Type.ID()) && arrow.IsInteger(b.Type.ID()))
	}
	const sql = "SELECT * FROM a, b, c WHERE a.k = b.k AND b.k = c.k"
	tree, err := pg.Parse(sql)
	require.NoError(t, err)
	for _, first := range types {
		for _, between := range types {
			for _, last := range types {
				scans, err := plan.Read(sql, tree, plan.ResolverFunc(func(_, _, table string) *plan.Relation {
					column := map[string]plan.Column{"a": first, "b": between, "c": last}[table]
					column.Name = "k"
					return &plan.Relation{Name: table, Columns: []plan.Column{column}}
				})).Scans()
				require.NoError(t, err)
				want := "a1.k <- b2.k\nb2.k <- a1.k\nb2.k <- c3.k\nc3.k <- b2.k\n"
				if same(first, between) && same(between, last) {
					want = "a1.k <- b2.k\na1.k <- c3.k\nb2.k <- a1.k\nb2.k <- c3.k\nc3.k <- b2.k\nc3.k <- a1.k\n"
				}
				require.Equal(t, want, describeJoins(scans), "%v, %v, %v", first, between, last)
			}
		}
	}
}
