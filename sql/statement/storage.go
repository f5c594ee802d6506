package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Storage reads what was written in the WITH (…) of a CREATE TABLE, or the SET (…) of an ALTER TABLE: name = value, or
// a name alone, whose value is "true" as PostgreSQL has it. Names are in lower case, and are not checked.
func Storage(with string) ([]Option, error) {
	c := newCursor(with)
	var out []Option
	for !c.done() {
		at := c.peek(0)
		name, ok := c.label()
		for ok && c.accept(".") {
			var part string
			part, ok = c.label()
			name += "." + part
		}
		if !ok {
			return nil, withoutPosition(c.unexpected())
		}
		for _, o := range out {
			if o.Name == strings.ToLower(name) {
				return nil, &sqlerror.Error{State: "42601", Message: "parameter \"" + at.Text + "\" specified more than once"}
			}
		}
		value := "true"
		if c.accept("=") {
			var err error
			if c.peek(0).Kind == lex.String && c.peek(1).Kind == lex.End {
				value, err = c.stringValue()
			} else {
				value, err = c.optionValue()
			}
			if err != nil {
				return nil, withoutPosition(err)
			}
		}
		out = append(out, Option{Name: strings.ToLower(name), Value: value})
		if !c.accept(",") {
			break
		}
	}
	return out, withoutPosition(c.finish())
}

// withoutPosition drops a position that is one in a piece of the text.
func withoutPosition(err error) error {
	if e, ok := err.(*sqlerror.Error); ok {
		moved := *e
		moved.At = 0
		return &moved
	}
	return err
}
