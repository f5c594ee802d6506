package bind

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

func (c *CTE) find(name string) *CTE {
	for ; c != nil; c = c.next {
		if lex.Same(c.Name, name) {
			return c
		}
	}
	return nil
}

// resolve says what a reference means. What it may mean is collected in b.may.
func (b *binder) resolve(q *Query, ref *pg.ColumnRef) Ref {
	var parts [4]string
	count := len(ref.Fields)
	b.may = b.may[:0]
	if count == 0 || count > len(parts) {
		return b.parts(q, ref)
	}
	for i, n := range ref.Fields {
		if n.GetAStar() != nil {
			return b.starInside(q, ref)
		}
		parts[i] = n.GetString_().GetSval()
	}
	sure := false
	switch count {
	case 1:
		sure = b.lookup(q, parts[0])
	case 2:
		sure = b.lookupQualified(q, parts[0], parts[1])
	default:
		sure = b.lookupSchema(q, ref, parts[:count])
	}
	switch {
	case len(b.may) == 0:
		return b.parts(q, ref)
	case !sure || b.may[0].Item != nil && b.may[0].Index < 0:
		return Ref{May: slices.Clone(b.may)}
	}
	m := b.may[0]
	return Ref{Certain: true, Query: m.Query, Column: m.Column, Target: m.Target}
}

// lookup collects everything that a bare name could mean and says whether the innermost meaning is certain to be the
// only one (bind.N1). How far a query in FROM sees what stands before it is for DuckDB to say: of what is outside of
// one, there must be one meaning in all.
func (b *binder) lookup(q *Query, name string) (sure bool) {
	sure = len(name) < MaxTreeName
	lateral := false
	for ; q != nil; q = q.Around {
		before := len(b.may)
		open := b.lookupIn(q, name)
		if len(b.may) > before && sure && !lateral {
			found := b.may[before]
			hidden := open // by a column of a table that is not known, which an entry of the select list gives way to
			if found.Item != nil {
				hidden = found.Item.Open
			}
			return len(b.may) == before+1 && !q.vague && !hidden
		}
		sure = sure && !open && !q.vague
		lateral = lateral || q.Lateral
	}
	return sure && len(b.may) == 1
}

// lookupIn collects the columns of one query's FROM clause and the entries of its select list that a name means, or
// only those that DuckDB prefers. open says that there may be others.
func (b *binder) lookupIn(q *Query, name string) (open bool) {
	before := len(b.may)
	for _, it := range q.Items {
		if it.Hidden {
			continue
		}
		open = open || it.hides(name)
		for i, c := range it.Columns {
			if lex.Same(c, name) {
				b.add(q, Column{it, i})
			}
		}
	}
	if q.Left != nil { // ORDER BY of a set operation
		for i, o := range q.Outputs {
			if o.Name != "" && lex.Same(o.Name, name) {
				b.may = append(b.may, May{Query: q, Target: i})
			}
		}
		return open
	}
	found := len(b.may)
	if q.prefers == columns && found > before {
		return open
	}
	for _, target := range q.aliases {
		t := q.Stmt.TargetList[target].GetResTarget()
		if lex.Same(t.Name, name) && (q.prefers == entries || !b.repeats(b.may[before:], t)) {
			b.may = append(b.may, May{Query: q, Target: target})
		}
	}
	if q.prefers == entries && len(b.may) > found {
		b.may = slices.Delete(b.may, before, found)
		return false
	}
	return open
}

// add collects a column, or those that it was merged into.
func (b *binder) add(q *Query, c Column) {
	for _, m := range q.merges {
		switch {
		case m.both && (m.hidden == c || m.kept == c):
			b.addOnce(q, m.kept)
			b.addOnce(q, m.hidden)
			return
		case m.hidden == c:
			b.add(q, m.kept)
			return
		}
	}
	b.addOnce(q, c)
}

func (b *binder) addOnce(q *Query, c Column) {
	m := May{Column: c, Query: q}
	if c.Item != nil && !slices.Contains(b.may, m) {
		b.may = append(b.may, m)
	}
}

// repeats: the name of the select list only repeats a column that it means anyway (SELECT a AS a … WHERE a = 1).
func (b *binder) repeats(found []May, t *pg.ResTarget) bool {
	ref := t.GetVal().GetColumnRef()
	if ref == nil || len(found) != 1 || found[0].Item == nil {
		return false
	}
	known := b.s.Ref(ref)
	return known.Certain && known.Query == found[0].Query && known.Column == found[0].Column
}

// hides reports whether the item may have a column of the name that its Columns do not show.
func (it *Item) hides(name string) bool { return it.Open || it.doubled || it.unnamed && !plain(name) }

