package compute

import (
	"errors"
	"fmt"
)

// Sentinels, found with errors.Is; each travels inside an [Error] that says what happened and carries the SQLSTATE.
var (
	// ErrOverflow: a result does not fit its type (22003).
	ErrOverflow = errors.New("numeric value out of range")
	// ErrArgument: a parameter is missing, or its Go value does not surely mean one value of the type asked for
	// (22023, or 22003 of a number beyond the type). The engine may run the statement on DuckDB instead.
	ErrArgument = errors.New("parameter value")
	// ErrTooLarge: rows that are computed at once do not fit a batch (54000).
	ErrTooLarge = errors.New("result too large")
	// ErrLayout: a source delivered columns that are not what the plan scans (XX000).
	ErrLayout = errors.New("unexpected column layout")
)

// Error is an error that SQL can see.
type Error struct {
	Sentinel error
	Code     string // SQLSTATE
	Detail   string
}

func (e *Error) Error() string { return e.Sentinel.Error() + ": " + e.Detail }

// Unwrap gives the sentinel.
func (e *Error) Unwrap() error { return e.Sentinel }

// SQLState is the five-character code.
func (e *Error) SQLState() string { return e.Code }

func overflow(format string, args ...any) error {
	return &Error{ErrOverflow, "22003", fmt.Sprintf(format, args...)}
}

func argumentError(n int, format string, args ...any) *Error {
	return &Error{ErrArgument, "22023", fmt.Sprintf("$%d: ", n) + fmt.Sprintf(format, args...)}
}

func layoutError(format string, args ...any) error {
	return &Error{ErrLayout, "XX000", fmt.Sprintf(format, args...)}
}
