package plan

import (
	"slices"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
)

// Splice writes call(i, &scans[i]) in place of each table's name, adds the aliases that the text lacks and makes
// the cuts. Everything else stays byte for byte, so the dialect survives.
func Splice(sql string, scans []Scan, call func(i int, s *Scan) string) (string, edit.List) {
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
	spliced := edit.New(sql)
	for _, r := range list {
		spliced.Replace(r.Start, r.End, r.text) // once, where the same place is seen twice
	}
	return spliced.Text()
}
