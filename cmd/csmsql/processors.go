package main

import (
	"os"
	"runtime"
)

const (
	// crowd is how many sessions there are when many are likely to work at once.
	crowd = 8
	// spareProcessors are added to GOMAXPROCS then. Go runs as many goroutines at once as that says, and one that
	// returns from a call of DuckDB waits for its turn behind all others that work, for 10 ms each. Linux lets a thread
	// that has slept run at once.
	spareProcessors = 6
)

// processors sets GOMAXPROCS, unless the environment does.
type processors struct{ raised bool }

// follow is called with the number of open sessions, by one goroutine at a time.
func (p *processors) follow(sessions int) {
	switch {
	case os.Getenv("GOMAXPROCS") != "":
	case !p.raised && sessions > crowd:
		p.raised = true
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareProcessors)
	case p.raised && sessions <= crowd/2:
		p.raised = false
		runtime.SetDefaultGOMAXPROCS()
	}
}
