package conform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/conform"
)

// CF2: a copy shares no byte with its batch, whatever the layout: views and dictionaries have more than what Concatenate
// copies. Its memory is the allocator's, and all of it goes back.
func TestCopySharesNothing(t *testing.T) {
	for _, under := range []arrow.DataType{
		arrow.BinaryTypes.String, arrow.BinaryTypes.StringView, arrow.BinaryTypes.BinaryView, arrow.PrimitiveTypes.Int32,
		&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String},
		arrow.ListOf(arrow.BinaryTypes.String),
	} {
		b := array.NewBuilder(memory.DefaultAllocator, under)
		for i := range 100 {
			text := fmt.Sprint(strings.Repeat("a long text ", i%3), i%40)
			switch b := b.(type) {
			case *array.BinaryViewBuilder:
				b.AppendString(text)
			case interface{ Append(string) }:
				b.Append(text)
			case *array.BinaryDictionaryBuilder:
				require.NoError(t, b.AppendString(text))
			case *array.ListBuilder:
				b.Append(true)
				b.ValueBuilder().(*array.StringBuilder).Append(text)
			case *array.Int32Builder:
				b.Append(int32(i))
			}
			if i%7 == 0 {
				b.AppendNull()
			}
		}
		whole := b.NewArray()
		part := array.NewSlice(whole, 3, 90)
		schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: under, Nullable: true}}, nil)
		batch := array.NewRecordBatch(schema, []arrow.Array{part}, int64(part.Len()))
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		copied, err := conform.Copy(mem, batch, schema)
		require.NoError(t, err)
		require.True(t, array.Equal(part, copied.Column(0)), "%s", under)
		own := buffersOf(copied.Column(0).Data())
		for at := range buffersOf(part.Data()) {
			require.False(t, own[at], "%s", under)
		}
		require.NotZero(t, mem.CurrentAlloc())
		copied.Release()
		mem.AssertSize(t, 0)
	}
}

// buffersOf are where the buffers of an array begin that have bytes.
func buffersOf(d arrow.ArrayData) map[*byte]bool {
	found := map[*byte]bool{}
	for _, b := range d.Buffers() {
		if b != nil && b.Len() > 0 {
			found[&b.Bytes()[0]] = true
		}
	}
	children := d.Children()
	if words, ok := d.Dictionary().(*array.Data); ok && words != nil {
		children = append(children[:len(children):len(children)], words)
	}
	for _, c := range children {
		for at := range buffersOf(c) {
			found[at] = true
		}
	}
	return found
}
