package duckdb

/*
// Exceptions pass through __wrap__Znwm and __wrap__Znam, and begin in new.c.
#cgo CFLAGS: -fexceptions
#cgo linux LDFLAGS: -Wl,--wrap=duckdb_je_malloc -Wl,--wrap=duckdb_je_realloc -Wl,--wrap=_Znwm -Wl,--wrap=_Znam
#cgo linux LDFLAGS: -Wl,--wrap=_ZN6duckdb9Allocator12AllocateDataEm -Wl,--wrap=_ZN6duckdb9Allocator14ReallocateDataEPhmm
#cgo linux LDFLAGS: -Wl,--wrap=_ZN6duckdb20ColumnDataCollection7CombineERS0_
#cgo linux LDFLAGS: -Wl,--wrap=_ZNK6duckdb9ErrorData4TypeEv
#include "memory.h"
*/
import "C"

import "fmt"

import (
	"runtime/metrics"
	"sync/atomic"
)

// boundOwnMemory sets what this process' C code may have; math.MaxInt64: no bound. False when the system does not say
// how much it has: then nothing is bounded.
func boundOwnMemory(bytes int64) bool { return bool(C.csm_memory_bound(C.int64_t(bytes))) }

// boundOfLarge is what of it large blocks may make full. What is beyond makes the warden strike.
func boundOfLarge() int64 { return int64(C.csm_memory_large()) }

// heapLimit is how much of the process' memory may be Go's; 0: that is not known.
var heapLimit atomic.Int64

// LimitHeap says how much of the process' memory Go may have by its own limit (debug.SetMemoryLimit). That limit is
// soft: what Go has beyond it counts as C code's, which may have so much less, and so the sum is bounded.
func LimitHeap(bytes int64) { heapLimit.Store(bytes) }

// ownMemory is what C code has, with what allocators keep of what was freed. What the process shares, lent memory above
// all, does not count, nor does Go's heap, which its owner bounds (GOMEMLIMIT).
func ownMemory() int64 { return int64(C.csm_memory_own()) }

// beyondBound is what C code was handed out, touched or not, if that is more than it may have; otherwise 0.
func beyondBound() int64 { return int64(C.csm_memory_beyond()) }

// giveBackMemory returns to the system what C's allocators keep of what was freed.
func giveBackMemory() { C.csm_memory_give_back() }

// GiveBackThread returns what C code keeps for the thread that calls, and reports whether any of that is with the
// allocators now, for GiveBack.
func GiveBackThread() bool { return bool(C.csm_memory_give_back_thread()) }

// GiveBack returns to the system what C's allocators keep of what was freed.
func GiveBack() { giveBackMemory() }

// admitMemory reports whether a block of so many bytes may be allocated.
func admitMemory(bytes int64) bool { return bool(C.csm_memory_admit(C.int64_t(bytes))) }

// newIsJemalloc reports whether C++'s operator new takes memory from the allocator of DuckDB's buffers.
func newIsJemalloc() bool { return bool(C.csm_memory_new_is_jemalloc()) }

// askedMemory is how often the allocators were asked.
func askedMemory() int64 { return int64(C.csm_memory_asked()) }

// ownMemoryAtRest is ownMemory without what can be given back.
func ownMemoryAtRest() int64 {
	if !boundOwnMemory(noBound) {
		return 0
	}
	giveBackMemory()
	tellGoMemory()
	return ownMemory()
}

// tellGoMemory lets C code know how much of the process' memory is Go's.
func tellGoMemory() {
	bytes := goMemory()
	if most := heapLimit.Load(); most > 0 {
		bytes = min(bytes, most)
	}
	C.csm_memory_others(C.int64_t(bytes))
}

// goMemory is what the process has for Go.
func goMemory() int64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64())
}

// ProcessMemory is what the process has of its own: C code, DuckDB for the most part, and Go, each with what is kept of
// what was freed.
func ProcessMemory() (ofC, ofGo int64) {
	tellGoMemory()
	return ownMemory(), goMemory()
}

// refuseText is why a text of Go's may not be copied into DuckDB's memory: the functions that do it throw nothing (D8).
func refuseText(bytes int) error {
	const small = 64 << 10
	if bytes < small || admitMemory(int64(bytes)) {
		return nil
	}
	if tellGoMemory(); admitMemory(int64(bytes)) { // the text itself is Go's, and may be new
		return nil
	}
	bound := processWarden.bound.Load()
	message := fmt.Sprintf("out of memory: a text of %d MiB, and the process may have %d MiB of its own", bytes>>20, bound>>20)
	return &Error{Message: message, State: "53200", HintText: memoryHint, Byte: -1}
}
