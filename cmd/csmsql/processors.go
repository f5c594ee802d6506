package main

import (
	"os"
	"runtime"
)

const (
	// crowd is how many sessions there are when many are likely to work at once.
	crowd = 8
	// spareProcessors Go is told of then, beside the machine's. Go runs as many goroutines as it has been told of
	// processors, and one that comes back from a call of DuckDB waits for its turn behind all others that work, for 10
	// ms each. Linux lets a thread that has slept run at once.
	spareProcessors = 6
)

// processors is what Go is told of them. GOMAXPROCS in the environment says otherwise.
type processors struct{ raised bool }

// follow is told how many sessions there are, by one goroutine at a time.
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
