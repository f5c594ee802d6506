package distribute

import (
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
)

// A table that lies the wrong way for a join is shuffled: fragments filter and project their parts of it and write them
// in partitions by a column. The join reads partition i of it in place, on the node where bucket i of its partner is.
//
//	stage 1   SELECT a, b FROM t WHERE b > 3             → partitions by hash of a
//	stage 2   SELECT … FROM (SELECT csm_stage_1.c0 AS a, csm_stage_1.c1 AS b FROM csm_stage_1) AS t, u WHERE t.a = u.a AND true
//
// If conditions leave little of a smaller table u that t meets, only its rows that have such a key are written:
// WHERE b > 3 AND t.a IN (SELECT u.a FROM u WHERE u.c = 5).

// shuffled is an occurrence that is read as a partition of a stage.
type shuffled struct {
	column int      // of the table, by which it is partitioned
	nodes  []string // partition i is read by nodes[i]
	stage  int
}

// attempt is a way to make a stage of a block.
type attempt struct {
	parts    restriction // shuffled ones included
	shuffles map[*occurrence]*shuffled
	groups   bool // partial groups are shuffled, too, and finished by the nodes
}

// hashing of a shuffled table is that of tables split by hash over the same nodes (D4).
func (s *shuffled) hashing(o *occurrence) hashing {
	return hashing{strings.Join(s.nodes, "\x00"), typeName(&o.scan.Relation.Columns[s.column])}
}

// attempts lists the ways to split a block, those without shuffles first.
func (p *planner) attempts(q *query) (list []attempt) {
	for _, parts := range p.candidates(q) {
		list = append(list, attempt{parts: parts})
		if p.settings.ShuffleBytes > 0 && q.block.aggregated() {
			list = append(list, attempt{parts: parts, groups: true})
		}
	}
	if p.settings.ShuffleBytes <= 0 {
		return list
	}
	for _, t := range p.shuffleAttempts(q) {
		list = append(list, t)
		if q.block.aggregated() {
			t.groups = true
			list = append(list, t)
		}
	}
	return list
}

// shuffleAttempts proposes tables to be shuffled: those whose columns some condition compares for equality. Whether
// that helps is for the spreader to say, and for the estimates.
func (p *planner) shuffleAttempts(q *query) (list []attempt) {
	for _, class := range p.joinClasses(q) {
		t := attempt{parts: restriction{}, shuffles: map[*occurrence]*shuffled{}}
		nodes := p.settings.Nodes
		for _, c := range class {
			if h := p.homeOf(c); h != nil {
				nodes = h
				break
			}
		}
		large := false
		for _, c := range class {
			o := p.tables[c.Item.ID]
			if t.parts[o] {
				continue
			}
			t.parts[o] = true
			_, bytes := o.layout.total()
			large = large || int64(o.share()*float64(bytes)) >= p.settings.ShuffleBytes
			if !slices.Equal(p.homeOf(c), nodes) {
				t.shuffles[o] = &shuffled{column: c.Index, nodes: nodes}
			}
		}
		if large && len(t.shuffles) > 0 && len(t.parts) > 1 && p.large(t.parts) {
			list = append(list, t)
		}
	}
	return list
}

// homeOf lists the nodes over which a table is split by hash of just that column.
func (p *planner) homeOf(c column) []string {
	o := p.tables[c.Item.ID]
	if _, columns, ok := o.layout.hashing(o.scan.Relation); ok && slices.Equal(columns, []int{c.Index}) {
		return o.layout.Split.Nodes
	}
	return nil
}

// joinClasses groups the columns of base tables that conditions anywhere in a query compare with each other.
func (p *planner) joinClasses(q *query) (classes [][]column) {
	equal := equalities{}
	var columns []column
	note := func(c, d column) {
		c, d = c.Base(), d.Base()
		if p.shufflable(c) && p.shufflable(d) && c.Item != d.Item && p.sameType(c, d) {
			equal.unite(c, d)
			columns = append(columns, c, d)
		}
	}
	p.each(q, p.isStaged, func(q *query) {
		if q.block == nil {
			return
		}
		for _, f := range q.From {
			p.comparedIn(f, note)
		}
		for _, n := range conjuncts(q.Stmt.WhereClause, nil) {
			if c, d, ok := p.equality(n); ok {
				note(c, d)
			}
		}
		for _, s := range q.block.subqueries {
			if r := p.ref(s.link.Testexpr); r != nil && len(s.query.Outputs) == 1 {
				note(r.column, s.query.Outputs[0].Column)
			}
		}
	})
	seen := map[column]int{}
	for _, c := range columns {
		root := equal.root(c)
		i, ok := seen[root]
		if !ok {
			i = len(classes)
			seen[root] = i
			classes = append(classes, nil)
		}
		if !slices.Contains(classes[i], c) {
			classes[i] = append(classes[i], c)
		}
	}
	return classes
}

