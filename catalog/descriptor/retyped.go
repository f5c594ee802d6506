package descriptor

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Retyped shows the same buffers under a type of the same layout. The caller releases it.
func Retyped(d arrow.ArrayData, want arrow.DataType) arrow.ArrayData {
	if len(d.Children()) == 0 && arrow.TypeEqual(d.DataType(), want) {
		d.Retain()
		return d
	}
	types := ChildTypes(want)
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = Retyped(c, types[i])
		defer children[i].Release()
	}
	data := array.NewData(want, d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
	if words, ok := d.Dictionary().(*array.Data); ok && words != nil {
		data.SetDictionary(words)
	}
	return data
}
