package conform

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Decimals of up to 18 digits are decimal64 in every result, whatever computed it: DuckDB gives decimal32 for up to 9
// digits, the Arrow kernels decimal128 for what they compute and what lies in the chunks for what they do not.

// decimalsOfResult is the type under which a result shows a decimal.
func decimalsOfResult(t arrow.DataType) arrow.DataType {
	if d, ok := t.(arrow.DecimalType); ok && d.GetPrecision() <= 18 {
		return &arrow.Decimal64Type{Precision: d.GetPrecision(), Scale: d.GetScale()}
	}
	return t
}

// as64 is an array of decimals as decimal64, nil when it is none or has it so already. Every value fits: want's
// precision is the array's own.
func as64(mem memory.Allocator, a arrow.Array, want arrow.DataType) arrow.Array {
	narrow, ok := want.(*arrow.Decimal64Type)
	if !ok {
		return nil
	}
	var value func(i int) int64
	switch a := a.(type) {
	case *array.Decimal32:
		value = func(i int) int64 { return int64(a.Value(i)) }
	case *array.Decimal128:
		value = func(i int) int64 { return int64(a.Value(i).LowBits()) }
	default:
		return nil
	}
	b := array.NewDecimal64Builder(mem, narrow)
	defer b.Release()
	b.Reserve(a.Len())
	for i := range a.Len() {
		if a.IsNull(i) {
			b.AppendNull()
			continue
		}
		b.Append(decimal.Decimal64(value(i)))
	}
	return b.NewArray()
}

// Decimals gives a batch of the kernels with such decimals as schema, which has one field for each column, promises.
// Everything else stays in place. The caller releases it; the argument stays the reader's.
func Decimals(mem memory.Allocator, batch arrow.RecordBatch, schema *arrow.Schema) arrow.RecordBatch {
	columns := append([]arrow.Array(nil), batch.Columns()...)
	fields := batch.Schema().Fields()
	changed := false
	for i, c := range columns {
		narrow := as64(mem, c, schema.Field(i).Type)
		if narrow == nil {
			continue
		}
		defer narrow.Release()
		columns[i], fields[i].Type, changed = narrow, narrow.DataType(), true
	}
	if !changed {
		batch.Retain()
		return batch
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows())
}
