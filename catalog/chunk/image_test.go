package chunk_test

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
)

// A chunk whose bytes are gone is rebuilt from its rows, wherever its buffers lay, and copied from there. Other rows
// are refused, with the column in which they differ.
func TestImage(t *testing.T) {
	types := []arrow.DataType{
		arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Boolean, arrow.BinaryTypes.StringView, arrow.ListOf(arrow.PrimitiveTypes.Int32),
		arrow.StructOf(arrow.Field{Name: "x", Type: arrow.BinaryTypes.String, Nullable: true}),
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String},
	}
	rng := rand.New(rand.NewPCG(3, 4))
	l := lender(t, 32<<20)
	for _, firstBytes := range []int64{0, 4096, 1 << 20} { // one piece or several
		batch := arraytest.Batch(rng, memory.NewGoAllocator(), types, 3000)
		c, err := chunk.NewWriter(l, "t", firstBytes).Seal(ctx, batch, chunk.SealOptions{})
		require.NoError(t, err)
		d := c.Descriptor()
		images, err := chunk.Image(ctx, d, batch)
		require.NoError(t, err)
		require.Len(t, images, len(d.Extents))
		made, err := chunk.Copy(l, d, func(x *descriptor.Extent) ([]byte, error) {
			for i := range d.Extents {
				if d.Extents[i].ExtentID == x.ExtentID {
					return images[i], nil
				}
			}
			return nil, nil
		})
		require.NoError(t, err)
		again, err := c.In(made)
		require.NoError(t, err)
		requireSealed(t, l, again, batch)

		_, err = chunk.Image(ctx, d, batch.NewSlice(0, 2999))
		require.ErrorIs(t, err, chunk.ErrDiffers)
		columns := append([]arrow.Array(nil), batch.Columns()...)
		columns[2] = arraytest.Array(rng, memory.NewGoAllocator(), types[2], 3000)
		_, err = chunk.Image(ctx, d, array.NewRecordBatch(batch.Schema(), columns, 3000))
		require.ErrorIs(t, err, chunk.ErrDiffers)
		require.ErrorContains(t, err, `column "`+batch.ColumnName(2)+`"`)
		wider := arrow.NewSchema(append(batch.Schema().Fields()[:5:5], arrow.Field{Name: batch.ColumnName(5), Type: types[0], Nullable: true}), nil)
		columns[2], columns[5] = batch.Column(2), batch.Column(0)
		_, err = chunk.Image(ctx, d, array.NewRecordBatch(wider, columns, 3000))
		require.ErrorIs(t, err, chunk.ErrDiffers)
	}
}
