package shell

import "github.com/csmsql/csmsql/sql/lex"

// complete reports whether a text ends outside of quotes and comments with a semicolon: then its statements can run. A
// text of nothing but white space and comments is not complete, and costs nothing to go on with.
func complete(text string) bool {
	ended := false
	t := lex.Client.Next(text, 0)
	for !t.Ends() {
		ended = t.Is(";")
		t = lex.Client.Next(text, t.End())
	}
	return ended && t.Kind == lex.End
}
