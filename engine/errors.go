package engine

import (
	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Error is an error of a statement with what SQL clients want to know of it.
type Error = sqlerror.Error

// ErrClosed is what errors.Is finds in the errors of everything that is asked of an engine after Close began (57P03),
// or that Close ended (57P01); ErrSessionClosed is the same of a session (08003).
var (
	ErrClosed        = lifetime.ErrClosed
	ErrSessionClosed = lifetime.ErrSessionClosed
)

// planOutdated is the error of a prepared statement whose columns are others by now. Drivers that keep statements, pgJDBC and asyncpg,
// prepare it again when they see the routine's name.
func planOutdated() *Error {
	e := sqlerror.New("0A000", "cached plan must not change result type").WithHint("Prepare the statement again.")
	e.RoutineName = "RevalidateCachedQuery"
	return e
}
