package distribute

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

// place is where an expression stands.
type place struct {
	block  *block
	clause clause
	among  []*item // of ON: what it may name; nil: everything
	inCall bool    // inside an aggregate
	filter bool    // the expression is a conjunct of WHERE
}

// find lists the columns of a block that a name can mean.
func (b *block) find(alias, name string) []column {
	list := findIn(b.items, alias, name)
	if alias != "" || len(list) < 2 {
		return list
	}
	for _, m := range b.mergers { // USING has made one of them
		if slices.Contains(list, m[0]) {
			list = slices.DeleteFunc(list, func(c column) bool { return c == m[1] })
		}
	}
	return list
}

func findIn(items []*item, alias, name string) (list []column) {
	for _, it := range items {
		if alias != "" && !lex.Same(it.alias, alias) {
			continue
		}
		for i, f := range it.columns {
			if lex.Same(f.name, name) {
				list = append(list, column{it, i})
			}
		}
	}
	return list
}

// vague says that the block has columns whose names DuckDB made up and one of which the name may be.
func (b *block) vague(name string) bool {
	plain := true
	for i := 0; i < len(name); i++ {
		c := name[i]
		plain = plain && c < 0x80 && c != '$' && lex.IsNamePart(c)
	}
	for _, it := range b.items {
		for _, f := range it.columns {
			if f.name == "" && !plain || f.doubled { // "sum(x)", x_1
				return true
			}
		}
	}
	return false
}

// known says that a name means a column of the block or of one around it.
func (a *analysis) known(b *block, name string) bool {
	for ; b != nil; b = b.outer {
		if len(b.find("", name)) > 0 {
			return true
		}
	}
	return false
}

// resolve finds what a reference means, or refuses.
func (a *analysis) resolve(p place, ref *pg.ColumnRef) {
	alias, schema, name, ok := parts(ref)
	if !ok {
		a.refuse("a name that is no column's")
		return
	}
	for b := p.block; b != nil; b = b.outer {
		list := b.find(alias, name)
		switch {
		case len(list) > 1:
			a.refuse("the name %s can mean two things", name)
			return
		case len(list) == 1:
			a.refer(p, b, ref, schema, list[0], alias == "")
			return
		case b.vague(name):
			a.refuse("the name %s may be one that DuckDB made up", name)
			return
		case alias == "" && b == p.block && b.alias(name) != noAlias:
			a.useAlias(b, aliasUse{clause: p.clause, target: b.alias(name), inCall: p.inCall}, name)
			a.aliases[ref] = true
			return
		}
	}
	a.refuse("the name %s is not known", name)
}

// parts takes a reference apart: [schema.][table.]column.
func parts(ref *pg.ColumnRef) (alias, schema, name string, ok bool) {
	if len(ref.Fields) == 0 || len(ref.Fields) > 3 {
		return "", "", "", false
	}
	for _, n := range ref.Fields {
		s := n.GetString_()
		if s == nil || len(s.Sval) >= maxTreeName {
			return "", "", "", false
		}
		schema, alias, name = alias, name, s.Sval
	}
	return alias, schema, name, true
}

// refer notes that a reference means a column of block b.
func (a *analysis) refer(p place, b *block, ref *pg.ColumnRef, schema string, c column, bare bool) {
	f := c.item.columns[c.index]
	own := b == p.block
	switch {
	case f.doubled:
		a.refuse("the name %s, which is given twice", f.name)
	case schema != "" && !lex.Same(c.item.schema, schema):
		a.refuse("a name with the schema %s", schema)
	case own && p.among != nil && !slices.Contains(p.among, c.item):
		a.refuse("a condition of a join on something else")
	case own && bare && (p.clause == inHaving || p.clause == inOrder) && a.hidden(b, f.name, c):
		a.refuse("the name %s, of a column and in the select list", f.name)
	}
	span, last, ok := a.text.Name(int(ref.Location))
	if !ok {
		a.refuse("a name that is not where the tree has it")
		return
	}
	r := &reference{node: ref, span: span, last: last, column: c, block: b, clause: p.clause, inCall: p.inCall}
	a.refs[ref] = r
	b.refs = append(b.refs, r)
	for q := p.block; q != b; q = q.outer { // every query in between depends on b
		q.query.outer = append(q.query.outer, r)
		r.clause, r.inCall = q.query.at.clause, q.query.at.inCall
	}
}

// hidden says that the select list gives a column's name to something else.
func (a *analysis) hidden(b *block, name string, c column) bool {
	for i, n := range b.stmt.TargetList {
		r := n.GetResTarget()
		if r.Name == "" || !lex.Same(r.Name, name) {
			continue
		}
		if have := a.refs[b.stmt.TargetList[i].GetResTarget().GetVal().GetColumnRef()]; have == nil || have.column != c {
			return true
		}
	}
	return false
}
