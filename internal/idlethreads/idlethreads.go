// Package idlethreads ends idle operating system threads of a Go program, or has them give memory back. It is for a
// program that has its process to itself.
package idlethreads

import (
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

const (
	beside      = 4 // what a process has in any case
	ofProcessor = 2
	tooMany     = 8 // fewer are not worth ending
	spare       = 2 // threads that Go may make when those that were visited end
	directory   = "/proc/self/task"
)

// Rest has each idle thread give back what is kept for it, and ends those that are not needed: all but the given number
// and what a process has in any case. It reports whether any of them gave something back.
//
// Go keeps every thread that it ever needed at once, and each has a stack and what two allocators keep for it: after a
// hundred clients whose statements ran in C that is some ten MiB. A thread ends with a goroutine that is locked to it,
// and a goroutine that locks itself to one takes an idle one if there is one.
func Rest(needed int, giveBack func() bool) (given bool) {
	known := threads()
	if known == nil {
		return false // this system does not say
	}
	v := visit{known: known, giveBack: giveBack, leave: make(chan bool, len(known))}
	for v.next() {
	}
	made := len(threads()) - len(known) + spare // for the visit, and to go on after it
	ended := min(max(excess(len(known), runtime.GOMAXPROCS(0), needed), made), v.visited)
	for i := range v.visited {
		v.leave <- i >= v.visited-ended
	}
	v.all.Wait()
	return v.given
}

// visit is at each idle thread at once, so that no two goroutines have the same.
type visit struct {
	known    map[int]bool // threads that there were before
	giveBack func() bool
	all      sync.WaitGroup
	leave    chan bool // one for each that was visited: whether it ends

	visited int
	given   bool
}

// next goes to one more idle thread. False: there was none, so that Go has made another one, which ends at once.
func (v *visit) next() bool {
	if v.visited == len(v.known) {
		return false
	}
	type found struct{ known, given bool }
	there := make(chan found)
	v.all.Go(func() {
		runtime.LockOSThread()
		if !v.known[syscall.Gettid()] {
			there <- found{}
			return
		}
		there <- found{true, v.giveBack()}
		if !<-v.leave {
			runtime.UnlockOSThread()
		}
	})
	at := <-there
	if at.known {
		v.visited++
		v.given = v.given || at.given
	}
	return at.known
}

// threads are those of this process; nil: that is not known.
func threads() map[int]bool {
	list, err := os.ReadDir(directory)
	if err != nil {
		return nil
	}
	known := make(map[int]bool, len(list))
	for _, entry := range list {
		if id, err := strconv.Atoi(entry.Name()); err == nil {
			known[id] = true
		}
	}
	return known
}

// excess is how many threads are worth ending.
func excess(threads, processors, needed int) int {
	many := threads - beside - ofProcessor*processors - needed
	if many <= tooMany {
		return 0
	}
	return many
}
