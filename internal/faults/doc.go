// Package faults names the places in the product where tests can kill, stop or delay a process.
//
//	product code ── hook.At(faults.CommitStored) ──► nil: nothing       (every program but a test's)
//	                                             ╲─► a test's function  in this process: cancel, stop a node, write meanwhile
//	                                              ╲─► Trigger           in a process of its own: kill, pause or delay it
//
// A Trigger is driven from outside, through a directory that the test and the processes share. Only the first process
// that reaches the armed point takes the order. The trigger also records every point that was reached, so that a point
// that no code or no test reaches is noticed.
//
// # Words
//
// point: a place with a name · hook: the function that is called when a point is reached · armed: the point at which
// something is to happen, once · taken: it has happened, or is about to
//
// # Invariants
//
//   - FT1: every point is in this package's table: no other package can make one.
//   - FT2: every point of the table is reached by product code (TestFaults in cmd/csmsql).
//   - FT3: what is armed happens in one process at most, once.
//   - FT4: a delay ends, and is at most MaxDelay; nothing else waits here, unless it is killed or stopped.
//
// # What it does not do
//
// It is not for production: no flag and no variable of the program arms anything. It starts no goroutine.
package faults
