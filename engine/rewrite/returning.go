package rewrite

import (
	"strings"
	"unicode/utf8"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Returning is the list of a RETURNING.
type Returning struct {
	List    string
	Written string // the list as it is asked, and how it differs
	Edits   edit.List
	Alias   string // what the list knows the table by
	Aliased bool   // and by nothing else
}

// ReturningOf is what a statement returns of its rows, nil if nothing.
func ReturningOf(head any) *Returning {
	var list, alias string
	var name statement.Name
	switch head := head.(type) {
	case *statement.Insert:
		list, alias, name = head.Returning, head.Alias, head.Name
	case *statement.Update:
		list, alias, name = head.Returning, head.Alias, head.Name
	case *statement.Delete:
		list, alias, name = head.Returning, head.Alias, head.Name
	}
	if list == "" {
		return nil
	}
	r := &Returning{List: list, Written: list, Alias: alias, Aliased: alias != ""}
	if !r.Aliased {
		r.Alias = name.Name
	}
	return r
}

// Query asks for the list of rows.
func (r *Returning) Query(from string) string {
	return "SELECT " + r.Written + "\n FROM (" + from + ") AS " + duckdb.QuoteIdentifier(r.Alias)
}

// PlaceQuery moves an error's position from the list's query into the statement, whose text is given.
func (r *Returning) PlaceQuery(err error, text string) error {
	e, ok := err.(*sqlerror.Error)
	if !ok || e.At == 0 {
		return err
	}
	moved := *e
	if moved.At -= utf8.RuneCountInString("SELECT "); moved.At <= 0 || moved.At > utf8.RuneCountInString(r.Written) {
		moved.At = 0
	}
	return r.Place(dialect.InOriginal(&moved, r.Edits, r.Written, r.List), text)
}

// Place moves an error's position from the list into the statement, which ends with it.
func (r *Returning) Place(err error, text string) error {
	e, ok := err.(*sqlerror.Error)
	if !ok || e.At == 0 {
		return err
	}
	moved := *e
	moved.At = 0
	if start := strings.LastIndex(text, r.List); start >= 0 {
		moved.At = e.At + utf8.RuneCountInString(text[:start])
	}
	return &moved
}
