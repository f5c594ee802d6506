package outline

import (
	"fmt"
	"sort"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// Text is a statement's text with its tokens, comments left out. It is immutable.
type Text struct {
	SQL     string
	tokens  []token
	partner []int // of a bracket: its counterpart's index
}

type token struct {
	plan.Span
	kind pg.Token
}

const (
	openRound   = pg.Token_ASCII_40
	closeRound  = pg.Token_ASCII_41
	openSquare  = pg.Token_ASCII_91
	closeSquare = pg.Token_ASCII_93
	comma       = pg.Token_ASCII_44
	dot         = pg.Token_ASCII_46
	semicolon   = pg.Token_ASCII_59
	none        = pg.Token_NUL
)

// New splits a text into tokens.
func New(sql string) (*Text, error) {
	scanned, err := tree.Scan(sql)
	if err != nil {
		return nil, fmt.Errorf("read the tokens of the text: %w", err)
	}
	t := &Text{SQL: sql}
	var open []int
	for _, s := range scanned.Tokens {
		if s.Token == pg.Token_SQL_COMMENT || s.Token == pg.Token_C_COMMENT {
			continue
		}
		i := len(t.tokens)
		t.tokens = append(t.tokens, token{plan.Span{Start: int(s.Start), End: int(s.End)}, s.Token})
		t.partner = append(t.partner, -1)
		switch s.Token {
		case openRound, openSquare:
			open = append(open, i)
		case closeRound, closeSquare:
			if len(open) == 0 {
				return nil, mismatch("a bracket at byte %d closes nothing", s.Start)
			}
			o := open[len(open)-1]
			open = open[:len(open)-1]
			t.partner[o], t.partner[i] = i, o
		}
	}
	if len(open) > 0 {
		return nil, mismatch("a bracket at byte %d is never closed", t.tokens[open[0]].Start)
	}
	return t, nil
}

// kind is the kind of token i, none outside of the text.
func (t *Text) kind(i int) pg.Token {
	if i < 0 || i >= len(t.tokens) {
		return none
	}
	return t.tokens[i].kind
}

// at is the index of the token that starts at an offset, or -1.
func (t *Text) at(offset int) int {
	i := sort.Search(len(t.tokens), func(i int) bool { return t.tokens[i].Start >= offset })
	if i < len(t.tokens) && t.tokens[i].Start == offset {
		return i
	}
	return -1
}

// after is the index of the first token that starts at an offset or later.
func (t *Text) after(offset int) int {
	return sort.Search(len(t.tokens), func(i int) bool { return t.tokens[i].Start >= offset })
}

// span covers the tokens [from, to); an empty range gives the zero Span.
func (t *Text) span(from, to int) plan.Span {
	if from >= to {
		return plan.Span{}
	}
	return plan.Span{Start: t.tokens[from].Start, End: t.tokens[to-1].End}
}

// Of is the text of a span.
func (t *Text) Of(s plan.Span) string { return t.SQL[s.Start:s.End] }

// next is the index behind token i, or behind the whole bracket that it opens.
func (t *Text) next(i int) int {
	if t.partner[i] > i {
		return t.partner[i] + 1
	}
	return i + 1
}

// word is the text of token i as an identifier: without quotes, letters as they are written.
func (t *Text) word(i int) string {
	s := t.Of(t.tokens[i].Span)
	if strings.HasPrefix(s, `"`) {
		return lex.PostgreSQL.Next(s, 0).Body()
	}
	return s
}

// commas splits [from, to) at the commas outside of brackets.
func (t *Text) commas(from, to int) (list [][2]int) {
	if from >= to {
		return nil
	}
	start := from
	for i := from; i < to; i = t.next(i) {
		if t.kind(i) == comma {
			list = append(list, [2]int{start, i})
			start = i + 1
		}
	}
	return append(list, [2]int{start, to})
}

// clause reports whether token i is one of the keywords and introduces a clause: it is no name (AS from, t.limit) and
// no part of an operator (IS DISTINCT FROM, WITHIN GROUP).
func (t *Text) clause(i int, keywords ...pg.Token) bool {
	k := t.kind(i)
	found := false
	for _, want := range keywords {
		found = found || k == want
	}
	before := t.kind(i - 1)
	switch {
	case !found, before == pg.Token_AS, before == dot:
		return false
	case k == pg.Token_FROM && before == pg.Token_DISTINCT:
		return t.kind(i-2) != pg.Token_IS && t.kind(i-2) != pg.Token_NOT
	case k == pg.Token_GROUP_P && before == pg.Token_WITHIN:
		return false
	}
	return true
}

// find is the index of the first such clause in [from, to) outside of brackets, or to.
func (t *Text) find(from, to int, keywords ...pg.Token) int {
	for i := from; i < to; i = t.next(i) {
		if t.clause(i, keywords...) {
			return i
		}
	}
	return to
}
