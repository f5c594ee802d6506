package constantrows

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Rows are rows of a table, of some INSERT.
type Rows struct {
	columns *arrow.Schema
	kinds   []kind
	values  []value // row after row
	bytes   int64   // of their texts
}

// Len is how many rows there are.
func (r *Rows) Len() int64 { return int64(len(r.values) / len(r.kinds)) }

// Bytes is about what they take.
func (r *Rows) Bytes() int64 { return r.bytes + int64(len(r.values))*valueBytes }

// valueBytes is what a value takes beside its text.
const valueBytes = 48

// Columns are the table's.
func (r *Rows) Columns() *arrow.Schema { return r.columns }

// Batch has all rows of a list, in its order, which are of the same columns. The caller releases it.
func Batch(list ...*Rows) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, list[0].columns)
	defer b.Release()
	for column, k := range list[0].kinds {
		field := b.Field(column)
		for _, r := range list {
			for i := column; i < len(r.values); i += len(r.kinds) {
				k.put(field, &r.values[i])
			}
		}
	}
	return b.NewRecordBatch()
}

// put appends a value to the builder of a column.
func (k kind) put(to array.Builder, v *value) {
	if v.null {
		to.AppendNull()
		return
	}
	switch b := to.(type) {
	case *array.BooleanBuilder:
		b.Append(v.number == 1)
	case *array.Int8Builder:
		b.Append(int8(v.number))
	case *array.Int16Builder:
		b.Append(int16(v.number))
	case *array.Int32Builder:
		b.Append(int32(v.number))
	case *array.Int64Builder:
		b.Append(v.number)
	case *array.Uint8Builder:
		b.Append(uint8(v.number))
	case *array.Uint16Builder:
		b.Append(uint16(v.number))
	case *array.Uint32Builder:
		b.Append(uint32(v.number))
	case *array.Float32Builder:
		b.Append(float32(v.float))
	case *array.Float64Builder:
		b.Append(v.float)
	case *array.Decimal64Builder:
		b.Append(decimal.Decimal64(v.number))
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(v.number))
	case *array.StringBuilder:
		b.Append(v.text)
	case *array.BinaryBuilder:
		b.AppendString(v.text)
	case *array.Date32Builder:
		b.Append(arrow.Date32(v.number))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.number))
	}
}
