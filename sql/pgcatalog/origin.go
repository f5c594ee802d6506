package pgcatalog

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

// Origin is the column of a table or view that a result column shows as it is; drivers ask for it (getTableName, isAutoIncrement). Its zero
// value is that of a column that is computed, or of which that is not certain.
type Origin struct {
	Table  uint32 // pg_class.oid
	Column uint16 // pg_attribute.attnum
	// Type and Typmod are the column's atttypid and atttypmod.
	Type   uint32
	Typmod int32
}

// Find gives the relation that a name means in a statement; nil: none that users made.
type Find func(database, schema, name string) *Relation

// Origins tells where the result columns of the first statement come from, a SELECT. As with PostgreSQL (parse_target.c,
// markTargetListOrigin) that is followed through joins, sub-selects and WITH, and not through UNION and the like. It is nil if nothing comes
// from anywhere, or if the columns cannot be told from the text.
func Origins(tree *pg.ParseResult, find Find) []Origin {
	if tree == nil || len(tree.Stmts) == 0 {
		return nil
	}
	s := tree.Stmts[0].GetStmt().GetSelectStmt()
	if s == nil || len(s.FromClause) == 0 {
		return nil
	}
	columns, known := (&tracer{find: find}).query(s, nil)
	if !known || !slices.ContainsFunc(columns, func(c traced) bool { return c.from != Origin{} }) {
		return nil
	}
	origins := make([]Origin, len(columns))
	for i, c := range columns {
		origins[i] = c.from
	}
	return origins
}

// traced is a column that a FROM item or a select list offers.
type traced struct {
	name string
	from Origin
}

// tracedItem is one entry of a FROM clause.
type tracedItem struct {
	alias, schema string
	columns       []traced
	open          bool // it has others, or others than these
}

// tracedWith is one entry of WITH; the newest comes first.
type tracedWith struct {
	name string
	item tracedItem
	next *tracedWith
}

// tracedFrom is a FROM clause.
type tracedFrom struct {
	items []tracedItem // what qualified names begin with
	shown tracedItem   // the columns that names without a qualifier, and *, mean; USING and NATURAL made one of two
}

type tracer struct{ find Find }

// query gives a SELECT's columns; known is false if their number cannot be told.
func (t *tracer) query(s *pg.SelectStmt, with *tracedWith) (columns []traced, known bool) {
	if s == nil || len(s.ValuesLists) > 0 {
		return nil, false
	}
	with = t.with(s.WithClause, with)
	if s.Op != pg.SetOperation_SETOP_NONE {
		columns, known = t.query(s.Larg, with)
		for i := range columns {
			columns[i].from = Origin{}
		}
		return columns, known
	}
	from := &tracedFrom{}
	for _, n := range s.FromClause {
		shown := t.from(from, n, with)
		from.shown.columns = append(from.shown.columns, shown.columns...)
		from.shown.open = from.shown.open || shown.open
	}
	for _, n := range s.TargetList {
		target := n.GetResTarget()
		if isStar(target.GetVal()) {
			all, known := from.star(target.Val.GetColumnRef())
			if !known {
				return nil, false
			}
			columns = append(columns, all...)
			continue
		}
		columns = append(columns, traced{targetName(target), from.column(target.GetVal().GetColumnRef())})
	}
	return columns, true
}

func (t *tracer) with(clause *pg.WithClause, scope *tracedWith) *tracedWith {
	for _, n := range clause.GetCtes() {
		e := n.GetCommonTableExpr()
		inner := scope
		if clause.Recursive {
			inner = &tracedWith{e.GetCtename(), tracedItem{open: true}, scope}
		}
		columns, known := t.query(e.GetCtequery().GetSelectStmt(), inner)
		scope = &tracedWith{e.GetCtename(), tracedItem{columns: columns, open: !known}.renamed(e.GetAliascolnames()), scope}
	}
	return scope
}

// from adds an entry of a FROM clause and gives the columns that it shows.
func (t *tracer) from(f *tracedFrom, n *pg.Node, with *tracedWith) tracedItem {
	item := tracedItem{open: true}
	switch x := n.GetNode().(type) {
	case *pg.Node_RangeVar:
		item = t.relation(x.RangeVar, with)
	case *pg.Node_RangeTableSample:
		return t.from(f, x.RangeTableSample.Relation, with)
	case *pg.Node_RangeSubselect:
		columns, known := t.query(x.RangeSubselect.Subquery.GetSelectStmt(), with)
		item = tracedItem{columns: columns, open: !known}.as(x.RangeSubselect.Alias)
	case *pg.Node_JoinExpr:
		before := len(f.items)
		left := t.from(f, x.JoinExpr.Larg, with)
		shown := left.joined(t.from(f, x.JoinExpr.Rarg, with), x.JoinExpr)
		if x.JoinExpr.Alias == nil {
			return shown
		}
		f.items = f.items[:before] // which the alias hides
		item = shown.as(x.JoinExpr.Alias)
	}
	f.items = append(f.items, item)
	return item
}

