package emulated

import "sync/atomic"

// Words are moved by whole ones: programs store beside, and other domains' processes move the same memory.

func load(w *uint64) uint64                      { return atomic.LoadUint64(w) }
func store(w *uint64, v uint64)                  { atomic.StoreUint64(w, v) }
func swap(w *uint64, old, new uint64) (did bool) { return atomic.CompareAndSwapUint64(w, old, new) }
