package worker

import (
	"errors"
	"fmt"
)

// ErrClosed is the error of statements that come after Pool.Close, or that it ended.
var ErrClosed = errors.New("the workers are closed")

// ErrStands fails a result that stands in the way of other statements (WK6).
var ErrStands = errors.New("a suspended result stands in the way of other statements")

// Crash is the error of a statement whose worker ended under it.
type Crash struct {
	Process int    // its number
	How     string // how it ended: "signal: segmentation fault"
	Output  string // what it said last
}

func (c *Crash) Error() string {
	return fmt.Sprintf("the worker that ran the statement ended: %s (process %d)", c.How, c.Process)
}

// StartError says that no worker comes up.
type StartError struct{ Cause error }

func (e *StartError) Error() string { return fmt.Sprintf("no worker comes up: %v", e.Cause) }
func (e *StartError) Unwrap() error { return e.Cause }
