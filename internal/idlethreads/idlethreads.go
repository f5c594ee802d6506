// Package idlethreads ends operating system threads that a Go program does not need any more. It is for a program whose
// process is its own.
package idlethreads

import (
	"os"
	"runtime"
	"sync"
)

const (
	beside      = 16 // what a process has in any case
	ofProcessor = 2
	tooMany     = 8 // what is not worth it
	directory   = "/proc/self/task"
)

// End ends idle threads but for so many, and what a process has in any case.
//
// Go keeps every thread that it ever needed at once, and each has a stack and what two allocators keep for it: after a
// hundred clients whose statements ran in C that is some ten MiB. A thread ends with a goroutine that is locked to it,
// and a goroutine that locks itself to one takes an idle one if there is one.
func End(needed int) {
	list, err := os.ReadDir(directory)
	if err != nil {
		return // this system does not say
	}
	many := excess(len(list), runtime.GOMAXPROCS(0), needed)
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

// excess is how many threads are worth to be ended.
func excess(threads, processors, needed int) int {
	many := threads - beside - ofProcessor*processors - needed
	if many <= tooMany {
		return 0
	}
	return many
}
