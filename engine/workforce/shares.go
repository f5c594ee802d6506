package workforce

import (
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Workers are processes that run a node's queries, so that a crash of DuckDB costs one of them and not the node.
type Workers struct {
	// Count is how many there are; 0: none, and the node runs everything itself. They and the node have equal
	// shares of MemoryBytes and SpillBytes.
	Count int
	// Command starts one, with its arguments: a program that calls engine.ServeWorker.
	Command []string
	// Environment are variables that it has beside this process'.
	Environment []string
	// Socket is where the caller serves the node's Service to processes of its machine. Workers connect to it.
	Socket string
}

const (
	// Beside is what a worker may take beside what its statements have: with it, it stays within its share of
	// MemoryBytes.
	Beside = 150 << 20
	// workerLeast is the least that its statements have.
	workerLeast = 32 << 20
)

// Shared divides the node's memory among it and its workers: its own part, and what each worker's statements have.
func (w Workers) Shared(whole int64) (own, each int64, err error) {
	if w.Count == 0 {
		return whole, 0, nil
	}
	share := whole / int64(w.Count+1)
	if share < Beside+workerLeast {
		least := (Beside + workerLeast) * int64(w.Count+1)
		return 0, 0, sqlerror.New("22023", "%s and the node cannot share %d MiB of memory: each takes %d MiB",
			counted.Of(w.Count, "worker"), whole>>20, (Beside+workerLeast)>>20).
			WithHint(fmt.Sprintf("Give the node %d MiB, or fewer workers.", least>>20))
	}
	return whole - share*int64(w.Count), share - Beside, nil
}

// Spill divides what may be spilled in the same way.
func (w Workers) Spill(whole int64) (own, each int64) {
	each = whole / int64(w.Count+1)
	return whole - each*int64(w.Count), each
}

// Check refuses workers that cannot be, before the node is anything that others see.
func (w Workers) Check(inCluster bool) error {
	switch {
	case w.Count == 0:
		return nil
	case inCluster:
		return sqlerror.New("0A000", "a node of a cluster has no workers: they do not split queries").
			WithHint("Leave the workers out, or run the node alone.")
	case len(w.Command) == 0 || w.Socket == "":
		return errors.New("workers need a command and the socket of the node")
	}
	return nil
}
