package ingest

import (
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// reader gives the bytes of row i, strings and bytes of any layout alike, without copying: the result is valid as long as the
// array.
func reader(a arrow.Array) (func(i int) string, bool) {
	switch a := a.(type) {
	case *array.String:
		return a.Value, true
	case *array.LargeString:
		return a.Value, true
	case *array.StringView:
		return a.Value, true
	case *array.Binary:
		return func(i int) string { return borrow(a.Value(i)) }, true
	case *array.LargeBinary:
		return func(i int) string { return borrow(a.Value(i)) }, true
	case *array.BinaryView:
		return func(i int) string { return borrow(a.Value(i)) }, true
	case *array.Dictionary:
		inner, ok := reader(a.Dictionary())
		return func(i int) string { return inner(a.GetValueIndex(i)) }, ok
	}
	return nil, false
}

// SAFETY: nobody writes to an array's buffers, and the string is not kept longer than the array (G1).
func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
