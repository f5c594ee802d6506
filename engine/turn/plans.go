package turn

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	// shortPlan is what planning most statements takes, and mediumPlan what it takes without a text that is made to be
	// long.
	shortPlan, mediumPlan = 10 * time.Millisecond, 500 * time.Millisecond
	// plannedByte is what a byte of a long list takes to be planned: 5 to 20 µs a token were measured.
	plannedByte = 5 * time.Microsecond
)

// OfPlans makes the queue of a node whose statements are worked on by so many threads: planning one is a turn.
func OfPlans(threads int) *Queue {
	return NewQueue(Clock{Now: time.Now, Used: usedOfThread}, Lane{Most: shortPlan, Places: threads},
		Lane{Most: mediumPlan, Places: threads}, Lane{Places: threads / 2})
}

// Expected is what planning a text takes at least, if it is a long list.
func Expected(sql string) time.Duration { return time.Duration(len(sql)) * plannedByte }

// usedOfThread is how long the thread that calls it has had a processor.
func usedOfThread() time.Duration {
	var used unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used) != nil {
		return 0
	}
	return time.Duration(used.Nano())
}