// joined are the columns of a join: the left one's, then the right one's without those that USING or NATURAL merge. (PostgreSQL's * begins
// with the merged ones, DuckDB's does not.) A merged column is the left table's, of a right join the right one's, and of a full join neither's.
func (i tracedItem) joined(right tracedItem, j *pg.JoinExpr) tracedItem {
	out := tracedItem{columns: slices.Clone(i.columns), open: i.open || right.open}
	merged := map[int]bool{} // of the right one's
	merge := func(name string, must bool) {
		l, r := i.position(name), right.position(name)
		if l < 0 || r < 0 {
			out.open = out.open || must
			return
		}
		merged[r] = true
		switch j.Jointype {
		case pg.JoinType_JOIN_INNER, pg.JoinType_JOIN_LEFT:
		case pg.JoinType_JOIN_RIGHT:
			out.columns[l].from = right.columns[r].from
		default:
			out.columns[l].from = Origin{}
		}
	}
	for _, n := range j.UsingClause {
		merge(n.GetString_().GetSval(), true)
	}
	if j.IsNatural {
		for _, c := range i.columns {
			merge(c.name, false)
		}
	}
	for n, c := range right.columns {
		if !merged[n] {
			out.columns = append(out.columns, c)
		}
	}
	return out
}

// position is where the one column of the name is; negative: nowhere, or not certain.
func (i tracedItem) position(name string) int {
	found := -1
	for n, c := range i.columns {
		if lex.Same(c.name, name) {
			if found >= 0 {
				return -1
			}
			found = n
		}
	}
	return found
}

func (t *tracer) relation(v *pg.RangeVar, with *tracedWith) tracedItem {
	if v.Schemaname == "" {
		for w := with; w != nil; w = w.next {
			if lex.Same(w.name, v.Relname) {
				item := w.item
				item.alias = v.Relname
				return item.as(v.Alias)
			}
		}
	}
	item := tracedItem{alias: v.Relname, schema: v.Schemaname, open: true}
	if r := t.find(v.Catalogname, v.Schemaname, v.Relname); r != nil && len(v.Relname) < cutName {
		item.open, item.schema = false, r.Schema
		for i, c := range r.Columns {
			item.columns = append(item.columns, traced{c.Name, Origin{r.OID, uint16(i + 1), c.Type, c.Typmod}})
		}
	}
	return item.as(v.Alias)
}

// cutName: PostgreSQL's parser cuts identifiers to this many bytes, and DuckDB does not.
const cutName = 63

// as gives the item the names that its alias has.
func (i tracedItem) as(alias *pg.Alias) tracedItem {
	if alias == nil {
		return i
	}
	i.alias, i.schema = alias.Aliasname, ""
	return i.renamed(alias.Colnames)
}

func (i tracedItem) renamed(names []*pg.Node) tracedItem {
	if len(names) == 0 {
		return i
	}
	i.columns = slices.Clone(i.columns)
	i.open = i.open || len(names) > len(i.columns)
	for n := range min(len(names), len(i.columns)) {
		i.columns[n].name = names[n].GetString_().GetSval()
	}
	return i
}

// star gives the columns that * or alias.* stands for.
func (f *tracedFrom) star(ref *pg.ColumnRef) (columns []traced, known bool) {
	parts := ref.GetFields()
	switch len(parts) {
	case 1:
		return f.shown.columns, !f.shown.open
	case 2, 3:
		i := f.named(parts[:len(parts)-1])
		if i == nil || i.open {
			return nil, false
		}
		return i.columns, true
	}
	return nil, false
}

// named is the one item that a qualified name begins with.
func (f *tracedFrom) named(parts []*pg.Node) (found *tracedItem) {
	alias, schema := parts[len(parts)-1].GetString_().GetSval(), ""
	if len(parts) > 1 {
		schema = parts[0].GetString_().GetSval()
	}
	for n := range f.items {
		i := &f.items[n]
		if !lex.Same(i.alias, alias) || schema != "" && !lex.Same(i.schema, schema) {
			continue
		}
		if found != nil {
			return nil
		}
		found = i
	}
	return found
}

// column is where a reference comes from, if only one thing can be meant.
func (f *tracedFrom) column(ref *pg.ColumnRef) Origin {
	parts := ref.GetFields()
	if len(parts) == 0 || len(parts) > 3 || parts[len(parts)-1].GetString_() == nil {
		return Origin{}
	}
	name, in := parts[len(parts)-1].GetString_().GetSval(), &f.shown
	if len(parts) > 1 {
		if in = f.named(parts[:len(parts)-1]); in == nil {
			return Origin{}
		}
	}
	if len(name) >= cutName || in.open {
		return Origin{}
	}
	if at := in.position(name); at >= 0 {
		return in.columns[at].from
	}
	return Origin{}
}
