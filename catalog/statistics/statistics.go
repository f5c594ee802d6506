package statistics

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal256"

	"github.com/csmsql/csmsql/catalog/descriptor"
)

// Of measures a column: null count, bounds, distinct estimate. Nested types, unions and intervals have a null count at
// most. Preconditions: the array's data is valid (descriptor.ValidateData).
func Of(column arrow.Array) (descriptor.Statistics, Sketch) {
	if extension, ok := column.(array.ExtensionArray); ok {
		return Of(extension.Storage())
	}
	m := measurement{}
	m.NullCount = int64(column.NullN())
	m.measure(column)
	if !m.Min.Known() {
		m.MinExact = false
	}
	if !m.Max.Known() {
		m.MaxExact = false
	}
	if m.Sketch != nil && m.Distinct == 0 {
		m.Distinct = m.Sketch.Estimate()
	}
	return m.Statistics, m.Sketch
}

// measurement is a column's statistics in the making.
type measurement struct {
	descriptor.Statistics
	Sketch Sketch
	only   []bool // the elements that count (a dictionary's used ones); nil: all
}

// dense: every element counts, which is what the fast loops need.
func (m *measurement) dense(a arrow.Array) bool { return m.only == nil && a.NullN() == 0 }

func (m *measurement) counts(a arrow.Array, i int) bool {
	return a.IsValid(i) && (m.only == nil || m.only[i])
}

func (m *measurement) measure(column arrow.Array) {
	switch a := column.(type) {
	case *array.Int8:
		if m.dense(a) {
			narrow(m, arrow.Int8Traits.CastToBytes(a.Int8Values()), 0x80, func(v byte) descriptor.Value { return descriptor.IntOf(int64(int8(v))) })
			return
		}
		integers(m, a, a.Int8Values())
	case *array.Int16:
		integers(m, a, a.Int16Values())
	case *array.Int32:
		integers(m, a, a.Int32Values())
	case *array.Int64:
		integers(m, a, a.Int64Values())
	case *array.Date32:
		integers(m, a, a.Date32Values())
	case *array.Date64:
		integers(m, a, a.Date64Values())
	case *array.Time32:
		integers(m, a, a.Time32Values())
	case *array.Time64:
		integers(m, a, a.Time64Values())
	case *array.Timestamp:
		integers(m, a, a.TimestampValues())
	case *array.Duration:
		integers(m, a, a.DurationValues())
	case *array.Decimal32:
		integers(m, a, a.Values())
	case *array.Decimal64:
		integers(m, a, a.Values())
	case *array.Uint8:
		if m.dense(a) {
			narrow(m, a.Uint8Values(), 0, func(v byte) descriptor.Value { return descriptor.UintOf(uint64(v)) })
			return
		}
		unsigned(m, a, a.Uint8Values())
	case *array.Uint16:
		unsigned(m, a, a.Uint16Values())
	case *array.Uint32:
		unsigned(m, a, a.Uint32Values())
	case *array.Uint64:
		unsigned(m, a, a.Uint64Values())
	case *array.Float16:
		halves(m, a)
	case *array.Float32:
		floats(m, a, a.Float32Values())
	case *array.Float64:
		floats(m, a, a.Float64Values())
	case *array.Decimal128:
		decimals(m, a, func(i int) decimal256.Num { return decimal256.FromDecimal128(a.Value(i)) })
	case *array.Decimal256:
		decimals(m, a, a.Value)
	case *array.Boolean:
		booleans(m, a)
	default:
		m.other(column)
	}
}

func (m *measurement) other(column arrow.Array) {
	switch a := column.(type) {
	case *array.String:
		texts(m, a, true, a.Value)
	case *array.LargeString:
		texts(m, a, true, a.Value)
	case *array.StringView:
		texts(m, a, true, a.Value)
	case *array.Binary:
		texts(m, a, false, a.ValueString)
	case *array.LargeBinary:
		texts(m, a, false, a.ValueString)
	case *array.BinaryView:
		texts(m, a, false, a.ValueString)
	case *array.FixedSizeBinary:
		texts(m, a, false, func(i int) string { return string(a.Value(i)) })
	case *array.Dictionary:
		dictionary(m, a)
	case *array.RunEndEncoded:
		runs(m, a)
	case array.Union:
		m.NullCount = descriptor.UnknownNullCount // Arrow defines none
	}
}

// dictionary measures the values that codes refer to. There are exactly as many distinct ones as codes in use, if the
// dictionary has no value twice; writers of ours make no other.
func dictionary(m *measurement, a *array.Dictionary) {
	values := a.Dictionary()
	used := make([]bool, values.Len())
	for i := range a.Len() {
		if !a.IsValid(i) {
			continue
		}
		code := a.GetValueIndex(i)
		used[code] = true
		if values.IsNull(code) {
			m.NullCount++ // null by way of the dictionary
		}
	}
	m.only = used
	m.measure(values)
	m.Distinct = 0
	for code, in := range used {
		if in && values.IsValid(code) {
			m.Distinct++
		}
	}
}

// runs measures the values of the runs; every run counts its nulls by its length.
func runs(m *measurement, a *array.RunEndEncoded) {
	values := a.LogicalValuesArray()
	defer values.Release()
	m.measure(values)
	m.NullCount = 0
	for i := range a.Len() {
		if values.IsNull(a.GetPhysicalIndex(i) - a.GetPhysicalOffset()) {
			m.NullCount++
		}
	}
}
