package plan_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/exec/plan"
)

// domains are the column types whose chunks are drawn, each with its few values, so that bounds and constants meet often.
var domains = []struct {
	t      arrow.DataType
	values []plan.Value
	consts []plan.Value
}{
	{arrow.PrimitiveTypes.Int32,
		[]plan.Value{plan.IntValue(-2), plan.IntValue(0), plan.IntValue(1), plan.IntValue(7)},
		[]plan.Value{plan.IntValue(0), plan.IntValue(1), decimal("0.5"), decimal("7.00"), plan.DoubleValue(1), plan.DoubleValue(6.5)}},
	{&arrow.Decimal128Type{Precision: 15, Scale: 2},
		[]plan.Value{decimal("-1.50"), decimal("0.05"), decimal("0.07"), decimal("24.00")},
		[]plan.Value{decimal("0.05"), decimal("0.055"), plan.IntValue(24), decimal("24.000"), plan.DoubleValue(0.07)}},
	{arrow.PrimitiveTypes.Float64,
		[]plan.Value{plan.DoubleValue(math.Inf(-1)), plan.DoubleValue(math.Copysign(0, -1)), plan.DoubleValue(0), plan.DoubleValue(2.5), plan.DoubleValue(math.NaN())},
		[]plan.Value{plan.DoubleValue(0), plan.DoubleValue(math.NaN()), plan.DoubleValue(2.5), plan.DoubleValue(math.Inf(1))}},
	{arrow.BinaryTypes.String,
		[]plan.Value{plan.TextValue(""), plan.TextValue("ab"), plan.TextValue("abc"), plan.TextValue("b"), plan.TextValue("ab\xff")},
		[]plan.Value{plan.TextValue("ab"), plan.TextValue("a"), plan.TextValue("b"), plan.TextValue("\xff")}},
	{arrow.FixedWidthTypes.Date32,
		[]plan.Value{plan.DateValue(0), plan.DateValue(10), plan.DateValue(math.MaxInt32), plan.DateValue(math.MinInt32)},
		[]plan.Value{plan.DateValue(10), plan.TimestampValue(864000000000), plan.TimestampValue(864000000001), plan.TimestampValue(0)}},
	{arrow.FixedWidthTypes.Boolean,
		[]plan.Value{plan.BoolValue(false), plan.BoolValue(true)}, []plan.Value{plan.BoolValue(true), plan.BoolValue(false)}},
}

func decimal(s string) plan.Value {
	whole, fraction, _ := strings.Cut(s, ".")
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok {
		panic(s)
	}
	return plan.DecimalValue(decimal128.FromBigInt(n), int32(len(fraction)))
}

// satisfies is the naive answer for one value, without any statistics: rationals for numbers, bytes for text.
func satisfies(p plan.Predicate, v plan.Value) bool {
	null := v.Kind() == plan.Null
	switch p.Op {
	case plan.IsNull:
		return null
	case plan.IsNotNull:
		return !null
	case plan.Prefix:
		begins := func(c plan.Value) bool { return strings.HasPrefix(v.Text(), c.Text()) }
		return !null && slices.ContainsFunc(p.Values, begins)
	case plan.Between:
		return naive(plan.GreaterEqual, v, p.Values[0]) && naive(plan.LessEqual, v, p.Values[1])
	case plan.In:
		for _, c := range p.Values {
			if naive(plan.Equal, v, c) {
				return true
			}
		}
		return false
	}
	return naive(p.Op, v, p.Values[0])
}

func naive(op plan.Op, v, c plan.Value) bool {
	if v.Kind() == plan.Null || c.Kind() == plan.Null {
		return false
	}
	order := naiveOrder(v, c)
	return map[plan.Op]bool{plan.Equal: order == 0, plan.NotEqual: order != 0, plan.Less: order < 0,
		plan.LessEqual: order <= 0, plan.Greater: order > 0, plan.GreaterEqual: order >= 0}[op]
}

func naiveOrder(v, c plan.Value) int {
	if v.Kind() == plan.Text {
		return strings.Compare(v.Text(), c.Text())
	}
	vf, vr := line(v)
	cf, cr := line(c)
	if v.Kind() != plan.Double && c.Kind() != plan.Double {
		return vr.Cmp(cr)
	}
	// beside a DOUBLE everything is one; NaN is above all and equals itself
	switch {
	case math.IsNaN(vf) || math.IsNaN(cf):
		return map[[2]bool]int{{true, false}: 1, {false, true}: -1}[[2]bool{math.IsNaN(vf), math.IsNaN(cf)}]
	case vf < cf:
		return -1
	case vf > cf:
		return 1
	}
	return 0
}

