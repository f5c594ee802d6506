package statement

import "github.com/csmsql/csmsql/sql/lex"

// Word is an identifier, quoted or not, or a string in a text, with what stands around it.
type Word struct {
	Name          string // without its quotes, not folded
	Literal       bool   // a string
	At            int    // where it begins, in bytes
	Before, After string // the tokens around it, folded; empty at the ends of the text
	Qualifier     string // the identifier a in a.name, without its quotes
}

// Words are all of them, from left to right, up to whatever does not end.
func Words(sql string) []Word { return words(lex.Client.Text(sql)) }

// Words are those of its text.
func (s *Statement) Words() []Word {
	if s.read == nil {
		return Words(s.Text)
	}
	return words(s.read)
}

func words(read *lex.Text) []Word {
	var found []Word
	var before, earlier lex.Token
	t := read.Next(0)
	for !t.Ends() {
		after := read.Next(t.End())
		if name, ok := t.Name(); ok {
			w := Word{Name: name, Literal: t.Kind == lex.String, At: t.Start, Before: lex.Fold(before.Text), After: lex.Fold(after.Text)}
			if before.Is(".") {
				w.Qualifier, _ = earlier.Name()
			}
			found = append(found, w)
		}
		earlier, before, t = before, t, after
	}
	return found
}
