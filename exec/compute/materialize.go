package compute

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

func appendFloat(b array.Builder, f float64) error {
	switch x := b.(type) {
	case *array.Float64Builder:
		x.Append(f)
	case *array.Float32Builder:
		x.Append(float32(f))
	default:
		return layoutError("no DOUBLE fits %s", b.Type())
	}
	return nil
}

func appendWide(b array.Builder, n decimal128.Num) error {
	switch x := b.(type) {
	case *array.Decimal128Builder:
		x.Append(n)
	case *array.Uint64Builder:
		x.Append(n.LowBits())
	case *array.Int64Builder: // a sum that is cast
		i := int64(n.LowBits())
		if n.HighBits() != i>>63 {
			return overflow("the sum does not fit BIGINT")
		}
		x.Append(i)
	default:
		return layoutError("no wide number fits %s", b.Type())
	}
	return nil
}

// appendInt narrows to the column's width, into which the caller knows that the value fits.
func appendInt(b array.Builder, i int64) error {
	switch x := b.(type) {
	case *array.Int64Builder:
		x.Append(i)
	case *array.Int32Builder:
		x.Append(int32(i))
	case *array.Int16Builder:
		x.Append(int16(i))
	case *array.Int8Builder:
		x.Append(int8(i))
	case *array.Uint32Builder:
		x.Append(uint32(i))
	case *array.Uint16Builder:
		x.Append(uint16(i))
	case *array.Uint8Builder:
		x.Append(uint8(i))
	case *array.Date32Builder:
		x.Append(arrow.Date32(i))
	case *array.TimestampBuilder:
		x.Append(arrow.Timestamp(i))
	case *array.Decimal128Builder:
		x.Append(decimal128.FromI64(i))
	default:
		return layoutError("no integer fits %s", b.Type())
	}
	return nil
}

// conform gives a column in the type that the result's schema promised: as it is if it lies so (X2), else rewritten.
func (e *evaluator) conform(a arrow.Array, want arrow.DataType) (arrow.Array, error) {
	if arrow.TypeEqual(a.DataType(), want) {
		return a, nil
	}
	switch {
	case isText(want):
		return e.conformText(a, want)
	case want.ID() == arrow.DECIMAL128 || want.ID() == arrow.DECIMAL64 || want.ID() == arrow.DECIMAL32:
		return e.conformDecimal(a, want)
	}
	return nil, layoutError("chunks lie as %s and as %s; the source must say in Schema what they are brought to", want, a.DataType())
}

func (e *evaluator) conformText(a arrow.Array, want arrow.DataType) (arrow.Array, error) {
	from, ok := loadTexts(a)
	if !ok {
		return nil, layoutError("no text in %s", a.DataType())
	}
	valid, nulls := e.validity(a)
	if valid != nil {
		defer valid.Release()
	}
	return e.textColumn(want, valid, nulls, from.at)
}

func (e *evaluator) conformDecimal(a arrow.Array, want arrow.DataType) (arrow.Array, error) {
	ints, ok := loadInts(a)
	if !ok {
		return nil, layoutError("no decimal in %s", a.DataType())
	}
	b := array.NewBuilder(e.mem, want)
	defer b.Release()
	b.Reserve(a.Len())
	for i, x := range ints {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		switch to := b.(type) {
		case *array.Decimal128Builder:
			to.Append(decimal128.FromI64(x))
		case *array.Decimal64Builder:
			to.Append(decimal64(x))
		case *array.Decimal32Builder:
			to.Append(decimal32(x))
		}
	}
	return e.keep(b.NewArray()), nil
}
