package bench

import "unsafe"

// address is where a slice's memory starts. It is compared only and never turned back into a pointer.
func address(b []byte) uintptr {
	// SAFETY: only the number is used; the caller holds the slice.
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}