func (p *planner) comparedIn(f *bind.From, note func(c, d column)) {
	if f.Join == nil {
		return
	}
	for _, pair := range p.pairs(f) {
		note(pair[0], pair[1])
	}
	p.comparedIn(f.Left, note)
	p.comparedIn(f.Right, note)
}

// shufflable: the occurrence can be replaced by a query over a stage.
func (p *planner) shufflable(c column) bool {
	if c.Item == nil || c.Item.Renamed || len(c.Item.Cuts) > 0 {
		return false
	}
	o := p.tables[c.Item.ID]
	return o != nil && o.layout != nil
}

// moving is what one stage shuffles: rows of a table, for one occurrence of it or for several that want the same rows.
type moving struct {
	occurrences []*occurrence
	by          *shuffled
	filters     []plan.Span // of the first occurrence; the same words in the others
	reducer     *reducer
	columns     []int
}

// addShuffles makes the stages of the tables that are shuffled for a query's block.
func (p *planner) addShuffles(q *query, shuffles map[*occurrence]*shuffled) {
	var list []*moving
	known := map[string]*moving{}
	for _, o := range p.occurrences {
		sh := shuffles[o]
		if sh == nil {
			continue
		}
		m := &moving{by: sh, filters: p.filtersOf(o), reducer: p.reducerOf(o)}
		if same := known[p.wanted(o, m)]; same != nil {
			m = same
		} else {
			known[p.wanted(o, m)] = m
			list = append(list, m)
		}
		m.occurrences = append(m.occurrences, o)
		columns := append(o.needed(q, p.filtersOf(o)...), sh.column)
		m.columns = slices.Compact(slices.Sorted(slices.Values(append(m.columns, columns...))))
	}
	for _, m := range list {
		p.addShuffle(m)
	}
}

// wanted names the rows that are shuffled for an occurrence: equal names are the same rows.
func (p *planner) wanted(o *occurrence, m *moving) string {
	words := []string{fmt.Sprintf("%p %d", o.scan.Relation, m.by.column), strings.Join(m.by.nodes, "\x00")}
	if len(m.filters) > 0 {
		words = append(words, o.item.Alias)
	}
	for _, s := range m.filters {
		words = append(words, p.text.Of(s))
	}
	if m.reducer != nil {
		words = append(words, fmt.Sprint(*m.reducer))
	}
	return strings.Join(words, "\x01")
}

// addShuffle makes one such stage and puts its result in the place of the tables.
func (p *planner) addShuffle(m *moving) {
	o := m.occurrences[0]
	parts := restriction{o: true}
	fragments := p.fragmentsOf(parts)
	if len(fragments) == 0 { // of an empty table
		fragments = []Fragment{{Node: p.settings.Coordinator, Part: p.settings.Coordinator}}
	}
	rows := float64(o.scan.TableRows)
	if len(m.filters) > 0 {
		rows = float64(o.scan.Rows)
	}
	if m.reducer != nil {
		rows *= m.reducer.kept
	}
	texts := 0
	for _, c := range m.columns {
		texts += p.texts(column{Item: o.item, Index: c})
	}
	p.add(stageOf{
		form: "rows of " + o.scan.Relation.Name, parts: parts, fragments: fragments, columns: len(m.columns), texts: texts, rows: rows,
		shuffle: &Shuffle{Columns: []int{slices.Index(m.columns, m.by.column)}, Partitions: len(m.by.nodes)},
		body: func(b *builder) {
			b.raw("SELECT ")
			for i, c := range m.columns {
				if i > 0 {
					b.raw(", ")
				}
				b.raw(o.column(c))
			}
			b.filtered(o, m.filters)
			if r := m.reducer; r != nil {
				b.raw([]string{" WHERE ", " AND "}[min(len(m.filters), 1)], o.column(r.column), " IN (SELECT ", r.other.column(r.match))
				b.filtered(r.other, p.filtersOf(r.other))
				b.raw(")")
			}
		},
	})
	for _, o := range m.occurrences {
		p.shuffles[o].stage = len(p.stages)
		p.readPartition(o, m.columns)
	}
}

// column is a column's name behind the occurrence's.
func (o *occurrence) column(i int) string {
	return lex.Quote(o.item.Alias) + "." + lex.Quote(o.scan.Relation.Columns[i].Name)
}

// filtered writes FROM and WHERE of what is left of one table.
func (b *builder) filtered(o *occurrence, filters []plan.Span) {
	b.raw(" FROM ")
	b.original(o.scan.Span)
	b.raw(" AS ", lex.Quote(o.item.Alias))
	for i, s := range filters {
		b.raw([]string{" WHERE ", " AND "}[min(i, 1)], "(")
		b.original(s)
		b.raw(")")
	}
}

