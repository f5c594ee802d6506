package ingest

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// convert changes an array's type without changing its values; what cannot be represented is an error (22003).
func convert(a arrow.Array, want arrow.DataType) (arrow.Array, error) {
	if narrow, ok := want.(*arrow.Decimal64Type); ok {
		if wide, ok := a.(*array.Decimal128); ok {
			return narrowDecimal(wide, narrow)
		}
	}
	out, err := compute.CastArray(context.Background(), a, compute.SafeCastOptions(want))
	if err != nil {
		return nil, failure("22003", "a value of type %s cannot be stored as %s: %v", a.DataType(), want, err)
	}
	return out, nil
}

// narrowDecimal: arrow-go's cast kernels do not know decimal64 as a target.
func narrowDecimal(a *array.Decimal128, want *arrow.Decimal64Type) (arrow.Array, error) {
	from := a.DataType().(*arrow.Decimal128Type)
	if from.Scale != want.Scale {
		return nil, failure("42804", "decimal(%d,%d) cannot be stored as decimal(%d,%d)", from.Precision, from.Scale, want.Precision, want.Scale)
	}
	b := array.NewDecimal64Builder(memory.DefaultAllocator, want)
	defer b.Release()
	b.Reserve(a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			b.UnsafeAppendBoolToBitmap(false)
			continue
		}
		v := a.Value(i)
		low := int64(v.LowBits())
		if (low < 0) != (v.HighBits() < 0) || v.HighBits() != low>>63 {
			return nil, failure("22003", "numeric field overflow: a value does not fit decimal(%d,%d)", want.Precision, want.Scale)
		}
		b.UnsafeAppend(decimal.Decimal64(low))
	}
	return b.NewArray(), nil
}
