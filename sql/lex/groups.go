package lex

import "slices"

// Groups are what stands between parentheses, brackets and braces in a text.
type Groups struct {
	text   string
	starts []int   // of the tokens
	inside []int   // by token: the group that it stands in, which a closing one closes; -1: in none
	groups []group // in the order in which they are opened
}

type group struct{ start, around int }

// NewGroups finds the groups of a text.
func NewGroups(read *Text) *Groups {
	g, open := &Groups{text: read.SQL}, -1
	for t := range read.Tokens() {
		g.starts, g.inside = append(g.starts, t.Start), append(g.inside, open)
		if t.IsAny("(", "[", "{") {
			g.groups = append(g.groups, group{t.Start, open})
			open = len(g.groups) - 1
		} else if t.IsAny(")", "]", "}") && open >= 0 {
			open = g.groups[open].around
		}
	}
	return g
}

// At is the innermost group that is open before an offset, where a token begins; -1: none is.
func (g *Groups) At(offset int) int {
	if token, known := slices.BinarySearch(g.starts, offset); known {
		return g.inside[token]
	}
	return -1
}

// Start is where a group is opened.
func (g *Groups) Start(group int) int { return g.groups[group].start }

// Around is the group that a group stands in; -1: in none.
func (g *Groups) Around(group int) int { return g.groups[group].around }

// ClosedBefore is the span of (…) that ends with the last token before an offset, where a token begins.
func (g *Groups) ClosedBefore(offset int) (start, end int, ok bool) { return g.endsBefore(offset, ')') }

// BracketBefore is the same of […].
func (g *Groups) BracketBefore(offset int) (start, end int, ok bool) {
	return g.endsBefore(offset, ']')
}

func (g *Groups) endsBefore(offset int, by byte) (start, end int, ok bool) {
	token, known := slices.BinarySearch(g.starts, offset)
	if !known || token == 0 || g.inside[token-1] < 0 {
		return 0, 0, false
	}
	if last := g.starts[token-1]; g.text[last] == by {
		return g.Start(g.inside[token-1]), last + 1, true
	}
	return 0, 0, false
}
