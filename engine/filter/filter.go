package filter

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/plan"
)

// Of says what a hint proves of single rows as filters of its scan.
func Of(hint *plan.Scan) []duckdb.Filter {
	out := filters(hint.Predicates)
	for _, c := range hint.Comparisons {
		out = append(out, comparisonFilter(c))
	}
	for _, branches := range hint.AnyOf {
		out = append(out, anyOf(branches)...)
	}
	return out
}

func comparisonFilter(c plan.Comparison) duckdb.Filter {
	switch c.Op {
	case plan.Less:
		return duckdb.Filter{Column: c.Left, Compare: duckdb.Less, Other: c.Right}
	case plan.LessEqual:
		return duckdb.Filter{Column: c.Left, Compare: duckdb.LessEqual, Other: c.Right}
	case plan.Greater:
		return duckdb.Filter{Column: c.Right, Compare: duckdb.Less, Other: c.Left}
	case plan.GreaterEqual:
		return duckdb.Filter{Column: c.Right, Compare: duckdb.LessEqual, Other: c.Left}
	case plan.NotEqual:
		return duckdb.Filter{Column: c.Left, Compare: duckdb.NotEqual, Other: c.Right}
	}
	return duckdb.Filter{Column: c.Left, Compare: duckdb.Equal, Other: c.Right}
}

// filters says the predicates that it can as filters of the scan. They hold for every row that matters (P1), and the
// statement keeps its own WHERE: what cannot be said is left out.
func filters(predicates []plan.Predicate) []duckdb.Filter {
	var out []duckdb.Filter
	for _, p := range predicates {
		if f, ok := filterOf(p); ok {
			out = append(out, f)
		}
	}
	return out
}

func filterOf(p plan.Predicate) (duckdb.Filter, bool) {
	f := duckdb.Filter{Column: p.Column}
	switch p.Op {
	case plan.IsNull:
		f.IsNull = true
		return f, true
	case plan.IsNotNull:
		f.NotNull = true
		return f, true
	}
	for _, v := range p.Values {
		if v.Kind() == plan.Parameter || v.Kind() == plan.Unknown || v.Kind() == plan.Null {
			return f, false
		}
	}
	switch p.Type.ID() {
	case arrow.STRING:
		f.Words = words(p)
		f.Keep = keepText(p)
		return f, f.Keep != nil || f.Words != nil
	case arrow.FLOAT32, arrow.FLOAT64:
		return floatFilter(p)
	}
	return integerFilter(p)
}

// words are the strings, whole ones, beginnings or patterns, of which a column must have one.
func words(p plan.Predicate) []duckdb.Word {
	if p.Op != plan.Equal && p.Op != plan.In && p.Op != plan.Prefix && p.Op != plan.Like {
		return nil
	}
	out := make([]duckdb.Word, len(p.Values))
	for i, v := range p.Values {
		if v.Kind() != plan.Text {
			return nil
		}
		out[i] = duckdb.Word{Text: v.Text(), Prefix: p.Op == plan.Prefix, Like: p.Op == plan.Like}
	}
	return out
}

// keepText says which strings pass where words cannot.
func keepText(p plan.Predicate) func(string) bool {
	bounds := make([]string, len(p.Values))
	for i, v := range p.Values {
		if v.Kind() != plan.Text {
			return nil
		}
		bounds[i] = v.Text()
	}
	switch p.Op {
	case plan.NotEqual:
		return func(s string) bool { return s != bounds[0] }
	case plan.Less:
		return func(s string) bool { return s < bounds[0] }
	case plan.LessEqual:
		return func(s string) bool { return s <= bounds[0] }
	case plan.Greater:
		return func(s string) bool { return s > bounds[0] }
	case plan.GreaterEqual:
		return func(s string) bool { return s >= bounds[0] }
	case plan.Between:
		return func(s string) bool { return s >= bounds[0] && s <= bounds[1] }
	}
	return nil
}

// integerFilter bounds the stored integers of integer, date, timestamp and decimal columns.
func integerFilter(p plan.Predicate) (duckdb.Filter, bool) {
	f := duckdb.Filter{Column: p.Column}
	low, high := func(v plan.Value) *int64 { return Stored(p.Type, v, false) }, func(v plan.Value) *int64 { return Stored(p.Type, v, true) }
	switch p.Op {
	case plan.Equal:
		f.Low, f.High = low(p.Values[0]), high(p.Values[0])
	case plan.Less, plan.LessEqual: // an inclusive bound keeps one value too many, which is allowed
		f.High = high(p.Values[0])
	case plan.Greater, plan.GreaterEqual:
		f.Low = low(p.Values[0])
	case plan.Between:
		f.Low, f.High = low(p.Values[0]), high(p.Values[1])
	case plan.In:
		for _, v := range p.Values {
			l, h := low(v), high(v)
			if l == nil || h == nil {
				return f, false
			}
			if f.Low == nil || *l < *f.Low {
				f.Low = l
			}
			if f.High == nil || *h > *f.High {
				f.High = h
			}
		}
	}
	return f, f.Low != nil || f.High != nil
}

// Stored is the value as chunks store it in a column of type t, rounded up or down to the next that can be stored; nil
// when it cannot be said.
func Stored(t arrow.DataType, v plan.Value, down bool) *int64 {
	scale := int32(0)
	switch t := t.(type) {
	case *arrow.Int8Type, *arrow.Int16Type, *arrow.Int32Type, *arrow.Int64Type, *arrow.Uint8Type, *arrow.Uint16Type, *arrow.Uint32Type:
	case *arrow.Decimal64Type:
		scale = t.Scale
	case *arrow.Date32Type:
		if v.Kind() != plan.Date {
			return nil
		}
		days := v.Int()
		return &days
	case *arrow.TimestampType:
		if v.Kind() != plan.Timestamp || t.Unit != arrow.Microsecond || t.TimeZone != "" {
			return nil
		}
		micros := v.Int()
		return &micros
	default:
		return nil
	}
	if v.Kind() != plan.Exact {
		return nil
	}
	return rescale(v, scale, down)
}

func rescale(v plan.Value, scale int32, down bool) *int64 {
	unscaled, from := v.Decimal()
	n := unscaled.BigInt()
	ten := big.NewInt(10)
	switch {
	case scale > from:
		n.Mul(n, new(big.Int).Exp(ten, big.NewInt(int64(scale-from)), nil))
	case scale < from:
		divisor := new(big.Int).Exp(ten, big.NewInt(int64(from-scale)), nil)
		rest := new(big.Int)
		n.DivMod(n, divisor, rest) // Euclidean: rounds down
		if !down && rest.Sign() > 0 {
			n.Add(n, big.NewInt(1))
		}
	}
	if !n.IsInt64() {
		return nil
	}
	out := n.Int64()
	return &out
}

func floatFilter(p plan.Predicate) (duckdb.Filter, bool) {
	f := duckdb.Filter{Column: p.Column}
	value := func(i int) *float64 {
		v := p.Values[i]
		if v.Kind() != plan.Double || math.IsNaN(v.Float()) {
			return nil
		}
		x := v.Float()
		return &x
	}
	switch p.Op {
	case plan.Equal:
		f.LowFloat, f.HighFloat = value(0), value(0)
	case plan.Less, plan.LessEqual:
		f.HighFloat = value(0)
	case plan.Greater, plan.GreaterEqual:
		f.LowFloat = value(0)
	case plan.Between:
		f.LowFloat, f.HighFloat = value(0), value(1)
	}
	return f, f.LowFloat != nil || f.HighFloat != nil
}
