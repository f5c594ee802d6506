package compute_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/compute"
	"github.com/csmsql/csmsql/exec/plan"
)

// X7: columns that are only carried through lose the same rows, whatever their type is.
func TestDeletedRowsOfAnyType(t *testing.T) {
	for _, kind := range []arrow.DataType{
		arrow.ListOf(arrow.BinaryTypes.String), arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32),
		arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}),
		arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int8),
		arrow.FixedWidthTypes.MonthDayNanoInterval, arrow.BinaryTypes.Binary, arrow.FixedWidthTypes.Time64us,
		&arrow.FixedSizeBinaryType{ByteWidth: 16}, &arrow.Decimal256Type{Precision: 50, Scale: 2},
		arrow.BinaryTypes.BinaryView,
	} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		b := array.NewBuilder(mem, kind)
		for range 100 {
			b.AppendEmptyValue()
			b.AppendNull()
		}
		whole := b.NewArray()
		b.Release()
		schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: kind, Nullable: true}}, nil)
		batch := array.NewRecordBatch(schema, []arrow.Array{whole}, 200)
		whole.Release()
		deleted := []uint64{0, 0, ^uint64(0b1101), 0b0101_0101} // all but three of 128 to 191, and four of the last eight
		columns := []plan.Column{{Name: "a", Type: kind}}
		tab := &table{relation: &plan.Relation{Schema: "main", Name: "r", Columns: columns, Rows: 135}}
		source := &chunkSource{[]arrow.RecordBatch{compute.Without(batch, deleted)}, []int{0}, new(int)}
		r, err := start(t, mem, "SELECT a FROM r", tab, source)
		require.NoError(t, err)
		require.True(t, r.Next(), "%v: %v", kind, r.Err())
		got := r.RecordBatch().Column(0)
		require.Equal(t, 128+3+4, got.Len(), "%v", kind)
		require.Equal(t, 64+1+4, got.NullN(), "%v", kind) // of 128, 130 and 131, and 193, 195, 197 and 199
		require.False(t, r.Next())
		require.NoError(t, r.Err())
		r.Release()
		batch.Release()
		mem.AssertSize(t, 0)
	}
}
