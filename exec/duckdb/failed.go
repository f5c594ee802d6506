package duckdb

import (
	"errors"
	"strings"
)

// A fatal error, or an internal one while a statement that writes runs (D13), invalidates the instance of DuckDB: it
// takes no statement any more, of any connection, until it is opened again. What lay in it is lost: names and temporary
// objects.

// Failed is closed when the database takes no statements any more.
func (db *Database) Failed() <-chan struct{} { return db.failed }

// note checks whether an error of one of its statements has invalidated the database.
func (db *Database) note(err error) {
	var e *Error
	if !errors.As(err, &e) || e.Kind != kindFatal && (e.Kind != kindInternal || db.takes()) {
		return
	}
	db.failing.Do(func() { close(db.failed) })
}

// takes reports whether the database still takes statements.
func (db *Database) takes() bool {
	c, err := db.connect()
	if err != nil {
		return false
	}
	defer c.Close()
	var e *Error
	return !errors.As(c.Exec("SELECT 1"), &e) || e.Kind != kindFatal
}

const (
	// DuckDB's exception types of errors that are its own fault.
	kindFatal    = "FATAL"
	kindInternal = "INTERNAL"
	// invalidated is the error of every statement from then on.
	invalidated = "database has been invalidated because of a previous fatal error"
	failedHint  = "A server restarts by itself, and its tables stay: connect again. " +
		"A Go program closes the engine and opens it again."
)

// explainFailed says what an invalidated database means.
func (e *Error) explainFailed() {
	_, cause, found := strings.Cut(e.Message, "Original error: ")
	if e.Message = "DuckDB has failed inside, and takes no statements any more"; found {
		e.Message += ": " + strings.Trim(strings.TrimSpace(cause), `"`)
	}
	e.State, e.HintText = "57P02", failedHint
}
