package engine

import (
	"github.com/csmsql/csmsql/engine/statement"
	"github.com/csmsql/csmsql/exec/plan"
)

// written is how a user wrote a statement, where all that is behind Probe reads another text: 0x1F is 31 there (statement.Plain). Errors
// point into the user's text. The zero value is that of a text that was plain.
type written struct {
	users, plain string
	edits        edits
}

// plainSpelling is a user's text in plain spelling.
func plainSpelling(sql string) (string, written, error) {
	plain, replaced, err := statement.Plain(sql)
	if err != nil || replaced == nil {
		return sql, written{}, err
	}
	s := written{users: sql, plain: plain, edits: make(edits, len(replaced))}
	for i, r := range replaced {
		s.edits[i] = plan.Edit{Span: plan.Span{Start: r.Start, End: r.End}, Length: r.Length}
	}
	return plain, s, nil
}

// place makes an error's position one in the user's text.
func (s written) place(err error) error {
	if err == nil || s.edits == nil {
		return err
	}
	return s.edits.inOriginal(err, s.plain, s.users)
}
