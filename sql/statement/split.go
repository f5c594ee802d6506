package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// Split cuts a text into its statements, each a piece of it without its semicolon and without spaces around it (S3). A
// text in which a string or comment does not end is one statement, whose Parse says what is wrong with it.
func Split(read *lex.Text) []*lex.Text {
	var out []*lex.Text
	start, last := -1, 0 // of the statement that is being read
	for at := 0; ; {
		t := read.Next(at)
		at = t.End()
		switch {
		case t.Kind == lex.Incomplete:
			return []*lex.Text{lex.Client.Text(strings.TrimSpace(read.SQL))}
		case t.Kind != lex.End && !t.Is(";"):
			if start < 0 {
				start = t.Start
			}
			last = at
			continue
		case start >= 0:
			out = append(out, read.Part(start, last))
		}
		if t.Kind == lex.End {
			return out
		}
		start = -1
	}
}
