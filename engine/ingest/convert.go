package ingest

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/internal/concatenation"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// concatenate writes parts as one array of type want. Values are looked at if the type has some that are not stored.
func concatenate(ctx context.Context, mem memory.Allocator, parts []arrow.Array, want arrow.DataType,
	of check) (arrow.Array, error) {
	same := make([]arrow.Array, len(parts))
	fallible := isFallible(want)
	for k, p := range parts {
		converted, err := convert(ctx, p, want)
		if err != nil {
			return nil, err
		}
		defer converted.Release()
		if fallible {
			if err := of.nested(converted.Data()); err != nil {
				return nil, err
			}
		}
		same[k] = converted
	}
	out, err := concatenation.Arrays(same, mem)
	switch {
	case err == nil:
		zeroNulls(out.Data())
		return out, nil
	case strings.Contains(err.Error(), "overflow"):
		return nil, sqlerror.New("54000", "the values of one chunk take more than 2 GiB: %v", err)
	}
	return nil, sqlerror.New("0A000", "values of type %s cannot be stored: %v", want, err)
}

// convert changes an array's type without changing its values; what cannot be represented is an error (22003). The
// caller releases the result.
func convert(ctx context.Context, a arrow.Array, want arrow.DataType) (arrow.Array, error) {
	if arrow.TypeEqual(a.DataType(), want) {
		a.Retain()
		return a, nil
	}
	if t, ok := want.(*enumeration.Type); ok {
		return codesOf(a, t)
	}
	if plain, err := unpack(ctx, a); plain != nil || err != nil {
		if err != nil {
			return nil, err
		}
		defer plain.Release()
		return convert(ctx, plain, want)
	}
	if wide, ok := a.(*array.Decimal128); ok && wide.NullN() == 0 {
		if to, ok := want.(*arrow.Decimal64Type); ok && to.Scale == wide.DataType().(*arrow.Decimal128Type).Scale {
			return narrow(wide, to)
		}
	}
	if to, ok := want.(arrow.DecimalType); ok {
		if value, from := decimals(a); value != nil {
			return rescale(a, value, from, to)
		}
	}
	if half, ok := a.(*array.Float16); ok && want.ID() == arrow.FLOAT32 {
		return widen(half), nil
	}
	out, err := compute.CastArray(ctx, a, compute.SafeCastOptions(want))
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, sqlerror.New("22003", "a value of type %s cannot be stored as %s: %v", a.DataType(), want, err)
	}
	return out, nil
}

// Plain is an array of the type under which users know its values (Logical), but that strings and bytes lie as they
// lay. The caller releases it.
func Plain(ctx context.Context, a arrow.Array) (arrow.Array, error) {
	if kindOf(a.DataType()) != notString {
		a.Retain()
		return a, nil
	}
	return convert(ctx, a, Logical(a.DataType()))
}

// unpack is a dictionary or run-end array as a plain one, nil for others.
func unpack(ctx context.Context, a arrow.Array) (arrow.Array, error) {
	var values, indices arrow.Array
	switch a := a.(type) {
	case *array.Dictionary:
		values, indices = a.Dictionary(), a.Indices()
	case *array.RunEndEncoded:
		b := array.NewInt64Builder(memory.DefaultAllocator)
		defer b.Release()
		for i := range a.Len() {
			b.Append(int64(a.GetPhysicalIndex(i)))
		}
		rows := b.NewArray()
		defer rows.Release()
		values, indices = a.Values(), rows
	default:
		return nil, nil
	}
	if v := values.DataType().ID(); v == arrow.STRING_VIEW || v == arrow.BINARY_VIEW { // which arrow-go cannot take from
		return nil, errType(a.DataType(), values.DataType())
	}
	out, err := compute.TakeArray(ctx, values, indices)
	if err != nil {
		return nil, sqlerror.New("42804", "values of type %s cannot be stored: %v", a.DataType(), err)
	}
	return out, nil
}

func widen(a *array.Float16) arrow.Array {
	b := array.NewFloat32Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		b.Append(a.Value(i).Float32())
	}
	return b.NewArray()
}

// decimals reads decimals of up to 38 digits; arrow-go's cast kernels do not know the narrow ones.
func decimals(a arrow.Array) (func(i int) decimal128.Num, arrow.DecimalType) {
	switch a := a.(type) {
	case *array.Decimal32:
		return func(i int) decimal128.Num { return decimal128.FromI64(int64(a.Value(i))) }, a.DataType().(arrow.DecimalType)
	case *array.Decimal64:
		return func(i int) decimal128.Num { return decimal128.FromI64(int64(a.Value(i))) }, a.DataType().(arrow.DecimalType)
	case *array.Decimal128:
		return a.Value, a.DataType().(arrow.DecimalType)
	}
	return nil, nil
}

// narrow is rescale for what DuckDB sends most: no NULL, and every value in 64 bits.
func narrow(a *array.Decimal128, to *arrow.Decimal64Type) (arrow.Array, error) {
	limit := int64(1)
	for range to.Precision {
		limit *= 10
	}
	raw := make([]byte, 8*a.Len())
	out := arrow.Int64Traits.CastFromBytes(raw)
	for i, v := range a.Values() {
		low := int64(v.LowBits())
		if v.HighBits() != low>>63 || low >= limit || low <= -limit {
			return nil, overflow(v, to)
		}
		out[i] = low
	}
	d := array.NewData(to, a.Len(), []*memory.Buffer{nil, memory.NewBufferBytes(raw)}, nil, 0, 0)
	defer d.Release()
	return array.MakeFromData(d), nil
}

func rescale(a arrow.Array, value func(int) decimal128.Num, from, to arrow.DecimalType) (arrow.Array, error) {
	if from.GetScale() != to.GetScale() {
		return nil, errType(from, to)
	}
	small, _ := to.(*arrow.Decimal64Type)
	if wide, ok := to.(*arrow.Decimal128Type); ok {
		return wider(a, value, wide)
	}
	if small == nil {
		return nil, errType(from, to)
	}
	b := array.NewDecimal64Builder(memory.DefaultAllocator, small)
	defer b.Release()
	b.Reserve(a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			b.UnsafeAppendBoolToBitmap(false)
			continue
		}
		v := value(i)
		if !fits(v, small.Precision) {
			return nil, overflow(v, to)
		}
		b.UnsafeAppend(decimal.Decimal64(int64(v.LowBits())))
	}
	return b.NewArray(), nil
}

func wider(a arrow.Array, value func(int) decimal128.Num, to *arrow.Decimal128Type) (arrow.Array, error) {
	b := array.NewDecimal128Builder(memory.DefaultAllocator, to)
	defer b.Release()
	b.Reserve(a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			b.UnsafeAppendBoolToBitmap(false)
			continue
		}
		v := value(i)
		if !fits(v, to.Precision) {
			return nil, overflow(v, to)
		}
		b.UnsafeAppend(v)
	}
	return b.NewArray(), nil
}

func overflow(v decimal128.Num, to arrow.DecimalType) error {
	return sqlerror.New("22003", "numeric field overflow: %s does not fit decimal(%d,%d)", v.ToString(to.GetScale()), to.GetPrecision(), to.GetScale())
}
