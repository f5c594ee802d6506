package statement

import (
	"strings"
	"unicode/utf8"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// cursor reads tokens from left to right. It is a value: a copy of it is a mark to go back to.
type cursor struct {
	sql   string
	read  *lex.Text
	ahead [lookahead]lex.Token // the next tokens
	known int                  // how many of them are there
	last  int                  // where the last token that was taken ends
	at    int                  // a byte, and
	count int                  // how many characters are before it

	constants int // where the rows of an INSERT of constants end (bulk.Rows); 0: it is none
}

const lookahead = 4

func newCursor(sql string) *cursor { return &cursor{sql: sql, read: lex.Client.Text(sql)} }

// peek looks at a token ahead without taking it. A semicolon with nothing behind it is the end.
func (c *cursor) peek(ahead int) lex.Token {
	for c.known <= ahead {
		at := c.last
		if c.known > 0 {
			at = c.ahead[c.known-1].End()
		}
		t := c.read.Next(at)
		if t.Is(";") && onlySemicolons(c.read, t.End()) {
			t = lex.Token{Start: len(c.sql)}
		}
		c.ahead[c.known] = t
		c.known++
	}
	return c.ahead[ahead]
}

func onlySemicolons(read *lex.Text, at int) bool {
	for {
		t := read.Next(at)
		if !t.Is(";") {
			return t.Kind == lex.End
		}
		at = t.End()
	}
}

func (c *cursor) next() lex.Token {
	t := c.peek(0)
	if t.Kind == lex.End {
		return t
	}
	copy(c.ahead[:], c.ahead[1:c.known])
	c.known--
	c.last = t.End()
	return t
}

func (c *cursor) done() bool { return c.peek(0).Kind == lex.End }

// accept takes the keywords or symbols if they are next, all or none.
func (c *cursor) accept(list ...string) bool {
	for i, s := range list {
		if !c.peek(i).Is(s) {
			return false
		}
	}
	for range list {
		c.next()
	}
	return true
}

// acceptAny takes one of several keywords.
func (c *cursor) acceptAny(list ...string) bool {
	if c.peek(0).IsAny(list...) {
		c.next()
		return true
	}
	return false
}

// until takes tokens and whole groups up to the first token outside of a group that stop wants, and returns the text
// that they are. before is the token before t.
func (c *cursor) until(stop func(before, t lex.Token) bool) string {
	from, before := c.peek(0).Start, lex.Token{}
	for !c.done() && !stop(before, c.peek(0)) {
		before = c.peek(0)
		c.skip()
	}
	return c.since(from)
}

// since is the text from an offset to the last token that was taken.
func (c *cursor) since(from int) string {
	if c.last <= from {
		return ""
	}
	return c.sql[from:c.last]
}

// rest is the text from the next token to the last.
func (c *cursor) rest() string { return c.until(func(lex.Token, lex.Token) bool { return false }) }

// skip moves past a token or a whole group.
func (c *cursor) skip() {
	depth := 0
	for !c.done() {
		switch t := c.next(); {
		case t.IsAny("(", "[", "{"):
			depth++
		case t.IsAny(")", "]", "}"):
			depth--
		}
		if depth <= 0 {
			return
		}
	}
}

// group moves past a balanced group in parentheses if one is next, and returns the text between its first and last
// token.
func (c *cursor) group() (string, bool) {
	if !c.peek(0).Is("(") {
		return "", false
	}
	mark := *c
	c.next()
	inside := c.until(func(_, t lex.Token) bool { return t.IsAny(")", "]", "}") })
	if !c.accept(")") {
		*c = mark
		return "", false
	}
	return inside, true
}

// identifier takes a name, folded as PostgreSQL folds it: lower case unless quoted.
func (c *cursor) identifier() (string, bool) {
	if t := c.peek(0); t.Kind == lex.Word && lex.IsReserved(lex.Fold(t.Text)) {
		return "", false
	}
	return c.label()
}

// label takes a name where reserved words are names too: behind a dot or AS.
func (c *cursor) label() (string, bool) {
	switch t := c.peek(0); t.Kind {
	case lex.Word:
		return lex.Fold(c.next().Text), true
	case lex.Quoted:
		name, ok := t.Name()
		if ok {
			c.next()
		}
		return name, ok
	}
	return "", false
}

// position is PostgreSQL's position of a byte. It counts on from where it was asked last: a text may be one long list.
func (c *cursor) position(offset int) int {
	if offset < c.at {
		c.at, c.count = 0, 0
	}
	c.count += utf8.RuneCountInString(c.sql[c.at:offset])
	c.at = offset
	return c.count + 1
}

// name takes a name of up to three parts.
func (c *cursor) name() (Name, error) {
	at := c.position(c.peek(0).Start)
	part, ok := c.identifier()
	parts := []string{part}
	for ok && c.accept(".") {
		part, ok = c.label()
		parts = append(parts, part)
	}
	if !ok {
		return Name{}, c.unexpected()
	}
	switch len(parts) {
	case 1:
		return Name{Name: parts[0], At: at}, nil
	case 2:
		return Name{Schema: parts[0], Name: parts[1], At: at}, nil
	case 3:
		return Name{Database: parts[0], Schema: parts[1], Name: parts[2], At: at}, nil
	}
	return Name{}, &sqlerror.Error{State: "42601", Message: "improper qualified name (too many dotted names): " + strings.Join(parts, "."), At: at,
		HintText: "A name has at most three parts: database.schema.table."}
}

// ParseName reads the name of a table as SQL writes it, of up to three parts.
func ParseName(text string) (Name, error) {
	if err := encodingError(text); err != nil {
		return Name{}, err
	}
	c := newCursor(text)
	name, err := c.name()
	if err == nil && c.peek(0).Kind != lex.End {
		err = c.unexpected()
	}
	return name, err
}

// list takes one or more names.
func (c *cursor) list() ([]Name, error) {
	var out []Name
	for {
		name, err := c.name()
		if err != nil {
			return nil, err
		}
		if out = append(out, name); !c.accept(",") {
			return out, nil
		}
	}
}

// columns takes a parenthesized list of identifiers if one is next.
func (c *cursor) columns() (names []string, at []int, err error) {
	if !c.accept("(") {
		return nil, nil, nil
	}
	for {
		at = append(at, c.position(c.peek(0).Start))
		name, ok := c.identifier()
		if !ok {
			return nil, nil, c.unexpected()
		}
		names = append(names, name)
		if c.accept(")") {
			return names, at, nil
		}
		if !c.accept(",") {
			return nil, nil, c.unexpected()
		}
	}
}

// finish is an error unless the statement ends here.
func (c *cursor) finish() error {
	if c.done() {
		return nil
	}
	return c.unexpected()
}
