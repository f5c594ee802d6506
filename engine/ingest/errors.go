package ingest

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Error is a value that cannot be stored.
type Error struct {
	State, Message string
}

func (e *Error) Error() string { return e.Message }

// SQLState is the SQLSTATE of the error.
func (e *Error) SQLState() string { return e.State }

func failure(state, format string, args ...any) error {
	return &Error{state, fmt.Sprintf(format, args...)}
}

// quotedMax bounds how much of a bad value an error shows.
const quotedMax = 64

func errNotText(v []byte) error {
	if len(v) > quotedMax {
		return failure("22021", "invalid byte sequence for encoding \"UTF8\" in %q… (%d bytes)", v[:quotedMax], len(v))
	}
	return failure("22021", "invalid byte sequence for encoding \"UTF8\" in %q", v)
}

func errType(have, want arrow.DataType) error {
	return failure("42804", "values of type %s cannot be stored as %s", have, want)
}
