package wire

import (
	"errors"
	"fmt"
)

// Error is an error of the protocol itself, with the SQLSTATE that the client sees.
type Error struct {
	State   string // SQLSTATE, five characters
	Message string
	Help    string // what to do about it; may be empty
}

func (e *Error) Error() string { return e.Message }

// SQLState returns the SQLSTATE.
func (e *Error) SQLState() string { return e.State }

// Hint says what to do about it.
func (e *Error) Hint() string { return e.Help }

// Errors that a caller or a client can run into, grouped by when.
var (
	// ErrNotLoopback refuses an address that other hosts can reach without authentication. (CheckListen)
	ErrNotLoopback = errors.New("refusing to listen without authentication")

	// ErrTooManyConnections refuses a client over Options.MaxConnections. (accept)
	ErrTooManyConnections = &Error{"53300", "sorry, too many clients already", "Close idle connections, pool them, or raise the server's connection limit."}

	// ErrShutdown ends a connection because the server stops. (Serve's context)
	ErrShutdown = &Error{"57P01", "terminating connection due to administrator command", ""}

	// ErrCanceled is the cause of a context that a cancel request ended. (running statement)
	ErrCanceled = &Error{"57014", "canceling statement due to user request", ""}

	// ErrStatementTimeout is the cause of a context that ended because the statement took too long. (Timed)
	ErrStatementTimeout = &Error{"57014", "canceling statement due to statement timeout", ""}

	// ErrConnectionLost is the cause of a context whose client went away. (running statement)
	ErrConnectionLost = &Error{"08006", "connection to client lost", ""}

	// errPortalClosed is the cause of a context whose statement is over. It never reaches a client.
	errPortalClosed = errors.New("portal was closed")

	// errTerminated ends a connection without a word: the client left or said goodbye.
	errTerminated = errors.New("client said goodbye")
)

// fatalError marks an error inside of a statement that ends the connection.
type fatalError struct{ error }

func (e *fatalError) Unwrap() error { return e.error }

// endsConnection reports whether the connection ends after err: the client is gone, or only the reason is still sent.
func endsConnection(err error) bool {
	var fatal *fatalError
	return errors.Is(err, ErrConnectionLost) || errors.Is(err, ErrShutdown) || errors.As(err, &fatal)
}

func protocolViolation(format string, args ...any) *Error {
	return &Error{State: "08P01", Message: fmt.Sprintf(format, args...)}
}
