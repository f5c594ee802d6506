package engine

import (
	"errors"
	"regexp"

	"github.com/csmsql/csmsql/engine/lifetime"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
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

// grantOf says once more what the allocator says.
var grantOf = regexp.MustCompile(`grant \d+ bytes to "[^"]*": memregion: `)

// advise says what to do about a full region.
func advise(err error) error {
	var told interface{ Hint() string }
	if !errors.Is(err, memregion.ErrRegionFull) || errors.As(err, &told) {
		return err
	}
	e := sqlerror.New("53200", "%s", grantOf.ReplaceAllString(err.Error(), "")).WithHint("Nothing was stored. Drop or truncate tables, or start the node again with a larger --region: its tables stay.")
	e.Cause = err
	return e
}

// written is how a user wrote a statement, where all that is behind Probe reads another text: 0x1F is 31 there
// (statement.Plain), and ? is $1 (statement.Numbered). Errors point into the user's text. The zero value is that of a
// text that was plain.
type written struct {
	users, plain string
	edits        edit.List
	parameters   []string // the names of $1, $2, … that the user gave them
}

// plainSpelling is a user's text in plain spelling.
func plainSpelling(sql string) (string, written, error) {
	numbered, first, names, err := statement.Numbered(sql)
	if err != nil {
		return "", written{}, err
	}
	plain, then, err := statement.Plain(numbered)
	if err != nil {
		return "", written{}, dialect.InOriginal(err, first, numbered, sql)
	}
	if first == nil && then == nil {
		return sql, written{}, nil
	}
	return plain, written{users: sql, plain: plain, edits: first.Then(then), parameters: names}, nil
}

// place makes an error's position one in the user's text.
func (s written) place(err error) error {
	if err == nil || s.edits == nil {
		return err
	}
	return dialect.InOriginal(err, s.edits, s.plain, s.users)
}
