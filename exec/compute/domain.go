package compute

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/csmsql/csmsql/exec/plan"
)

// domain is one of the few forms into which values of all types are brought to be compared one by one and aggregated.
type domain uint8

const (
	noDomain    domain = iota // only NULLs are looked at
	intDomain                 // integers but UBIGINT and HUGEINT, narrow decimals unscaled, dates, timestamps
	floatDomain               // FLOAT, DOUBLE
	truthDomain               // BOOLEAN
	textDomain                // VARCHAR
	wideDomain                // UBIGINT, HUGEINT, wide decimals
)

func domainOf(t plan.Type) domain {
	switch t.Kind {
	case plan.KindFloat, plan.KindDouble:
		return floatDomain
	case plan.KindBoolean:
		return truthDomain
	case plan.KindVarchar:
		return textDomain
	case plan.KindUBigInt, plan.KindHugeInt:
		return wideDomain
	case plan.KindDate, plan.KindTimestamp:
		return intDomain
	case plan.KindOther, plan.KindNull:
		return noDomain
	}
	if t.Exact64() {
		return intDomain
	}
	return wideDomain
}

// texts reads strings from any of the layouts that hold them.
type texts struct {
	values     stringsOf         // the strings, of the dictionary if there is one
	dictionary *array.Dictionary // nil if the values are the rows'
}

type stringsOf interface {
	Value(i int) string
	Len() int
}

func (x texts) at(i int) string {
	if x.dictionary != nil {
		i = x.dictionary.GetValueIndex(i)
	}
	return x.values.Value(i)
}

// mayStore says in which physical types the values of a logical type may lie (X3).
func mayStore(logical, physical arrow.DataType) bool {
	if arrow.TypeEqual(logical, physical) {
		return true
	}
	switch plan.TypeOf(logical).Kind {
	case plan.KindVarchar:
		if d, ok := physical.(*arrow.DictionaryType); ok {
			return isText(d.ValueType)
		}
		return isText(physical)
	case plan.KindOther: // carried through, never computed
		return logical.ID() == arrow.BINARY && (physical.ID() == arrow.BINARY_VIEW || physical.ID() == arrow.LARGE_BINARY)
	case plan.KindDecimal:
		l, p := logical.(arrow.DecimalType), arrow.DecimalType(nil)
		switch d := physical.(type) {
		case *arrow.Decimal32Type, *arrow.Decimal64Type, *arrow.Decimal128Type:
			p = d.(arrow.DecimalType)
		default:
			return false
		}
		return p.GetScale() == l.GetScale() && p.GetPrecision() == l.GetPrecision()
	}
	return false
}

func isText(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	}
	return false
}

// loadInts gives an array's values in their domain, without a copy where the layouts agree; so do the others.
func loadInts(a arrow.Array) ([]int64, bool) {
	switch x := a.(type) {
	case *array.Int64:
		return x.Int64Values(), true
	case *array.Int32:
		return widen(x.Int32Values()), true
	case *array.Int16:
		return widen(x.Int16Values()), true
	case *array.Int8:
		return widen(x.Int8Values()), true
	case *array.Uint32:
		return widen(x.Uint32Values()), true
	case *array.Uint16:
		return widen(x.Uint16Values()), true
	case *array.Uint8:
		return widen(x.Uint8Values()), true
	case *array.Date32:
		return widen(x.Date32Values()), true
	case *array.Timestamp:
		return widen(x.TimestampValues()), true
	case *array.Decimal64:
		return widen(x.Values()), true
	case *array.Decimal32:
		return widen(x.Values()), true
	case *array.Decimal128:
		ints := make([]int64, x.Len())
		for i, n := range x.Values() {
			ints[i] = int64(n.LowBits())
		}
		return ints, true
	}
	return nil, false
}

func widen[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](values []T) []int64 {
	wide := make([]int64, len(values))
	for i, x := range values {
		wide[i] = int64(x)
	}
	return wide
}

func loadFloats(a arrow.Array) ([]float64, bool) {
	switch x := a.(type) {
	case *array.Float64:
		return x.Float64Values(), true
	case *array.Float32:
		wide := make([]float64, x.Len())
		for i, f := range x.Float32Values() {
			wide[i] = float64(f)
		}
		return wide, true
	}
	return nil, false
}

func loadTruths(a arrow.Array) (func(i int) bool, bool) {
	x, ok := a.(*array.Boolean)
	return func(i int) bool { return x.Value(i) }, ok
}

func loadTexts(a arrow.Array) (texts, bool) {
	switch x := a.(type) {
	case *array.Dictionary:
		values, ok := loadTexts(x.Dictionary())
		return texts{values.values, x}, ok && values.dictionary == nil
	case stringsOf:
		return texts{values: x}, isText(a.DataType())
	}
	return texts{}, false
}

func loadWides(a arrow.Array) ([]decimal128.Num, bool) {
	var wides []decimal128.Num
	switch x := a.(type) {
	case *array.Decimal128:
		return x.Values(), true
	case *array.Uint64:
		for _, u := range x.Uint64Values() {
			wides = append(wides, decimal128.FromU64(u))
		}
		return wides, true
	}
	return nil, false
}
