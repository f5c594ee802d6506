package filter_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/filter"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
)

func at(v int64) *int64 { return &v }

func of(op plan.Op, t arrow.DataType, values ...plan.Value) plan.Predicate {
	return plan.Predicate{Column: 1, Type: t, Op: op, Values: values}
}

// FL1, FL2.
func TestPredicates(t *testing.T) {
	integer, money := arrow.PrimitiveTypes.Int32, &arrow.Decimal64Type{Precision: 12, Scale: 2}
	for _, c := range []struct {
		from      plan.Predicate
		low, high *int64
		none      bool
	}{
		{from: of(plan.Equal, integer, plan.IntValue(7)), low: at(7), high: at(7)},
		{from: of(plan.Less, integer, plan.IntValue(7)), high: at(7)}, // bounds are inclusive, and the WHERE is asked again
		{from: of(plan.GreaterEqual, integer, plan.IntValue(7)), low: at(7)},
		{from: of(plan.Between, integer, plan.IntValue(-1), plan.IntValue(7)), low: at(-1), high: at(7)},
		{from: of(plan.Equal, integer, plan.ParameterValue(0)), none: true},
		{from: of(plan.Equal, integer, plan.NullValue()), none: true},
		{from: of(plan.LessEqual, money, plan.DecimalValue(decimal128.FromI64(15), 1)), high: at(150)},
		{from: of(plan.LessEqual, money, plan.DecimalValue(decimal128.FromI64(1509), 3)), high: at(150)},
		{from: of(plan.GreaterEqual, money, plan.DecimalValue(decimal128.FromI64(1501), 3)), low: at(151)},
	} {
		got := filter.Of(&plan.Scan{Predicates: []plan.Predicate{c.from}})
		if c.none {
			require.Empty(t, got, "%v", c.from)
			continue
		}
		require.Equal(t, []duckdb.Filter{{Column: 1, Low: c.low, High: c.high}}, got, "%v", c.from)
	}
}

func TestTexts(t *testing.T) {
	less := filter.Of(&plan.Scan{Predicates: []plan.Predicate{of(plan.Less, arrow.BinaryTypes.String, plan.TextValue("m"))}})
	require.Len(t, less, 1)
	require.True(t, less[0].Keep("a"))
	require.False(t, less[0].Keep("m"))
	prefix := filter.Of(&plan.Scan{Predicates: []plan.Predicate{of(plan.Prefix, arrow.BinaryTypes.String, plan.TextValue("ab"))}})
	require.Equal(t, []duckdb.Word{{Text: "ab", Prefix: true}}, prefix[0].Words)
}

// What one of several branches says of a column holds of no row by itself: bounds are those of all branches together, and a branch that says
// nothing of the column leaves it open.
func TestAnyOf(t *testing.T) {
	integer := arrow.PrimitiveTypes.Int64
	one := []plan.Predicate{of(plan.Between, integer, plan.IntValue(1), plan.IntValue(5)), of(plan.LessEqual, integer, plan.IntValue(3))}
	two := []plan.Predicate{of(plan.Equal, integer, plan.IntValue(9))}
	got := filter.Of(&plan.Scan{AnyOf: [][][]plan.Predicate{{one, two}}})
	require.Equal(t, []duckdb.Filter{{Column: 1, Low: at(1), High: at(9)}}, got)
	elsewhere := of(plan.Equal, integer, plan.IntValue(0))
	elsewhere.Column = 2
	require.Empty(t, filter.Of(&plan.Scan{AnyOf: [][][]plan.Predicate{{one, {elsewhere}}}}))
}

func TestComparisons(t *testing.T) {
	got := filter.Of(&plan.Scan{Comparisons: []plan.Comparison{{Left: 1, Op: plan.Greater, Right: 2}}})
	require.Equal(t, []duckdb.Filter{{Column: 2, Compare: duckdb.Less, Other: 1}}, got)
}
