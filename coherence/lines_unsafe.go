package coherence

import "unsafe"

// addressOf returns where b begins. Preconditions: b is not empty.
func addressOf(b []byte) uintptr {
	// SAFETY: the number is used for its low bits only and never turned back into a pointer.
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))
}
