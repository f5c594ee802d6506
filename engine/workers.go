package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/worker"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/counted"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// A node with workers has the queries of its sessions planned and run by DuckDB in other processes (package worker,
// decision 0026). A worker is a borrower of the node: it has mapped the region and reads chunks in place. It takes
// no lease: the snapshot travels with the statement, whose session holds it until the worker has ended the
// statement.
//
// Which statements go there says leaving.go; elsewhere.go is a statement's way to a worker and back, workerside.go
// the worker.

// Workers are processes that run a node's queries, so that a crash of DuckDB costs one of them and not the node.
type Workers struct {
	// Count is how many there are; 0: none, and the node runs everything itself. They and the node have equal
	// shares of MemoryBytes and SpillBytes.
	Count int
	// Command starts one, with its arguments: a program that calls ServeWorker.
	Command []string
	// Environment are variables that it has beside this process'.
	Environment []string
	// Socket is where this node's Service is served to processes of its machine, which is the caller's business.
	// Workers connect to it.
	Socket string
}

const (
	// workerBeside is what a worker may take beside what its statements have: with it, it stays within its share of
	// MemoryBytes.
	workerBeside = 150 << 20
	// workerLeast is the least that its statements have.
	workerLeast = 32 << 20
)

// shared divides the node's memory among it and its workers: its own part, and what each worker's statements have.
func (w Workers) shared(whole int64) (own, each int64, err error) {
	if w.Count == 0 {
		return whole, 0, nil
	}
	share := whole / int64(w.Count+1)
	if share < workerBeside+workerLeast {
		least := (workerBeside + workerLeast) * int64(w.Count+1)
		return 0, 0, sqlerror.New("22023", "%s and the node cannot share %d MiB of memory: each takes %d MiB", counted.Of(w.Count, "worker"), whole>>20, (workerBeside+workerLeast)>>20).
			WithHint(fmt.Sprintf("Give the node %d MiB, or fewer workers.", least>>20))
	}
	return whole - share*int64(w.Count), share - workerBeside, nil
}

// spill divides what may be spilled in the same way.
func (w Workers) spill(whole int64) (own, each int64) {
	each = whole / int64(w.Count+1)
	return whole - each*int64(w.Count), each
}

// workers are those of an engine.
type workers struct {
	engine  *Engine
	pool    *worker.Pool
	memory  int64         // of each one's statements
	numbers atomic.Uint64 // of statements

	mu       sync.Mutex // guards the rest; a leaf
	revision catalog.Revision
	record   []byte // of the snapshot that was asked for last

	views sync.Map // text of a view → whether queries that name it may go to a worker
}

// workerStart is what a worker is started with.
type workerStart struct {
	Socket, Directory, Verify, Disable string
	MemoryBytes, SpillBytes            int64
	Threads                            int
	Files                              FileAccess
}

// check refuses workers that cannot be, before the node is anything that others see.
func (w Workers) check(cluster *Cluster) error {
	switch {
	case w.Count == 0:
		return nil
	case cluster != nil:
		return sqlerror.New("0A000", "a node of a cluster has no workers: they do not split queries").
			WithHint("Leave the workers out, or run the node alone.")
	case len(w.Command) == 0 || w.Socket == "":
		return errors.New("engine: workers need a command and the socket of the node")
	}
	return nil
}

// startWorkers starts them if there are to be some. They come up when the node's Service answers.
func (e *Engine) startWorkers() {
	w := e.config.Workers
	if w.Count == 0 {
		return
	}
	e.workers = &workers{engine: e, memory: e.memory.Worker}
	e.workers.pool = worker.Open(worker.Options{
		Count: w.Count, Command: w.Command, Environment: w.Environment, Start: e.workers.start, Lot: &e.parking, Log: e.config.Log,
	})
}

// start is what a worker in a slot is told first. Nobody else uses the slot's directory: what a worker that was
// killed has spilled goes.
func (w *workers) start(slot int) ([]byte, error) {
	c := w.engine.config
	directory := filepath.Join(c.Directory, "workers", strconv.Itoa(slot))
	if err := os.RemoveAll(directory); err != nil {
		return nil, fmt.Errorf("engine: clear a worker's directory: %w", err)
	}
	_, spill := c.Workers.spill(c.SpillBytes)
	return json.Marshal(workerStart{
		Socket: c.Workers.Socket, Directory: directory, Verify: string(c.Verify), Disable: c.Disable,
		MemoryBytes: w.memory, SpillBytes: spill, Threads: c.Threads, Files: c.Files,
	})
}

// snapshot is what v shows, as workers are told of it. v has nothing of a block's own.
func (w *workers) snapshot(v *visible) worker.Snapshot {
	revision := v.contents.Revision()
	return worker.Snapshot{Revision: int64(revision), Record: func() ([]byte, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.record != nil && w.revision == revision {
			return w.record, nil
		}
		record, err := w.engine.catalog.Record(v.lease.Snapshot)
		if err != nil {
			return nil, err
		}
		w.revision, w.record = revision, record.Encode()
		return w.record, nil
	}}
}

// close ends the workers, and what they run.
func (w *workers) close() {
	if w != nil {
		w.pool.Close()
		_ = os.RemoveAll(filepath.Join(w.engine.config.Directory, "workers")) // the next start clears it, too
	}
}

// Workers are this node's, as they are now.
func (e *Engine) Workers() []worker.Status {
	if e.workers == nil {
		return nil
	}
	return e.workers.pool.Status()
}

// fromWorker is the error of a statement that a worker ran.
func (e *Engine) fromWorker(err error) error {
	var failed *worker.Failure
	var unstarted *worker.StartError
	crash, crashed := worker.IsCrash(err)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return &Error{
			State: failed.State, Message: failed.Message, At: failed.Position, DetailText: failed.Detail, HintText: failed.Hint, ContextText: failed.Where,
			RoutineName: failed.Routine, Object: sqlerror.Object{Schema: failed.Schema, Table: failed.Table, Column: failed.Column, Constraint: failed.Constraint},
		}
	case errors.As(err, &unstarted):
		x := sqlerror.New("58000", "no worker comes up to run the statement").WithHint("The node's log says why. Statements in a transaction block run without one.")
		x.Cause = err
		return x
	case crashed:
		x := sqlerror.New("58000", "the worker that ran the statement ended: %s", crash.How).
			WithHint("Only this statement is lost; the next one has another worker. The node's log has the statement.")
		x.DetailText = fmt.Sprintf("It was process %d.", crash.Process)
		x.Cause = err
		return x
	case errors.Is(err, worker.ErrStands):
		return standsInTheWay(e.parking.Most)
	case errors.Is(err, worker.ErrClosed):
		return lifetime.Closing
	}
	return err
}

// workerTypes are the families of parameters as a worker tells them.
func workerTypes(list []int) []duckdb.ParameterType {
	types := make([]duckdb.ParameterType, len(list))
	for i, t := range list {
		types[i] = duckdb.ParameterType(t)
	}
	return types
}

// workerColumns is the schema of a worker's rows, nil if it gives none.
func workerColumns(d *worker.Description) (*arrow.Schema, error) {
	if d.Columns == nil {
		return nil, nil
	}
	return worker.DecodeSchema(d.Columns)
}
