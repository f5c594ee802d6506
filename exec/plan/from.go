package plan

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

// from adds the items of one FROM entry to the frame and walks what stands in it. The frame grows while it is walked,
// so
// that a later entry sees the earlier ones, as LATERAL asks and DuckDB does without being asked.
func (a *analyzer) from(f *frame, n *pg.Node) {
	switch e := n.GetNode().(type) {
	case nil:
	case *pg.Node_RangeVar:
		a.table(f, e.RangeVar)
	case *pg.Node_RangeSubselect:
		a.derived(f, e.RangeSubselect)
	case *pg.Node_JoinExpr:
		a.join(f, e.JoinExpr)
	case *pg.Node_RangeTableSample:
		a.sample(f, e.RangeTableSample)
	case *pg.Node_RangeFunction:
		a.unknown(f, e.RangeFunction)
		f.items = append(f.items, &item{alias: e.RangeFunction.GetAlias().GetAliasname(), open: true})
	default:
		a.unknown(f, n)
		f.items = append(f.items, &item{open: true})
	}
}

// table resolves a name in FROM: a CTE in scope, one of our base tables, or somebody else's business.
func (a *analyzer) table(f *frame, v *pg.RangeVar) {
	text, ok := nameAt(a.sql, int(v.Location))
	if !ok || !text.agrees(v) {
		a.unreadable(f, v)
		return
	}
	alias, explicit := a.alias(f, v, text)
	renames := v.GetAlias().GetColnames()
	if len(text.parts) == 1 {
		if c := f.ctes.find(text.parts[0]); c != nil {
			f.items = append(f.items, renamed(&item{alias: alias, columns: slices.Clone(c.columns), open: c.open}, renames))
			return
		}
	}
	var parts [3]string // catalog, schema, table
	copy(parts[len(parts)-len(text.parts):], text.parts)
	r := a.resolver.Relation(parts[0], parts[1], parts[2])
	if r == nil {
		f.items = append(f.items, &item{alias: alias, open: true})
		return
	}
	o := newOccurrence(r)
	o.Span, o.Alias, o.AddAlias = text.Span, alias, !explicit
	a.extendToKeyword(&o.Scan, v)
	a.occurrences = append(a.occurrences, o)
	it := &item{alias: alias, schema: r.Schema, catalog: parts[0], occ: o, columns: o.outputs()}
	f.items = append(f.items, renamed(it, renames))
}

// unreadable is a table name in the tree that the text does not show at the stated place. A name that PostgreSQL spells
// in
// its own way (U&"…", 64 bytes and more) is left alone; anything else means that text and tree are strangers.
func (a *analyzer) unreadable(f *frame, v *pg.RangeVar) {
	f.items = append(f.items, &item{alias: v.GetAlias().GetAliasname(), open: true})
	at := int(v.Location)
	foreign := at < 0 || at >= len(a.sql)
	if !foreign {
		own := len(v.Relname) >= maxTreeName || strings.HasPrefix(strings.ToLower(a.sql[at:]), "u&")
		foreign = !own
	}
	if foreign && a.err == nil {
		a.err = &StatementError{Name: v.Relname, Position: at}
	}
}

// agrees: the text's name is the tree's name. The tree has folded unquoted letters.
func (n name) agrees(v *pg.RangeVar) bool {
	want := []string{v.Catalogname, v.Schemaname, v.Relname}[3-min(len(n.parts), 3):]
	if len(n.parts) > 3 {
		return false
	}
	for i, part := range n.parts {
		if len(part) >= maxTreeName || !lex.Same(part, want[i]) {
			return false
		}
	}
	return true
}

// alias is the name that the rest of the statement uses, and whether the text gives it explicitly.
func (a *analyzer) alias(f *frame, v *pg.RangeVar, text name) (alias string, explicit bool) {
	own := text.parts[len(text.parts)-1]
	alias = v.GetAlias().GetAliasname()
	if alias == "" {
		return own, false
	}
	if IsDialectJoin(alias) {
		f.opaque = true
		if IsDialectJoin(wordAfter(a.sql, text.End)) {
			return own, false // no alias to DuckDB, but a kind of join
		}
	}
	return alias, true
}

// extendToKeyword widens the span over TABLE and ONLY, which take no function call behind them.
func (a *analyzer) extendToKeyword(s *Scan, v *pg.RangeVar) {
	switch word, start := wordBefore(a.sql, s.Start); {
	case strings.EqualFold(word, "table"):
		s.Start, s.Prefix = start, "SELECT * FROM "
	case !v.Inh && strings.EqualFold(word, "only"):
		s.Start = start
	}
}

