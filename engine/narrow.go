package engine

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Decimals of up to 18 digits are decimal64 in every result (DESIGN §7). DuckDB gives them so; the Arrow kernels compute them as
// decimal128, and hand on as they lie those that they do not compute.

// narrowDecimals gives a batch of the kernels with such columns as schema, which has one field for each, promises.
// Everything else stays in place. The caller releases it; the argument stays the reader's.
func narrowDecimals(batch arrow.RecordBatch, schema *arrow.Schema) arrow.RecordBatch {
	columns := batch.Columns()
	fields := batch.Schema().Fields()
	changed := false
	for i, c := range columns {
		wide, ok := c.(*array.Decimal128)
		want, narrow := schema.Field(i).Type.(*arrow.Decimal64Type)
		if !ok || !narrow {
			continue
		}
		if !changed {
			columns = append([]arrow.Array(nil), columns...)
		}
		changed = true
		columns[i] = narrowDecimal(wide, want)
		fields[i].Type = want
		defer columns[i].Release()
	}
	if !changed {
		batch.Retain()
		return batch
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows())
}

func narrowDecimal(wide *array.Decimal128, want *arrow.Decimal64Type) arrow.Array {
	b := array.NewDecimal64Builder(memory.DefaultAllocator, want)
	defer b.Release()
	b.Reserve(wide.Len())
	for i := range wide.Len() {
		if wide.IsNull(i) {
			b.AppendNull()
			continue
		}
		b.Append(decimal.Decimal64(int64(wide.Value(i).LowBits())))
	}
	return b.NewArray()
}
