package sqlerror

import (
	"errors"
	"fmt"
)

// Error is an error of a statement with what SQL clients want to know of it. Only State and Message are always there.
type Error struct {
	State      string // SQLSTATE, five characters
	Message    string
	At         int // position in the statement in characters from 1; 0: unknown
	DetailText string
	HintText   string
	// ContextText says where in what was being done the error came up: COPY t, line 3, column b.
	ContextText string
	// RoutineName is that of PostgreSQL's function that says this, where drivers know the error by it.
	RoutineName string
	Object      Object
	Cause       error
}

// Object is the object of an error, whose names are sent to clients. Each name may be empty.
type Object struct{ Schema, Table, Column, Constraint string }

// New is an error of a state with a message.
func New(state, format string, args ...any) *Error {
	return &Error{State: state, Message: fmt.Sprintf(format, args...)}
}

// WithHint changes the error's hint, and returns it.
func (e *Error) WithHint(text string) *Error {
	e.HintText = text
	return e
}

// WithDetail changes the error's detail, and returns it.
func (e *Error) WithDetail(text string) *Error {
	e.DetailText = text
	return e
}

// WithCause changes what errors.Is and errors.As find in the error, and returns it.
func (e *Error) WithCause(cause error) *Error {
	e.Cause = cause
	return e
}

func (e *Error) Error() string { return e.Message }

// SQLState is the SQLSTATE of the error.
func (e *Error) SQLState() string { return e.State }

// Position is where in the text, in characters from 1; 0 when unknown.
func (e *Error) Position() int { return e.At }

// Detail says more about the mistake, if there is more to say.
func (e *Error) Detail() string { return e.DetailText }

// Hint says what to do instead, if there is something to say.
func (e *Error) Hint() string { return e.HintText }

// Context says where in what was being done the error came up.
func (e *Error) Context() string { return e.ContextText }

// Routine is the name of PostgreSQL's function by which drivers know the error.
func (e *Error) Routine() string { return e.RoutineName }

// Objects are the names of what the error is about; empty: nothing in particular.
func (e *Error) Objects() (schema, table, column, constraint string) {
	return e.Object.Schema, e.Object.Table, e.Object.Column, e.Object.Constraint
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// State is the SQLSTATE of an error or of what it wraps, "" if none of them has one.
func State(err error) string {
	var stated interface{ SQLState() string }
	if errors.As(err, &stated) {
		return stated.SQLState()
	}
	return ""
}
