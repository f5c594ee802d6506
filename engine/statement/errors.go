package statement

import (
	"errors"
	"unicode/utf8"

	"github.com/pganalyze/pg_query_go/v6/parser"
)

// Error is something wrong with the text itself.
type Error struct {
	State   string // SQLSTATE
	Message string
	At      int // position in characters, counted from 1; 0 when unknown
	Advice  string
}

func (e *Error) Error() string    { return e.Message }
func (e *Error) SQLState() string { return e.State }
func (e *Error) Position() int    { return e.At }
func (e *Error) Hint() string     { return e.Advice }

func unsupported(message, advice string) error {
	return &Error{State: "0A000", Message: message, Advice: advice}
}

// position turns a byte offset into PostgreSQL's position.
func position(sql string, offset int) int {
	if offset < 0 || offset > len(sql) {
		return 0
	}
	return utf8.RuneCountInString(sql[:offset]) + 1
}

func syntaxError(sql string, err error) error {
	out := &Error{State: "42601", Message: err.Error()}
	var p *parser.Error
	if errors.As(err, &p) {
		out.Message = p.Message
		out.At = p.Cursorpos // pg_query counts characters from 1, as the protocol does
	}
	return out
}
