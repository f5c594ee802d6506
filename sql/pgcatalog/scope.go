package pgcatalog

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/tree"
)

// scope is what the FROM clause of one SELECT names: the catalog that is a table, or nil for anything else.
type scope map[string]*systemRelation

func (w *rewriter) scopeOf(from []*pg.Node) scope {
	s := scope{}
	for _, n := range from {
		w.addTo(s, n)
	}
	return s
}

func (w *rewriter) addTo(s scope, n *pg.Node) {
	switch {
	case n.GetRangeVar() != nil:
		v := n.GetRangeVar()
		name := v.Relname
		if v.Alias != nil {
			name = v.Alias.Aliasname
		}
		s[name] = w.model.relation(v, w.hidden)
		if r := s[name]; r != nil && !r.table {
			s[name] = nil
		}
	case n.GetJoinExpr() != nil:
		w.addTo(s, n.GetJoinExpr().Larg)
		w.addTo(s, n.GetJoinExpr().Rarg)
	case n.GetRangeSubselect() != nil:
		s[n.GetRangeSubselect().Alias.GetAliasname()] = nil
	case n.GetRangeFunction() != nil:
		s[n.GetRangeFunction().Alias.GetAliasname()] = nil
	}
}

// catalogOf is the catalog whose system column is named; nil: it is a column of something else, or ambiguous.
func (w *rewriter) catalogOf(c *pg.ColumnRef) *systemRelation {
	qualifier := ""
	if len(c.Fields) > 1 {
		qualifier = tree.LastText(c.Fields[:len(c.Fields)-1])
	}
	for i := len(w.scopes) - 1; i >= 0; i-- {
		s := w.scopes[i]
		if r, ok := s[qualifier]; ok && qualifier != "" {
			return r
		}
		if qualifier != "" || len(s) == 0 {
			continue
		}
		for _, r := range s {
			if len(s) == 1 {
				return r
			}
		}
		return nil
	}
	return nil
}
