package lex

import "strings"

// Split cuts a text into its statements, each a piece of it without its semicolon and without spaces around it
// (lex.L4). A text in which a string or comment does not end is one statement, whose Parse says what is wrong with it.
func Split(read *Text) []*Text {
	var out []*Text
	start, last := -1, 0 // of the statement that is being read
	var within body
	for at := 0; ; {
		t := read.Next(at)
		at = t.End()
		switch {
		case t.Kind == Incomplete:
			return []*Text{Client.Text(strings.TrimSpace(read.SQL))}
		case t.Kind != End && (!t.Is(";") || within.ends > 0):
			if start < 0 {
				start, within = t.Start, body{isCreate: t.Is("create")}
			}
			within.take(t)
			last = at
			continue
		case start >= 0:
			out = append(out, read.Part(start, last))
		}
		if t.Kind == End {
			return out
		}
		start = -1
	}
}

// body follows a text to where the body of a function ends that is written BEGIN ATOMIC … END: semicolons in it end no
// statement. A CASE in it has an END, too.
type body struct {
	isCreate, begins bool
	ends             int
}

func (b *body) take(t Token) {
	switch {
	case !b.isCreate || t.Kind != Word:
	case b.ends > 0 && t.Is("case"), b.begins && t.Is("atomic"):
		b.ends++
	case b.ends > 0 && t.Is("end"):
		b.ends--
	}
	b.begins = b.ends == 0 && t.Is("begin")
}
