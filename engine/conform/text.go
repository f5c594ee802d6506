package conform

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TextSchema is one column of text.
func TextSchema(name string) *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
}

// Texts are lines under one column name.
func Texts(name string, lines []string) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, TextSchema(name))
	defer b.Release()
	for _, line := range lines {
		b.Field(0).(*array.StringBuilder).Append(line)
	}
	return b.NewRecordBatch()
}

// SameTypes compares columns by type, whatever they are called.
func SameTypes(a, b *arrow.Schema) bool {
	same := func(x, y arrow.Field) bool { return arrow.TypeEqual(x.Type, y.Type) }
	return slices.EqualFunc(a.Fields(), b.Fields(), same)
}