// line puts a value on the rational line, nil where it is not on it, and gives the nearest double.
func line(v plan.Value) (float64, *big.Rat) {
	switch v.Kind() {
	case plan.Exact:
		n, scale := v.Decimal()
		r := new(big.Rat).SetFrac(n.BigInt(), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil))
		f, _ := r.Float64()
		return f, r
	case plan.Double:
		return v.Float(), new(big.Rat).SetFloat64(v.Float())
	case plan.Date:
		return 0, new(big.Rat).SetInt(new(big.Int).Mul(big.NewInt(v.Int()), big.NewInt(86400_000000)))
	}
	return 0, new(big.Rat).SetInt64(v.Int())
}

// statsOf describes a chunk, leaving out at random what a catalog may not know, and widening bounds, which it may.
func statsOf(t *rapid.T, values []plan.Value) plan.ColumnStats {
	s := plan.ColumnStats{Rows: int64(len(values)), NaNFree: true, NullsKnown: rapid.Bool().Draw(t, "nulls known")}
	for _, v := range values {
		switch {
		case v.Kind() == plan.Null:
			s.Nulls++
			continue
		case v.Kind() == plan.Double && math.IsNaN(v.Float()):
			s.NaNFree = false
			continue
		}
		if s.Min.Kind() == plan.Unknown || naiveOrder(v, s.Min) < 0 {
			s.Min = v
		}
		if s.Max.Kind() == plan.Unknown || naiveOrder(v, s.Max) > 0 {
			s.Max = v
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "no min") == 0 {
		s.Min = plan.Value{}
	} else if s.Min.Kind() == plan.Text && rapid.Bool().Draw(t, "cut") {
		s.Min = plan.TextValue(s.Min.Text()[:len(s.Min.Text())/2])
	}
	if rapid.IntRange(0, 4).Draw(t, "no max") == 0 {
		s.Max = plan.Value{}
	} else if s.Max.Kind() == plan.Text && rapid.Bool().Draw(t, "widened") {
		s.Max = plan.TextValue(s.Max.Text() + "\xff")
	}
	return s
}

// TestMayMatchNeverLies attacks P1: if MayMatch says no, no row of the chunk satisfies the predicate. And it must not be
// useless: it says no often.
func TestMayMatchNeverLies(t *testing.T) {
	refused := 0
	rapid.Check(t, func(rt *rapid.T) {
		d := domains[rapid.IntRange(0, len(domains)-1).Draw(rt, "domain")]
		var chunk []plan.Value
		for range rapid.IntRange(0, 4).Draw(rt, "rows") {
			v := rapid.SampledFrom(append([]plan.Value{plan.NullValue()}, d.values...)).Draw(rt, "value")
			chunk = append(chunk, v)
		}
		stats := statsOf(rt, chunk)
		for op := plan.Equal; op <= plan.Prefix; op++ {
			p := plan.Predicate{Name: "c", Type: d.t, Op: op}
			for range map[plan.Op]int{plan.IsNull: 0, plan.IsNotNull: 0, plan.Between: 2, plan.In: 3, plan.Prefix: 2}[op] + oneValue(op) {
				p.Values = append(p.Values, rapid.SampledFrom(append([]plan.Value{plan.NullValue()}, d.consts...)).Draw(rt, "constant"))
			}
			isNull := func(v plan.Value) bool { return v.Kind() == plan.Null }
			if op == plan.Prefix && (d.t.ID() != arrow.STRING || slices.ContainsFunc(p.Values, isNull)) {
				continue
			}
			if p.MayMatch(stats) {
				continue
			}
			refused++
			for _, v := range chunk {
				require.False(rt, satisfies(p, v), "%s says no to %v, but %s satisfies it", p, stats, v)
			}
		}
	})
	require.Greater(t, refused, 100)
}

func oneValue(op plan.Op) int {
	switch op {
	case plan.IsNull, plan.IsNotNull, plan.Between, plan.In, plan.Prefix:
		return 0
	}
	return 1
}

// TestMayMatchKnowsNothing: the zero statistics never leave a chunk out, except for a comparison with NULL.
func TestMayMatchKnowsNothing(t *testing.T) {
	for _, d := range domains {
		for op := plan.Equal; op <= plan.IsNotNull; op++ {
			p := plan.Predicate{Name: "c", Type: d.t, Op: op, Values: []plan.Value{d.consts[0], d.consts[0]}}
			require.True(t, p.MayMatch(plan.ColumnStats{}), p.String())
			p.Values = []plan.Value{{}, {}}
			require.True(t, p.MayMatch(plan.ColumnStats{Rows: 1, Min: d.values[0], Max: d.values[0]}), "unknown constant: %v", op)
		}
	}
	null := plan.Predicate{Name: "c", Type: domains[0].t, Op: plan.Equal, Values: []plan.Value{plan.NullValue()}}
	require.False(t, null.MayMatch(plan.ColumnStats{}))
}

// TestMayMatchDecides lists cases in which pruning must work, or the hints are worth nothing.
func TestMayMatchDecides(t *testing.T) {
	ints := plan.ColumnStats{Rows: 10, NullsKnown: true, Min: plan.IntValue(10), Max: plan.IntValue(20)}
	reals := plan.ColumnStats{Rows: 10, Min: plan.DoubleValue(10), Max: plan.DoubleValue(20)}
	same := plan.ColumnStats{Rows: 10, Min: plan.TextValue("abc"), Max: plan.TextValue("abc")}
	number, real, text := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String
	for _, c := range []struct {
		t      arrow.DataType
		stats  plan.ColumnStats
		op     plan.Op
		values []plan.Value
		want   bool
	}{
		{number, ints, plan.Equal, []plan.Value{plan.IntValue(9)}, false},
		{number, ints, plan.Equal, []plan.Value{plan.IntValue(21)}, false},
		{number, ints, plan.Equal, []plan.Value{plan.IntValue(15)}, true},
		{number, ints, plan.Less, []plan.Value{plan.IntValue(10)}, false},
		{number, ints, plan.LessEqual, []plan.Value{plan.IntValue(10)}, true},
		{number, ints, plan.Greater, []plan.Value{plan.IntValue(20)}, false},
		{number, ints, plan.GreaterEqual, []plan.Value{decimal("20.5")}, false},
		{number, ints, plan.In, []plan.Value{plan.IntValue(1), plan.IntValue(30)}, false},
		{number, ints, plan.Between, []plan.Value{plan.IntValue(21), plan.IntValue(30)}, false},
		{number, ints, plan.IsNull, nil, false},
		{real, reals, plan.Greater, []plan.Value{plan.DoubleValue(20)}, true}, // a NaN may hide there
		{real, reals, plan.Between, []plan.Value{plan.DoubleValue(21), plan.DoubleValue(30)}, false},
		{real, reals, plan.Equal, []plan.Value{plan.DoubleValue(21)}, false},
		{real, reals, plan.Less, []plan.Value{plan.DoubleValue(10)}, false},
		{real, reals, plan.Equal, []plan.Value{plan.DoubleValue(math.NaN())}, true},
		{text, same, plan.NotEqual, []plan.Value{plan.TextValue("abc")}, false},
		{text, same, plan.Prefix, []plan.Value{plan.TextValue("ab")}, true},
		{text, same, plan.Prefix, []plan.Value{plan.TextValue("ac")}, false},
		{text, same, plan.Prefix, []plan.Value{plan.TextValue("aa")}, false},
		{text, same, plan.Prefix, []plan.Value{plan.TextValue("aa"), plan.TextValue("ac")}, false},
		{text, same, plan.Prefix, []plan.Value{plan.TextValue("aa"), plan.TextValue("a")}, true},
	} {
		p := plan.Predicate{Name: "c", Type: c.t, Op: c.op, Values: c.values}
		require.Equal(t, c.want, p.MayMatch(c.stats), "%s in %v", p, c.stats)
	}
}

// TestBind: a parameter prunes once its value is known and certain, never before, never otherwise.
func TestBind(t *testing.T) {
	stats := plan.ColumnStats{Rows: 10, Min: plan.IntValue(10), Max: plan.IntValue(20)}
	p := plan.Predicate{Name: "c", Type: arrow.PrimitiveTypes.Int32, Op: plan.Equal, Values: []plan.Value{plan.ParameterValue(2)}}
	require.True(t, p.MayMatch(stats))
	for _, c := range []struct {
		args []plan.Value
		want bool
	}{
		{[]plan.Value{{}, plan.IntValue(5)}, false},
		{[]plan.Value{{}, plan.IntValue(15)}, true},
		{[]plan.Value{{}, plan.NullValue()}, false},
		{[]plan.Value{{}, decimal("5.5")}, true},      // DuckDB would round it to the column's type first
		{[]plan.Value{{}, plan.TextValue("5")}, true}, // and read this one
		{[]plan.Value{{}, plan.DoubleValue(5)}, true}, //
		{[]plan.Value{plan.IntValue(5)}, true},        // no $2 at all
	} {
		require.Equal(t, c.want, p.Bind(c.args).MayMatch(stats), fmt.Sprint(c.args))
	}
	require.Equal(t, plan.Parameter, p.Values[0].Kind(), "Bind changed its receiver")
}
