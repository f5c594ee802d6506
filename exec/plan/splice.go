package plan

import (
	"slices"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// Edit is one replacement that Splice made: what stood at Span is now Length bytes long.
type Edit struct {
	Span
	Length int
}

// Splice writes call(i, &scans[i]) in place of each table's name, adds the aliases that the text lacks and makes the cuts.
// Everything else stays byte for byte, so the dialect survives; the edits, in order, map positions back.
func Splice(sql string, scans []Scan, call func(i int, s *Scan) string) (string, []Edit) {
	type replacement struct {
		Span
		text string
	}
	var list []replacement
	for i := range scans {
		s := &scans[i]
		text := s.Prefix + call(i, s)
		if s.AddAlias {
			text += " AS " + lex.Quote(s.Alias)
		}
		list = append(list, replacement{s.Span, text})
		for _, c := range s.Cuts {
			list = append(list, replacement{c, ""})
		}
	}
	slices.SortStableFunc(list, func(x, y replacement) int { return x.Start - y.Start })
	var b strings.Builder
	var edits []Edit
	at := 0
	for _, r := range list {
		if r.Start < at {
			continue // the same place seen twice
		}
		b.WriteString(sql[at:r.Start])
		b.WriteString(r.text)
		edits = append(edits, Edit{r.Span, len(r.text)})
		at = r.End
	}
	b.WriteString(sql[at:])
	return b.String(), edits
}
