package engine

import (
	"os"
	"runtime"
	"sync"
)

// Go keeps every thread that it ever needed at once, and each has a stack and what two allocators keep for it: after a hundred clients whose
// statements ran in C that is some ten MiB. A thread ends with a goroutine that is locked to it, and a goroutine that locks itself to one takes
// an idle one if there is one.

const (
	threadsBeside    = 16 // what a process has in any case
	threadsOfEach    = 2  // of a session, and of a processor
	threadsTooMany   = 8  // what is not worth it
	threadsDirectory = "/proc/self/task"
)

// endThreads ends idle threads but for so many, and what a process has in any case. It is for a process that is the engine's own.
func endThreads(needed int) {
	list, err := os.ReadDir(threadsDirectory)
	if err != nil {
		return // this system does not say
	}
	many := len(list) - threadsBeside - threadsOfEach*runtime.GOMAXPROCS(0) - needed
	if many <= threadsTooMany {
		return
	}
	var locked, ended sync.WaitGroup
	locked.Add(many)
	for range many {
		ended.Go(func() {
			runtime.LockOSThread()
			locked.Done()
			locked.Wait() // so that each has another one; it is not unlocked
		})
	}
	ended.Wait()
}
