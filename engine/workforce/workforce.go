package workforce

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/budget"
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/engine/worker"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Config is the node whose statements the workers run.
type Config struct {
	Workers
	Catalog     *catalog.Catalog
	Directory   string // the node's; each worker has a directory in it
	MemoryBytes int64  // of each one's statements
	SpillBytes  int64  // of all
	Threads     int
	Files       duckdb.FileAccess
	// Verify and Disable are the node's.
	Verify, Disable string
	Parking         *budget.Parking
	Log             *slog.Logger
}

// Workforce is the workers of a node. Safe for concurrent use.
type Workforce struct {
	Pool    *worker.Pool
	config  Config
	memory  int64         // of each one's statements
	numbers atomic.Uint64 // of statements

	mu       sync.Mutex // guards the rest; a leaf
	revision catalog.Revision
	record   []byte // of the snapshot that was asked for last

	views sync.Map // text of a view → viewNames
}

// Open starts the workers; nil: there are to be none. They come up when the node's Service answers.
func Open(c Config) *Workforce {
	if c.Count == 0 {
		return nil
	}
	w := &Workforce{config: c, memory: c.MemoryBytes}
	w.Pool = worker.Open(worker.Options{
		Count: c.Count, Command: c.Command, Environment: c.Environment, Start: w.Start, Lot: c.Parking, Log: c.Log,
	})
	return w
}

// Number is one that no other statement has.
func (w *Workforce) Number() uint64 { return w.numbers.Add(1) }

// Start is what a worker is started with.
type Start struct {
	Socket, Directory, Verify, Disable string
	MemoryBytes, SpillBytes            int64
	Threads                            int
	Files                              duckdb.FileAccess
}

// Start is what a worker in a slot receives first. No other process uses the slot's directory: what a worker that was
// killed has spilled goes.
func (w *Workforce) Start(slot int) ([]byte, error) {
	c := &w.config
	directory := filepath.Join(c.Directory, "workers", strconv.Itoa(slot))
	if err := os.RemoveAll(directory); err != nil {
		return nil, fmt.Errorf("clear a worker's directory: %w", err)
	}
	_, spill := c.Workers.Spill(c.SpillBytes)
	return json.Marshal(Start{
		Socket: c.Workers.Socket, Directory: directory, Verify: c.Verify, Disable: c.Disable,
		MemoryBytes: w.memory, SpillBytes: spill, Threads: c.Threads, Files: c.Files,
	})
}

// Snapshot is a snapshot as workers receive it.
func (w *Workforce) Snapshot(s *catalog.Snapshot) worker.Snapshot {
	revision := s.Revision()
	return worker.Snapshot{Revision: int64(revision), Record: func() ([]byte, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.record != nil && w.revision == revision {
			return w.record, nil
		}
		record, err := w.config.Catalog.Record(s)
		if err != nil {
			return nil, err
		}
		w.revision, w.record = revision, record.Encode()
		return w.record, nil
	}}
}

// Close ends the workers, and what they run. w may be nil.
func (w *Workforce) Close() {
	if w != nil {
		w.Pool.Close()
		_ = os.RemoveAll(filepath.Join(w.config.Directory, "workers")) // the next start clears it, too
	}
}

// Error is the error of a statement that a worker ran.
func (w *Workforce) Error(err error) error {
	var failed *worker.Failure
	var unstarted *worker.StartError
	crash, crashed := worker.IsCrash(err)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &failed):
		return &sqlerror.Error{
			State: failed.State, Message: failed.Message, At: failed.Position, DetailText: failed.Detail,
			HintText: failed.Hint, ContextText: failed.Where, RoutineName: failed.Routine,
			Object: sqlerror.Object{
				Schema: failed.Schema, Table: failed.Table, Column: failed.Column, Constraint: failed.Constraint,
			},
		}
	case errors.As(err, &unstarted):
		x := sqlerror.New("58000", "no worker comes up to run the statement").
			WithHint("The node's log says why. Statements in a transaction block run without one.")
		x.Cause = err
		return x
	case crashed:
		x := sqlerror.New("58000", "the worker that ran the statement ended: %s", crash.How).
			WithHint("Only this statement is lost; the next one has another worker. The node's log has the statement.")
		x.DetailText = fmt.Sprintf("It was process %d.", crash.Process)
		x.Cause = err
		return x
	case errors.Is(err, worker.ErrStands):
		return w.config.Parking.Full()
	case errors.Is(err, worker.ErrClosed):
		return lifetime.Closing
	}
	return err
}

// Types are the families of parameters as a worker reports them.
func Types(list []int) []duckdb.ParameterType {
	types := make([]duckdb.ParameterType, len(list))
	for i, t := range list {
		types[i] = duckdb.ParameterType(t)
	}
	return types
}

// Columns is the schema of a worker's rows, nil if it gives none.
func Columns(d *worker.Description) (*arrow.Schema, error) {
	if d.Columns == nil {
		return nil, nil
	}
	return worker.DecodeSchema(d.Columns)
}
