package emulated

import (
	"runtime"
	"runtime/debug"
	"unsafe"
)

const wordBytes = 8

// words is the same memory by words. Preconditions: it begins and ends on a word.
func words(b []byte) []uint64 {
	if len(b) == 0 {
		return nil
	}
	// SAFETY: regions and their caches are mapped, or allocated, in whole pages, so the address is a multiple of 8 and
	// the length, too.
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/wordBytes)
}

// addressOf is where b begins, to be compared with other addresses and never turned back into a pointer.
func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// guarded runs fn on mapped files and reports whether it got to its end: access to a file that was truncated faults.
func guarded(fn func()) (whole bool) {
	previous := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(previous)
	defer func() {
		if cause := recover(); cause != nil {
			if _, fault := cause.(interface {
				runtime.Error
				Addr() uintptr
			}); !fault {
				panic(cause)
			}
		}
	}()
	hide()
	defer reveal()
	fn()
	return true
}