// readPartition puts a partition of the last stage in a table's place, and true in that of its filters, which are done
// with.
func (p *planner) readPartition(o *occurrence, columns []int) {
	for _, s := range p.filtersOf(o) {
		p.edits = append(p.edits, edit{s, func(b *builder) { b.raw("true") }})
	}
	stage := len(p.stages)
	p.edits = append(p.edits, edit{o.scan.Span, func(b *builder) {
		b.raw("(SELECT ")
		for i, c := range columns {
			if i > 0 {
				b.raw(", ")
			}
			b.raw(stageColumn(stage, i), " AS ", lex.Quote(o.scan.Relation.Columns[c].Name))
		}
		b.raw(" FROM ")
		b.stage(stage, true)
		b.raw(")")
		if o.scan.AddAlias {
			b.raw(" AS ", lex.Quote(o.item.Alias))
		}
	}})
}

// needed lists the columns that the statement names of an occurrence, elsewhere than in some spans. The columns of an
// EXISTS are not used, unless it is the query whose rows are asked for.
func (o *occurrence) needed(of *query, without ...plan.Span) (columns []int) {
	note := func(c column) {
		if c.Item == o.item && !slices.Contains(columns, c.Index) {
			columns = append(columns, c.Index)
		}
	}
	for _, r := range o.block.refs {
		if !slices.ContainsFunc(without, func(s plan.Span) bool { return s.Start <= r.span.Start && r.span.End <= s.End }) {
			note(r.column)
		}
	}
	for _, pair := range o.block.using {
		note(pair[0])
		note(pair[1])
	}
	q := o.block.query
	if q == of || q.link == nil || q.link.SubLinkType != pg.SubLinkType_EXISTS_SUBLINK {
		for _, t := range o.block.targets {
			for _, c := range t.star {
				note(c)
			}
		}
	}
	return columns
}

// filtersOf lists the conditions that look at nothing but one table and whose rows must fulfil them to matter where
// it stands in FROM: conjuncts of WHERE, and of ON of inner joins and of those that fill the table with NULLs.
func (p *planner) filtersOf(o *occurrence) (list []plan.Span) {
	b := o.block
	for _, f := range b.query.From {
		list = p.filtersIn(f, o.item, list)
	}
	if nodes := conjuncts(b.stmt.WhereClause, nil); len(nodes) > 0 && slices.ContainsFunc(b.query.From, func(f *bind.From) bool { return preserves(f, o.item) }) {
		list = p.filtersAmong(nodes, b.text.Where, o.item, list)
	}
	return list
}

func (p *planner) filtersIn(f *bind.From, it *bind.Item, list []plan.Span) []plan.Span {
	if f.Join == nil {
		return list
	}
	list = p.filtersIn(f.Right, it, p.filtersIn(f.Left, it, list))
	left, right, kind := preserves(f.Left, it), preserves(f.Right, it), f.Join.Jointype
	if !(kind == pg.JoinType_JOIN_INNER && (left || right) || kind == pg.JoinType_JOIN_LEFT && right || kind == pg.JoinType_JOIN_RIGHT && left) {
		return list
	}
	on := conjuncts(f.Join.Quals, nil)
	for _, n := range on {
		if !p.onlyAbout(n, it) {
			continue
		}
		at := 0
		eachNode(n, func(m *pg.Node) {
			if ref := m.GetColumnRef(); ref != nil {
				at = int(ref.Location)
			}
		})
		if s, ok := p.text.On(at); ok {
			return p.filtersAmong(on, s, it, list)
		}
	}
	return list
}

// filtersAmong adds those of the conjuncts, which stand in s, that look at nothing but the item.
func (p *planner) filtersAmong(nodes []*pg.Node, s plan.Span, it *bind.Item, list []plan.Span) []plan.Span {
	spans, ok := p.text.Conjuncts(s, len(nodes))
	if !ok {
		return list
	}
	for i, n := range nodes {
		if p.onlyAbout(n, it) {
			list = append(list, spans[i])
		}
	}
	return list
}

// preserves: no outer join of the entry fills the item's columns with NULLs.
func preserves(f *bind.From, it *bind.Item) bool {
	if f.Join == nil {
		return f.Item == it
	}
	switch f.Join.Jointype {
	case pg.JoinType_JOIN_INNER:
		return preserves(f.Left, it) || preserves(f.Right, it)
	case pg.JoinType_JOIN_LEFT:
		return preserves(f.Left, it)
	case pg.JoinType_JOIN_RIGHT:
		return preserves(f.Right, it)
	}
	return false
}

func (p *planner) onlyAbout(n *pg.Node, it *bind.Item) bool {
	about, other := false, false
	eachNode(n, func(m *pg.Node) {
		if m.GetSubLink() != nil {
			other = true
		}
		if ref := m.GetColumnRef(); ref != nil {
			r := p.refs[ref]
			about = about || r != nil && r.column.Item == it
			other = other || r == nil || r.column.Item != it
		}
	})
	return about && !other
}
