package lendertest

import (
	"unsafe"

	"github.com/csmsql/csmsql/memregion"
)

// aligned returns size zeroed bytes that start on a page boundary, as a region's do.
func aligned(size int64) []byte {
	raw := make([]byte, size+memregion.PageSize)
	// SAFETY: only the number is used, to skip to the next boundary inside raw.
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % memregion.PageSize
	return raw[skip : int64(skip)+size : int64(skip)+size]
}