// lookupQualified is lookup for alias.name.
func (b *binder) lookupQualified(q *Query, alias, name string) (sure bool) {
	sure = len(name) < MaxTreeName && len(alias) < MaxTreeName
	lateral, all := false, 0
	for ; q != nil; q = q.Around {
		named, open, before := 0, q.vague, len(b.may)
		for _, it := range q.Items {
			if !lex.Same(it.Alias, alias) {
				open = open || it.Open && it.Alias == ""
				continue
			}
			named++
			open = open || it.Hidden || it.hides(name)
			for i, c := range it.Columns {
				if lex.Same(c, name) {
					b.addOnce(q, Column{it, i})
				}
			}
		}
		if named > 0 && sure && !open && !lateral {
			return named == 1 && len(b.may) == before+1
		}
		if named == 0 { // a field of a column that is a struct
			fields := len(b.may)
			open = b.lookupIn(q, alias) || open || len(b.may) > fields
		}
		sure, all = sure && !open, all+named
		lateral = lateral || q.Lateral
	}
	return sure && all == 1 && len(b.may) == 1
}

// lookupSchema is lookup for schema.table.column. The splice gives the table an alias, behind which the schema is no
// longer visible, so the qualification is noted as to be cut.
func (b *binder) lookupSchema(q *Query, ref *pg.ColumnRef, parts []string) (sure bool) {
	table, column := parts[len(parts)-2], parts[len(parts)-1]
	sure = b.lookupQualified(q, table, column)
	if len(b.may) == 0 {
		return false
	}
	it := b.may[0].Item
	if !sure || it == nil || it.Table == nil || it.Aliased {
		return false
	}
	if schema := parts[len(parts)-3]; it.Table.Schema != "" && !lex.Same(it.Table.Schema, schema) {
		return false
	}
	text, ok := NameAt(b.sql, int(ref.Location))
	if !ok || len(text.Parts) != len(parts) {
		return false
	}
	if cut := (Span{text.Start, text.Starts[len(parts)-2]}); !slices.Contains(it.Cuts, cut) {
		it.Cuts = append(it.Cuts, cut)
	}
	return true
}

// parts handles a reference that is no column we know: the whole row of an item, a field of a struct column, or
// something else's name. It may mean whatever carries one of its parts as a name.
func (b *binder) parts(q *Query, ref *pg.ColumnRef) Ref {
	b.may = b.may[:0]
	for _, n := range ref.Fields {
		part := n.GetString_().GetSval()
		for in := q; in != nil && part != ""; in = in.Around {
			for _, it := range in.Items {
				if lex.Same(it.Alias, part) {
					b.may = append(b.may, May{Column: Column{it, -1}, Query: in})
				}
			}
			b.lookupIn(in, part)
		}
	}
	return Ref{May: slices.Clone(b.may)}
}

// starInside is a * inside an expression: count(t.*), COLUMNS(*), a row.
func (b *binder) starInside(q *Query, ref *pg.ColumnRef) Ref {
	alias := StarAlias(ref)
	for ; q != nil; q = q.Around {
		for _, it := range q.Items {
			if alias == "" || lex.Same(it.Alias, alias) {
				b.may = append(b.may, May{Column: Column{it, -1}, Query: q})
			}
		}
	}
	return Ref{May: slices.Clone(b.may)}
}

// StarAlias is t of t.* and of schema.t.*, "" of a bare star.
func StarAlias(ref *pg.ColumnRef) string {
	if len(ref.Fields) < 2 {
		return ""
	}
	return ref.Fields[len(ref.Fields)-2].GetString_().GetSval()
}

// expand lists the columns under * (alias is empty) or alias.* of a select list, except some by name.
func (q *Query) expand(alias string, target int, but []string) (columns []Output, open bool) {
	found := false
	var shown []Column
	for _, it := range q.Items {
		if it.Hidden || alias != "" && !lex.Same(it.Alias, alias) {
			continue
		}
		found = true
		open = open || it.Open
		for i, name := range it.Columns {
			if slices.ContainsFunc(but, func(b string) bool { return lex.Same(b, name) }) {
				continue
			}
			o := Output{Name: name, Column: Column{it, i}, Target: target}
			if alias == "" && len(q.merges) > 0 {
				if o.Column = q.kept(o.Column); slices.Contains(shown, o.Column) {
					continue
				}
				if shown = append(shown, o.Column); q.coalesced(o.Column) {
					o.Column = Column{}
				}
			}
			columns = append(columns, o)
		}
	}
	return columns, open || !found || alias == "" && q.vague
}

// kept is the column that stands for one that was merged: itself, if it was not.
func (q *Query) kept(c Column) Column {
	for _, m := range q.merges {
		if m.hidden == c {
			return q.kept(m.kept)
		}
	}
	return c
}

// coalesced reports whether a full join has merged something into a column.
func (q *Query) coalesced(c Column) bool {
	return slices.ContainsFunc(q.merges, func(m merge) bool { return m.both && q.kept(m.kept) == c })
}
