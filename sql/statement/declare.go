package statement

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/csmsql/csmsql/sql/lex"
)

// FetchAll is the Count of a Fetch that asks for all rows that are left.
const FetchAll = math.MaxInt64

// Declare opens a cursor of SQL over Query, which stands at byte QueryAt of the text.
type Declare struct {
	Name    string
	Query   string
	QueryAt int
}

// Fetch takes the next Count rows of a cursor. Move only counts them. Backward asks for rows that are behind: PRIOR,
// FIRST, a negative count and the like.
type Fetch struct {
	Name           string
	Count          int64
	Move, Backward bool
}

// CloseCursor forgets a cursor, all of them if Name is empty.
type CloseCursor struct{ Name string }

// declare reads DECLARE name … CURSOR … FOR query.
func (c *cursor) declare() (any, error) {
	d := &Declare{}
	var ok bool
	if d.Name, ok = c.identifier(); !ok {
		return nil, c.unexpected()
	}
	for !c.accept("cursor") {
		switch {
		case c.peek(0).Is("binary"):
			return nil, c.refuse("a BINARY cursor", "Ask for the binary format through the protocol: it is the client's choice.")
		case c.peek(0).Is("scroll"):
			return nil, c.refuse("a SCROLL cursor", "Declare it without SCROLL and read forward.")
		case c.accept("no", "scroll"), c.acceptAny("insensitive", "asensitive"): // every cursor is
		default:
			return nil, c.unexpected()
		}
	}
	if c.peek(0).Is("with") && c.peek(1).Is("hold") {
		return nil, c.refuse("a cursor WITH HOLD", "Read it before the transaction ends, or keep the rows with CREATE TEMP TABLE … AS.")
	}
	c.accept("without", "hold")
	if !c.accept("for") || c.done() {
		return nil, c.unexpected()
	}
	d.QueryAt = c.peek(0).Start
	d.Query = c.rest()
	return d, nil
}

// fetch reads FETCH or MOVE [direction] [FROM | IN] name.
func (c *cursor) fetch(verb string) (any, error) {
	f := &Fetch{Count: 1, Move: verb == "move"}
	if c.peek(1).Kind != lex.End { // else the word is the cursor's name, whatever it means
		if err := c.direction(f); err != nil {
			return nil, err
		}
		c.acceptAny("from", "in")
	}
	var ok bool
	if f.Name, ok = c.identifier(); !ok {
		return nil, c.unexpected()
	}
	return f, c.finish()
}

func (c *cursor) direction(f *Fetch) (err error) {
	switch {
	case c.accept("next"):
	case c.acceptAny("prior", "first", "last"):
		f.Backward = true
	case c.acceptAny("absolute", "relative"):
		f.Backward = true
		_, err = c.rowCount()
	case c.accept("backward"):
		f.Backward = true
		if !c.accept("all") && c.peek(0).Kind == lex.Number {
			_, err = c.rowCount()
		}
	case c.accept("forward"):
		if c.accept("all") {
			f.Count = FetchAll
		} else if c.counts() {
			f.Count, err = c.rowCount()
		}
	case c.accept("all"):
		f.Count = FetchAll
	case c.counts():
		f.Count, err = c.rowCount()
	}
	if f.Count <= 0 { // 0 asks for the last row once more
		f.Backward = true
	}
	return err
}

func (c *cursor) counts() bool {
	return c.peek(0).Kind == lex.Number || c.peek(0).IsAny("+", "-")
}

// rowCount reads a number of rows.
func (c *cursor) rowCount() (int64, error) {
	sign := ""
	if c.peek(0).IsAny("+", "-") {
		sign = c.next().Text
	}
	n, err := strconv.ParseInt(sign+c.peek(0).Text, 10, 64)
	if err != nil || c.peek(0).Kind != lex.Number {
		return 0, c.unexpected()
	}
	c.next()
	return n, nil
}

// closeCursor reads CLOSE name or ALL.
func (c *cursor) closeCursor() (any, error) {
	if c.accept("all") {
		return &CloseCursor{}, c.finish()
	}
	name, ok := c.identifier()
	if !ok {
		return nil, c.unexpected()
	}
	return &CloseCursor{Name: name}, c.finish()
}

// Tag is PostgreSQL's command tag for a number of rows.
func (f *Fetch) Tag(rows int64) string {
	if f.Move {
		return "MOVE " + strconv.FormatInt(rows, 10)
	}
	return "FETCH " + strconv.FormatInt(rows, 10)
}

// QueryIn is the cursor's query with blanks before it, so that positions are those in the whole statement, whose text is
// given.
func (d *Declare) QueryIn(text string) string {
	return strings.Repeat(" ", utf8.RuneCountInString(text[:d.QueryAt])) + d.Query
}
