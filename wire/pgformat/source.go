package pgformat

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Accessors: each returns a function that reads one row of an array as the PostgreSQL value it stands for, or nil when
// the array is of another kind.

// intOf reads all integers that fit 64 bits.
func intOf(values arrow.Array) func(row int) int64 {
	switch values := values.(type) {
	case *array.Int8:
		return readInt(values.Int8Values())
	case *array.Int16:
		return readInt(values.Int16Values())
	case *array.Int32:
		return readInt(values.Int32Values())
	case *array.Int64:
		return readInt(values.Int64Values())
	case *array.Uint8:
		return readInt(values.Uint8Values())
	case *array.Uint16:
		return readInt(values.Uint16Values())
	case *array.Uint32:
		return readInt(values.Uint32Values())
	case *array.Decimal128: // of a column that is said to have whole numbers of 64 bits
		if values.DataType().(*arrow.Decimal128Type).Scale == 0 {
			return func(row int) int64 { return int64(values.Value(row).LowBits()) }
		}
	}
	return nil
}

func readInt[T int8 | int16 | int32 | int64 | uint8 | uint16 | uint32](numbers []T) func(int) int64 {
	return func(row int) int64 { return int64(numbers[row]) }
}

// floatOf reads all floating-point numbers.
func floatOf(values arrow.Array) func(row int) float64 {
	switch values := values.(type) {
	case *array.Float16:
		return func(row int) float64 { return float64(values.Value(row).Float32()) }
	case *array.Float32:
		return func(row int) float64 { return float64(values.Value(row)) }
	case *array.Float64:
		return values.Value
	}
	return nil
}

// decimalOf reads decimals and integers as exact numbers.
func decimalOf(values arrow.Array) (read func(row int) (magnitude wide, negative bool), scale int32) {
	if data, ok := values.DataType().(arrow.DecimalType); ok {
		scale = data.GetScale()
	}
	switch values := values.(type) {
	case *array.Decimal32:
		return func(row int) (wide, bool) { return wideOf64(int64(values.Value(row))) }, scale
	case *array.Decimal64:
		return func(row int) (wide, bool) { return wideOf64(int64(values.Value(row))) }, scale
	case *array.Decimal128:
		return func(row int) (wide, bool) {
			number := values.Value(row)
			return wideOf128(number.HighBits(), number.LowBits())
		}, scale
	case *array.Decimal256:
		return func(row int) (wide, bool) { return wideOf(values.Value(row).Array()) }, scale
	case *array.Uint64:
		return func(row int) (wide, bool) { return wide{values.Value(row)}, false }, 0
	}
	if integer := intOf(values); integer != nil {
		return func(row int) (wide, bool) { return wideOf64(integer(row)) }, 0
	}
	return nil, 0
}

// wideOf128 takes the magnitude of a 128-bit number.
func wideOf128(high int64, low uint64) (magnitude wide, negative bool) {
	sign := uint64(high >> 63)
	return wideOf(wide{low, uint64(high), sign, sign})
}

// dateOf reads dates. DuckDB's infinities are ±MaxInt32.
func dateOf(values arrow.Array) func(row int) Date {
	switch values := values.(type) {
	case *array.Date32:
		days := values.Date32Values()
		return func(row int) Date { return Date(days[row]) }
	case *array.Date64:
		millis := values.Date64Values()
		return func(row int) Date {
			const millisPerDay = 86_400_000
			days := floorDiv(int64(millis[row]), millisPerDay)
			return Date(min(max(days, math.MinInt32), math.MaxInt32))
		}
	}
	return nil
}

// nanosOf is a time in nanoseconds since midnight if it has them, else 0.
func nanosOf(values arrow.Array, row int) int64 {
	if t, ok := values.(*array.Time64); ok && t.DataType().(*arrow.Time64Type).Unit == arrow.Nanosecond {
		return int64(t.Value(row))
	}
	return 0
}

// timeOfDayOf reads times as microseconds since midnight.
func timeOfDayOf(values arrow.Array) func(row int) int64 {
	switch values := values.(type) {
	case *array.Time32:
		unit := values.DataType().(*arrow.Time32Type).Unit
		return func(row int) int64 {
			micros, _ := toMicros(int64(values.Value(row)), unit) // 32 bits of seconds fit
			return micros
		}
	case *array.Time64:
		unit := values.DataType().(*arrow.Time64Type).Unit
		return func(row int) int64 {
			micros, _ := toMicros(int64(values.Value(row)), unit) // microseconds or nanoseconds fit
			return micros
		}
	}
	return nil
}

// intervalOf reads the three Arrow intervals, and durations as microseconds.
func intervalOf(values arrow.Array) func(row int) Interval {
	switch values := values.(type) {
	case *array.MonthInterval:
		return func(row int) Interval { return Interval{Months: int32(values.Value(row))} }
	case *array.DayTimeInterval:
		return func(row int) Interval {
			v := values.Value(row)
			return Interval{Days: v.Days, Microseconds: int64(v.Milliseconds) * 1000}
		}
	case *array.MonthDayNanoInterval:
		return func(row int) Interval {
			v := values.Value(row)
			return Interval{Months: v.Months, Days: v.Days, Microseconds: v.Nanoseconds / 1000}
		}
	case *array.Duration:
		unit := values.DataType().(*arrow.DurationType).Unit
		return func(row int) Interval {
			micros, ok := toMicros(int64(values.Value(row)), unit)
			if !ok { // seconds beyond 292,000 years: the nearest interval there is
				micros = math.MaxInt64
				if values.Value(row) < 0 {
					micros = math.MinInt64
				}
			}
			return Interval{Microseconds: micros}
		}
	}
	return nil
}
