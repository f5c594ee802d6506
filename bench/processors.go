package bench

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// apart gives two nodes processors of their own, so many each; nil if the machine, or what of it this process may use,
// has too few.
func apart(each int) (at [2][]int) {
	var may unix.CPUSet
	if each < 1 || unix.SchedGetaffinity(0, &may) != nil || may.Count() < 2*each {
		return at
	}
	taken := 0
	for cpu := 0; taken < 2*each; cpu++ {
		if may.IsSet(cpu) {
			at[taken/each] = append(at[taken/each], cpu)
			taken++
		}
	}
	return at
}

// keptTo starts a process on some processors only: it gets them from the thread that begins it, and so do all of its
// own threads.
func keptTo(processors []int, begin func() error) (err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return fmt.Errorf("which processors this thread may use: %w", err)
	}
	for _, cpu := range processors {
		only.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return fmt.Errorf("keep a process to processors %v: %w", processors, err)
	}
	err = begin()
	if back := unix.SchedSetaffinity(0, &before); back != nil && err == nil {
		err = fmt.Errorf("let a thread use all processors again: %w", back)
	}
	return err
}
