package enginetest

import (
	"fmt"
	"strings"
)

// piece is a part of a query's text. Exactly one of text, argument and the list is in use.
type piece struct {
	text     string
	argument *any // a parameter; its number comes when the text is made

	pieces []*piece // a list, or a sequence when between is empty and least is its length
	lead   string   // before a list that is not empty
	tail   string   // behind it
	empty  string   // instead of an empty list
	join   string   // between the members of a list
	least  int      // so many members must stay

	simpler []*piece // what the shrinker may put in its place
}

func text(format string, args ...any) *piece {
	if len(args) == 0 {
		return &piece{text: format}
	}
	return &piece{text: fmt.Sprintf(format, args...)}
}

// sequence is its members one after another; strings are text.
func sequence(members ...any) *piece {
	p := &piece{}
	for _, m := range members {
		switch m := m.(type) {
		case string:
			p.pieces = append(p.pieces, text("%s", m))
		case *piece:
			p.pieces = append(p.pieces, m)
		}
	}
	p.least = len(p.pieces)
	return p
}

func list(lead, join, tail string, least int, members ...*piece) *piece {
	return &piece{lead: lead, join: join, tail: tail, least: least, pieces: members}
}

func parameter(value any) *piece { return &piece{argument: &value} }

func (p *piece) or(simpler ...*piece) *piece {
	p.simpler = append(p.simpler, simpler...)
	return p
}

// write appends the text and the arguments of its parameters.
func (p *piece) write(b *strings.Builder, args *[]any) {
	switch {
	case p == nil:
	case p.argument != nil:
		*args = append(*args, *p.argument)
		fmt.Fprintf(b, "$%d", len(*args))
	case p.pieces == nil && p.text != "":
		b.WriteString(p.text)
	case len(p.pieces) == 0:
		b.WriteString(p.empty)
	default:
		b.WriteString(p.lead)
		for i, m := range p.pieces {
			if i > 0 {
				b.WriteString(p.join)
			}
			m.write(b, args)
		}
		b.WriteString(p.tail)
	}
}

func (p *piece) sql() (string, []any) {
	var b strings.Builder
	var args []any
	p.write(&b, &args)
	return b.String(), args
}

// all lists p and every piece in it.
func (p *piece) all(out []*piece) []*piece {
	if p == nil {
		return out
	}
	out = append(out, p)
	for _, m := range p.pieces {
		out = m.all(out)
	}
	return out
}

// shrink takes pieces out as long as fails says that the trouble is still there.
func (p *piece) shrink(fails func() bool) {
	for again := true; again; {
		again = false
		for _, q := range p.all(nil) {
			again = q.shrinkOnce(fails) || again
		}
	}
}

func (p *piece) shrinkOnce(fails func() bool) (smaller bool) {
	for _, s := range p.simpler {
		was := *p
		*p = *s
		if fails() {
			return true
		}
		*p = was
	}
	if len(p.pieces) > p.least && p.least == 0 {
		was := p.pieces
		p.pieces = nil
		if fails() {
			return true
		}
		p.pieces = was
	}
	for i := 0; i < len(p.pieces) && len(p.pieces) > p.least; i++ {
		was := p.pieces
		p.pieces = append(append([]*piece{}, was[:i]...), was[i+1:]...)
		if fails() {
			smaller = true
			i--
			continue
		}
		p.pieces = was
	}
	return smaller
}