// outputs are the columns of a base table as an item offers them.
func (o *occurrence) outputs() []output {
	columns := make([]output, len(o.Relation.Columns))
	for i := range columns {
		columns[i] = output{name: o.Relation.Columns[i].Name, column: i, slot: o.slot(i)}
	}
	return columns
}

// renamed applies a column alias list: t AS x(a, b).
func renamed(it *item, names []*pg.Node) *item {
	if len(names) > 0 && it.open {
		it.spoil() // which columns get the names is not known
	}
	for i, n := range names {
		if i < len(it.columns) {
			it.columns[i].name = n.GetString_().GetSval()
		}
	}
	return it
}

// derived is a sub-select in FROM.
func (a *analyzer) derived(f *frame, s *pg.RangeSubselect) {
	alias := s.GetAlias().GetAliasname()
	if IsDialectJoin(alias) {
		f.opaque = true
	}
	columns, open := a.query(s.Subquery.GetSelectStmt(), scope{parent: f, lateral: true, ctes: f.ctes})
	it := published(columns, open)
	it.alias = alias
	f.items = append(f.items, renamed(it, s.GetAlias().GetColnames()))
}

// published makes an item of a query's output. DuckDB makes up names where the query has none ("min(x)") or one twice
// (x, x_1), and a reference by such a name would escape us: those columns are spoilt. So are all if some are unknown.
func published(columns []output, open bool) *item {
	for i, c := range columns {
		if c.slot != nil && (open || c.name == "" || nameCount(columns[i:], c.name) > 1 || nameCount(columns[:i], c.name) > 0) {
			c.slot.spoil()
		}
	}
	return &item{columns: columns, open: open}
}

func nameCount(columns []output, name string) int {
	count := 0
	for _, c := range columns {
		if lex.Same(c.name, name) {
			count++
		}
	}
	return count
}

// sample is a table under TABLESAMPLE: which rows are drawn depends on all of them, so nothing may be left out.
func (a *analyzer) sample(f *frame, s *pg.RangeTableSample) {
	before := len(f.items)
	a.from(f, s.Relation)
	for _, it := range f.items[before:] {
		it.nullable = true
	}
	for _, n := range s.Args {
		a.value(f, n)
	}
	a.value(f, s.Repeatable)
}

func (a *analyzer) join(f *frame, j *pg.JoinExpr) {
	first := len(f.items)
	a.from(f, j.Larg)
	middle := len(f.items)
	a.from(f, j.Rarg)
	left, right := f.items[first:middle], f.items[middle:]
	a.joinUsing(f, j, left, right)
	a.conditions(f, j.Quals, filtered(j.Jointype, left, right))
	if fillsWithNulls(j.Jointype, pg.JoinType_JOIN_LEFT) {
		markNullable(right)
	}
	if fillsWithNulls(j.Jointype, pg.JoinType_JOIN_RIGHT) {
		markNullable(left)
	}
	if j.Alias != nil { // (a JOIN b …) AS j hides a and b
		spoilAll(f.items[first:])
		f.items = append(f.items, &item{alias: j.Alias.Aliasname, open: true})
	}
}

// joinUsing spoils what USING and NATURAL compare and merge.
func (a *analyzer) joinUsing(f *frame, j *pg.JoinExpr, left, right []*item) {
	f.merged = f.merged || j.IsNatural || len(j.UsingClause) > 0
	if j.IsNatural || j.JoinUsingAlias != nil {
		spoilAll(left)
		spoilAll(right)
	}
	for _, n := range j.UsingClause {
		a.matches = a.matches[:0]
		a.lookupIn(f, n.GetString_().GetSval())
		a.spoilMatches()
	}
}

func spoilAll(items []*item) {
	for _, it := range items {
		it.spoil()
	}
}

// filtered gives the items that a join's ON condition surely filters: both sides of an inner join, the filled side of
// an
// outer one (P1: a row of the preserved side survives a false ON).
func filtered(t pg.JoinType, left, right []*item) []*item {
	switch t {
	case pg.JoinType_JOIN_INNER:
		return append(slices.Clone(left), right...)
	case pg.JoinType_JOIN_LEFT:
		return right
	case pg.JoinType_JOIN_RIGHT:
		return left
	}
	return nil
}

// fillsWithNulls: the join fills the far side of the given direction. Kinds that we do not know fill both.
func fillsWithNulls(t, direction pg.JoinType) bool {
	return t != pg.JoinType_JOIN_INNER && (t == direction || t != pg.JoinType_JOIN_LEFT && t != pg.JoinType_JOIN_RIGHT)
}

func markNullable(items []*item) {
	for _, it := range items {
		it.nullable = true
	}
}
