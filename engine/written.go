package engine

import (
	"github.com/csmsql/csmsql/engine/statement"
	"github.com/csmsql/csmsql/sql/edit"
)

// written is how a user wrote a statement, where all that is behind Probe reads another text: 0x1F is 31 there (statement.Plain). Errors
// point into the user's text. The zero value is that of a text that was plain.
type written struct {
	users, plain string
	edits        edit.List
}

// plainSpelling is a user's text in plain spelling.
func plainSpelling(sql string) (string, written, error) {
	plain, replaced, err := statement.Plain(sql)
	if err != nil || replaced == nil {
		return sql, written{}, err
	}
	return plain, written{users: sql, plain: plain, edits: replaced}, nil
}

// place makes an error's position one in the user's text.
func (s written) place(err error) error {
	if err == nil || s.edits == nil {
		return err
	}
	return inOriginal(err, s.edits, s.plain, s.users)
}
