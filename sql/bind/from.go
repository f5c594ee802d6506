package bind

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// from binds an entry of a FROM clause. The query's items grow while it is walked, so that a later entry sees the
// earlier ones, as LATERAL asks and DuckDB does without being asked.
func (b *binder) from(q *Query, n *pg.Node) *From {
	f := &From{First: len(q.Items)}
	switch e := n.GetNode().(type) {
	case nil:
	case *pg.Node_RangeVar:
		b.table(q, e.RangeVar)
	case *pg.Node_RangeSubselect:
		b.derived(q, e.RangeSubselect)
	case *pg.Node_JoinExpr:
		b.join(q, e.JoinExpr, f)
	case *pg.Node_RangeTableSample:
		f.Sample = e.RangeTableSample
		f.Left = b.from(q, e.RangeTableSample.Relation)
		for _, it := range q.Items[f.First:] {
			it.Sampled = true
		}
		b.all(q, e.RangeTableSample.Args)
		b.expr(q, e.RangeTableSample.Repeatable)
	case *pg.Node_RangeFunction:
		f.Node = n
		b.reflect(q, e.RangeFunction.ProtoReflect())
		b.add1(q, &Item{Open: true, Function: e.RangeFunction}, e.RangeFunction.Alias)
		b.namesTables(q, e.RangeFunction)
	default:
		f.Node = n
		b.reflect(q, n.ProtoReflect())
		b.add1(q, &Item{Open: true}, nil)
	}
	if f.Last = len(q.Items); f.Join == nil && f.Last > f.First {
		f.Item = q.Items[f.First]
	}
	return f
}

// namesTables: query_table('c') and query('…') name what they read in a string, which may be any CTE in scope.
func (b *binder) namesTables(q *Query, f *pg.RangeFunction) {
	for m := range tree.All(f.ProtoReflect()) {
		call, ok := m.Interface().(*pg.FuncCall)
		if !ok || !lex.Same(functionName(call), "query_table") && !lex.Same(functionName(call), "query") {
			continue
		}
		for c := q.ctes; c != nil; c = c.next {
			c.Refs = append(c.Refs, q.Items[len(q.Items)-1])
		}
	}
}

// add1 puts an item into the FROM clause, with the names that its alias gives.
func (b *binder) add1(q *Query, it *Item, alias *pg.Alias) {
	if a := alias.GetAliasname(); a != "" {
		it.Alias = a
		q.Dialect = q.Dialect || IsDialectJoin(a)
	}
	it.rename(names(alias.GetColnames()))
	it.ID, it.In = len(b.s.Items), q
	b.s.Items = append(b.s.Items, it)
	q.Items = append(q.Items, it)
}

// rename applies a list of column names: t AS x(a, b).
func (it *Item) rename(list []string) {
	if len(list) == 0 {
		return
	}
	it.Columns, it.Open = renamed(it.Columns, list, it.Open)
	it.Renamed = true
	it.judgeNames()
}

func renamed(columns, list []string, open bool) ([]string, bool) {
	if len(list) >= len(columns) {
		if !open && len(list) > len(columns) { // an error
			return list[:len(columns)], true
		}
		return list, open
	}
	return append(append(make([]string, 0, len(columns)), list...), columns[len(list):]...), open
}

// judgeNames finds names that DuckDB makes up: for a column without one, and for one that is given twice.
func (it *Item) judgeNames() {
	it.doubled, it.unnamed = false, false
	for i, name := range it.Columns {
		it.unnamed = it.unnamed || name == ""
		for _, other := range it.Columns[:i] {
			it.doubled = it.doubled || name != "" && lex.Same(name, other)
		}
	}
}

// table binds a name in FROM: a CTE in scope, a base table, or something that nothing is known of.
func (b *binder) table(q *Query, v *pg.RangeVar) {
	text, ok := NameAt(b.sql, int(v.Location))
	if !ok || !text.agrees(v) {
		b.unreadable(v)
		b.add1(q, &Item{Open: true}, v.Alias)
		return
	}
	it := &Item{Alias: text.Parts[len(text.Parts)-1], Name: text, Keyword: -1, location: v.Location}
	alias := b.alias(q, v.Alias, it)
	if len(text.Parts) == 1 {
		if c := q.ctes.find(text.Parts[0]); c != nil {
			it.CTE, it.Query, it.Columns, it.Open = c, c.Query, c.columns, c.open
			it.judgeNames()
			c.Refs = append(c.Refs, it)
			b.add1(q, it, alias)
			return
		}
	}
	var parts [3]string // catalog, schema, table
	copy(parts[len(parts)-len(text.Parts):], text.Parts)
	if it.Table = b.catalog.Table(parts[0], parts[1], parts[2]); it.Table == nil {
		it.Open = true
	} else {
		it.Columns = it.Table.Columns
		b.keyword(it, v)
	}
	b.add1(q, it, alias)
}

// alias is the alias to give the item, which has that of its name. What stands for an alias in the tree may be none to
// DuckDB, but a kind of join.
func (b *binder) alias(q *Query, alias *pg.Alias, it *Item) *pg.Alias {
	if alias.GetAliasname() == "" {
		return alias
	}
	if IsDialectJoin(alias.Aliasname) {
		q.Dialect = true
		if IsDialectJoin(wordAfter(b.sql, it.Name.End)) {
			return nil
		}
	}
	it.Aliased = true
	return alias
}

