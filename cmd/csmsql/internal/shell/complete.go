package shell

import "github.com/csmsql/csmsql/sql/lex"

// complete reports whether a text ends outside of quotes and comments with a semicolon: then its statements can run. A
// text of only white space and comments is not complete: nothing is lost by reading on.
func complete(text string) bool {
	ended := false
	t := lex.Client.Next(text, 0)
	for !t.Ends() {
		ended = t.Is(";")
		t = lex.Client.Next(text, t.End())
	}
	return ended && t.Kind == lex.End
}
