package plan

import "errors"

// Errors of the analyses. Neither is a reaction to what a statement refers to: unknown tables, columns and functions
// are DuckDB's to complain about, with the user's own text and positions.
var (
	// ErrStatement: the parse tree is missing, or its positions do not belong to the text that was given with it.
	ErrStatement = errors.New("the parse tree does not belong to this statement text")
)

// StatementError says which name could not be found where the parse tree says it stands. It wraps [ErrStatement].
type StatementError struct {
	Name     string // the table's name according to the parse tree
	Position int    // byte offset in the text
}

func (e *StatementError) Error() string {
	return ErrStatement.Error() + ": no name \"" + e.Name + "\" at byte " + itoa(e.Position) +
		"; parse the text again and hand over both together"
}

// Unwrap lets errors.Is find [ErrStatement].
func (e *StatementError) Unwrap() error { return ErrStatement }

// SQLState is XX000, internal error: only a programming mistake mixes a text with another text's tree.
func (e *StatementError) SQLState() string { return "XX000" }
