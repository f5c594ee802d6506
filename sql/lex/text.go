package lex

import (
	"cmp"
	"iter"
	"slices"

	"github.com/csmsql/csmsql/internal/invariants"
)

// Found notifies tests of every token that is looked for.
var Found invariants.Probe[Finding]

// Finding says that the token at a byte of a text was looked for. The text is as it was given: a whole one or a part.
type Finding struct {
	SQL   string
	Start int
}

// textMax bounds the texts whose tokens are kept, and by it what is kept of them: 12 bytes a token.
const textMax = 64 << 10

// Text is a text whose tokens are found once, however many readers it has: as far as they read, and when they read. Of
// a text of more than 64 KiB, which is a list of values, nothing is kept, and each reader finds the tokens.
//
// It is not safe for concurrent use.
type Text struct {
	SQL    string
	in     Dialect
	tokens []mark // from the beginning on, in order
	last   int    // the index of the one that was asked for last
}

// mark is a token, without its text.
type mark struct {
	start, end uint32
	kind       Kind
}

// Text is a text that nothing is known of yet.
func (d Dialect) Text(sql string) *Text { return &Text{SQL: sql, in: d} }

// Next is the first token at or after an offset where no token is divided, as Dialect.Next finds it.
func (t *Text) Next(at int) Token {
	if len(t.SQL) > textMax {
		return t.in.Next(t.SQL, at)
	}
	i := t.index(at)
	for ; i == len(t.tokens); i = t.index(at) {
		from := 0
		if i > 0 {
			before := t.tokens[i-1]
			if from = int(before.end); before.kind == End || before.kind == Incomplete {
				return Token{Start: len(t.SQL)}
			}
		}
		found := t.in.Next(t.SQL, from)
		t.tokens = append(t.tokens, mark{uint32(found.Start), uint32(found.End()), found.Kind})
	}
	t.last = i
	return t.tokens[i].of(t.SQL)
}

func (m mark) of(sql string) Token { return Token{sql[m.start:m.end], int(m.start), m.kind} }

// index is that of the first token known to begin at or after an offset, their number if none is. Readers go from one
// token to the next.
func (t *Text) index(at int) int {
	for i := t.last; i <= t.last+1 && i < len(t.tokens); i++ {
		if int(t.tokens[i].start) >= at && (i == 0 || int(t.tokens[i-1].start) < at) {
			return i
		}
	}
	if n := len(t.tokens); n == 0 || int(t.tokens[n-1].start) < at {
		return n
	}
	i, _ := slices.BinarySearchFunc(t.tokens, at, mark.compare)
	return i
}

func (m mark) compare(at int) int { return cmp.Compare(int(m.start), at) }

// Part is the text between two places where no token is divided, with what is known of it.
func (t *Text) Part(start, end int) *Text {
	if start == 0 && end == len(t.SQL) {
		return t
	}
	part := t.in.Text(t.SQL[start:end])
	from, _ := slices.BinarySearchFunc(t.tokens, start, mark.compare)
	known := t.tokens[from:]
	for len(known) > 0 && (known[len(known)-1].kind == End || int(known[len(known)-1].end) > end) {
		known = known[:len(known)-1]
	}
	part.tokens = slices.Clone(known)
	for i := range part.tokens {
		part.tokens[i].start -= uint32(start)
		part.tokens[i].end -= uint32(start)
	}
	return part
}

// SkipBlank moves over blanks, as Dialect.SkipBlank does.
func (t *Text) SkipBlank(at int) (end int, whole bool) { return t.in.SkipBlank(t.SQL, at) }

// Tokens are those of the text from left to right, up to what does not end.
func (t *Text) Tokens() iter.Seq[Token] {
	return func(yield func(Token) bool) {
		for next := t.Next(0); !next.Ends() && yield(next); next = t.Next(next.End()) {
		}
	}
}