// keyword finds TABLE and ONLY before a name.
func (b *binder) keyword(it *Item, v *pg.RangeVar) {
	switch word, start := wordBefore(b.sql, it.Name.Start); {
	case strings.EqualFold(word, "table"):
		it.Keyword, it.Whole = start, true
	case !v.Inh && strings.EqualFold(word, "only"):
		it.Keyword = start
	}
}

// unreadable is a table name in the tree that the text does not show at the stated place. A name that PostgreSQL spells
// in its own way (U&"…", 64 bytes and more) is left alone; anything else means that text and tree do not belong
// together.
func (b *binder) unreadable(v *pg.RangeVar) {
	at := int(v.Location)
	foreign := at < 0 || at >= len(b.sql)
	if !foreign {
		own := len(v.Relname) >= MaxTreeName || strings.HasPrefix(strings.ToLower(b.sql[at:min(at+2, len(b.sql))]), "u&")
		foreign = !own
	}
	if foreign && b.err == nil {
		b.err = &ForeignError{Name: v.Relname, Position: at}
	}
}

// derived is a query in FROM.
func (b *binder) derived(q *Query, s *pg.RangeSubselect) {
	it := &Item{Query: b.query(s.Subquery.GetSelectStmt(), outside{around: q, lateral: true, ctes: q.ctes})}
	it.Columns, it.Open = it.Query.published()
	it.judgeNames()
	b.add1(q, it, s.Alias)
}

// published are the names of a query's outputs.
func (q *Query) published() (columns []string, open bool) {
	if q == nil {
		return nil, true
	}
	columns = make([]string, len(q.Outputs))
	for i, o := range q.Outputs {
		columns[i] = o.Name
	}
	return columns, q.Open
}

func (b *binder) join(q *Query, j *pg.JoinExpr, f *From) {
	f.Join = j
	f.Left = b.from(q, j.Larg)
	f.Right = b.from(q, j.Rarg)
	f.Last = len(q.Items)
	switch {
	case j.IsNatural:
		b.natural(q, f)
	case len(j.UsingClause) > 0:
		for _, name := range names(j.UsingClause) {
			b.using(q, f, name)
		}
	}
	b.expr(q, j.Quals)
	if j.JoinUsingAlias != nil { // DuckDB has no such thing
		q.vague = true
	}
	if j.Alias != nil {
		b.namedJoin(q, j.Alias, f)
	}
}

// namedJoin is (a JOIN b …) AS j, which hides a and b.
func (b *binder) namedJoin(q *Query, alias *pg.Alias, f *From) {
	inside := &Query{Items: q.Items[f.First:f.Last], merges: q.merges, vague: q.vague}
	outputs, open := inside.expand("", 0, nil)
	it := &Item{Open: open, Sources: make([]Column, len(outputs)), Columns: make([]string, len(outputs))}
	for i, o := range outputs {
		it.Sources[i], it.Columns[i] = o.Column, o.Name
	}
	it.judgeNames()
	for _, inner := range q.Items[f.First:f.Last] {
		inner.Hidden = true
	}
	b.add1(q, it, alias)
	if open { // what is not known may stand before what is, and the alias may name it
		it.Sources = make([]Column, len(it.Columns))
	}
}

// natural merges every column that both sides have.
func (b *binder) natural(q *Query, f *From) {
	left, right := q.Items[f.Left.First:f.Left.Last], q.Items[f.Right.First:f.Right.Last]
	for _, it := range q.Items[f.First:f.Last] {
		if it.Open || it.doubled || it.unnamed {
			q.vague = true // which columns it has decides what is merged
		}
	}
	for _, l := range left {
		for _, name := range l.Columns {
			if name != "" && len(b.columnsOf(q, left, name)) > 0 && len(b.columnsOf(q, right, name)) > 0 {
				b.using(q, f, name)
			}
		}
	}
}

// using merges a column of both sides. The left one shows; of a right join the right one; of a full join neither.
func (b *binder) using(q *Query, f *From, name string) {
	left := b.columnsOf(q, q.Items[f.Left.First:f.Left.Last], name)
	right := b.columnsOf(q, q.Items[f.Right.First:f.Right.Last], name)
	f.Compared = append(append(f.Compared, left...), right...)
	m := merge{both: true}
	switch f.Join.Jointype {
	case pg.JoinType_JOIN_INNER, pg.JoinType_JOIN_LEFT:
		m.both = false
	case pg.JoinType_JOIN_RIGHT:
		m.both = false
		left, right = right, left
	}
	if len(left) != 1 || len(right) != 1 || len(name) >= MaxTreeName {
		q.vague = true // an error, or a column of something open
		return
	}
	m.kept, m.hidden = left[0], right[0]
	q.merges = append(q.merges, m)
	if f.Join.Jointype == pg.JoinType_JOIN_RIGHT {
		left, right = right, left
	}
	f.Using = append(f.Using, [2]Column{left[0], right[0]})
}

// columnsOf are the columns of some items that a bare name means.
func (b *binder) columnsOf(q *Query, items []*Item, name string) (list []Column) {
	for _, it := range items {
		if it.Hidden {
			continue
		}
		for i, c := range it.Columns {
			if !lex.Same(c, name) || q.isHidden(Column{it, i}) {
				continue
			}
			list = append(list, Column{it, i})
		}
	}
	return list
}

func (q *Query) isHidden(c Column) bool {
	for _, m := range q.merges {
		if m.hidden == c {
			return true
		}
	}
	return false
}
