// Package concatenation joins Arrow arrays of one type, as arrow-go's array.Concatenate does, and sparse unions
// besides, of which that knows nothing. A union within another type stays an error.
package concatenation

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Arrays are the arrays, at least one, one after the other, in mem. The caller releases the result.
func Arrays(list []arrow.Array, mem memory.Allocator) (arrow.Array, error) {
	first, ok := list[0].(*array.SparseUnion)
	if !ok {
		return array.Concatenate(list, mem)
	}
	rows := 0
	codes := memory.NewResizableBuffer(mem)
	defer codes.Release()
	for _, a := range list {
		rows += a.Len()
	}
	codes.Resize(rows)
	at := 0
	for _, a := range list {
		u := a.(*array.SparseUnion)
		for i := range u.Len() {
			codes.Bytes()[at] = byte(u.TypeCode(i))
			at++
		}
	}
	members := make([]arrow.Array, first.NumFields())
	for m := range members {
		parts := make([]arrow.Array, len(list))
		for i, a := range list {
			parts[i] = a.(*array.SparseUnion).Field(m)
		}
		joined, err := Arrays(parts, mem)
		if err != nil {
			return nil, err
		}
		defer joined.Release()
		members[m] = joined
	}
	return array.NewSparseUnion(first.DataType().(*arrow.SparseUnionType), rows, members, codes, 0), nil
}
