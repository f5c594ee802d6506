package distribute

import (
	"fmt"
	"slices"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// fragments lists a stage's fragments: the readers of shuffled tables' partitions, or where there are none, one for
// each node where a part of a restricted table lies. Nothing, if that is the coordinator alone.
func (p *planner) fragments(parts restriction) (list []Fragment) {
	for o := range parts {
		if sh := p.shuffles[o]; sh != nil {
			for i, node := range sh.nodes {
				list = append(list, Fragment{Node: node, Part: node, Partition: i})
			}
			p.assign(list, nil)
			return list
		}
	}
	if list = p.fragmentsOf(parts); len(list) == 1 && list[0].Node == p.settings.Coordinator {
		return nil
	}
	return list
}

// fragmentsOf lists the nodes where parts of tables lie, those of the largest table in its order.
func (p *planner) fragmentsOf(parts restriction) (list []Fragment) {
	var tables []*occurrence
	for o := range parts {
		tables = append(tables, o)
	}
	slices.SortFunc(tables, func(x, y *occurrence) int {
		a, _ := x.layout.total()
		b, _ := y.layout.total()
		if a != b {
			return int(min(max(b-a, -1), 1))
		}
		return x.index - y.index
	})
	for _, o := range tables {
		for _, l := range o.layout.Parts {
			if l.Rows > 0 && !slices.ContainsFunc(list, func(f Fragment) bool { return f.Part == l.Node }) {
				list = append(list, Fragment{Node: l.Node, Part: l.Node})
			}
		}
	}
	p.assign(list, tables)
	return list
}

// assign gives the fragments of nodes that cannot run any to others: to the least busy of the nodes that also have the
// part of the largest table for which there are such nodes, or else of all.
func (p *planner) assign(list []Fragment, tables []*occurrence) {
	busy := map[string]int{}
	for i := range list {
		if !slices.Contains(p.settings.Nodes, list[i].Part) {
			list[i].Node = ""
		}
		busy[list[i].Node]++
	}
	for i := range list {
		if list[i].Node != "" {
			continue
		}
		nodes := p.settings.Nodes
		for _, o := range tables {
			if also := p.also(o, list[i].Part); len(also) > 0 {
				nodes = also
				break
			}
		}
		list[i].Node = slices.MinFunc(nodes, func(x, y string) int { return busy[x] - busy[y] })
		busy[list[i].Node]++
	}
}

// also lists the nodes that can run a fragment and have another node's part of a table, too.
func (p *planner) also(o *occurrence, part string) (nodes []string) {
	for i := range o.layout.Parts {
		if l := &o.layout.Parts[i]; l.Node == part {
			nodes = append(nodes, slices.DeleteFunc(slices.Clone(l.Also), func(n string) bool { return !slices.Contains(p.settings.Nodes, n) })...)
		}
	}
	return nodes
}

// stageOf is a stage to be added.
type stageOf struct {
	query     *query
	form      string
	parts     restriction
	fragments []Fragment
	columns   int
	texts     int     // of the columns: strings that no dictionary has
	rows      float64 // of all fragments together
	shuffle   *Shuffle
	edits     []edit
	body      func(*builder)               // the query whose columns are c0, c1, …
	final     func(b *builder, number int) // what stands for the query then; nil: the stage is for other stages
}

// add makes the stage and puts its end in the query's place.
func (p *planner) add(s stageOf) {
	number := len(p.stages) + 1
	b := p.builder(s.parts)
	b.edits = s.edits
	b.with(func(*cte) bool { return true }, func(b *builder) {
		b.raw("SELECT * FROM (")
		s.body(b)
		b.raw(") AS csm_part(", strings.TrimSuffix(columnList(s.columns), ", "), ")")
	})
	stage := Stage{Text: b.text(), Number: number, Form: s.form, Columns: s.columns, Shuffle: s.shuffle, Fragments: s.fragments}
	slowest := 0.0
	for i := range stage.Fragments {
		f := &stage.Fragments[i]
		e, cost := p.reading(&stage.Text, f.Node, f.Part)
		f.Estimate = e
		slowest = max(slowest, cost)
	}
	p.stages = append(p.stages, stage)
	p.rows = append(p.rows, s.rows)
	p.costs = append(p.costs, slowest+written(s.rows/float64(len(s.fragments)), s.columns, s.texts)+p.settings.overhead())
	if s.final == nil {
		return
	}
	p.staged = append(p.staged, edit{s.query.text.Span, func(b *builder) {
		inner := b.child()
		inner.edits = nil
		inner.with(func(c *cte) bool { return slices.Contains(s.query.ctes, c) }, func(b *builder) { s.final(b, number) })
		b.append(inner)
	}})
	p.stagedOf = append(p.stagedOf, s.query)
}

func columnList(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "c%d, ", i)
	}
	return b.String()
}

// transported writes an expression over a stage's result as the type that its class says: HUGEINT comes through as
// DECIMAL (D5).
func transported(expr string, c class) string {
	if c.kind == hugeint {
		return "CAST(" + expr + " AS HUGEINT)"
	}
	return expr
}

// lost says why the outputs of a query would not come through a stage as they are; those of the statement itself go to
// the client, where it makes no difference.
func (q *query) lost() string {
	if q.in == nil && q.at.block == nil {
		return ""
	}
	for _, c := range q.classes {
		if !c.known() {
			return "a column of a sub-query whose type is not certain"
		}
	}
	return ""
}

// writeOutputs writes the select list of a query whose outputs are the first columns of a stage.
func (b *builder) writeOutputs(q *query, number int) {
	for i, c := range q.classes {
		if i > 0 {
			b.raw(", ")
		}
		b.raw(transported(stageColumn(number, i), c))
		if q.Outputs[i].Name != "" {
			b.raw(" AS ", lex.Quote(b.outputName(q, i)))
		}
	}
}

// outputName is an output's name with the letters that the text has: the tree has folded them.
func (b *builder) outputName(q *query, output int) string {
	if q.block == nil || slices.ContainsFunc(q.block.targets, func(t target) bool { return t.isStar }) {
		return q.Outputs[output].Name
	}
	if alias := q.block.targets[output].text.Alias; alias.End > 0 {
		if name, ok := lex.PostgreSQL.Next(b.p.text.Of(alias), 0).Name(); ok {
			return name
		}
	}
	return q.Outputs[output].Name
}

// canBeOnce reports whether a query can be worked out by the coordinator before the others need it.
func (p *planner) canBeOnce(q *query) bool {
	return len(q.outer) == 0 && q.text != nil && q.lost() == ""
}

// once makes a stage of a query that the coordinator works out, so that all fragments see the same rows of it (D7):
// whole, or what is left to do behind stages that it already has.
func (p *planner) once(q *query) {
	if !p.canBeOnce(q) {
		return
	}
	body := func(b *builder) { b.original(q.text.Span) }
	if i := slices.Index(p.stagedOf, q); i >= 0 {
		body = p.staged[i].write
		p.staged, p.stagedOf = slices.Delete(p.staged, i, i+1), slices.Delete(p.stagedOf, i, i+1)
	}
	p.add(stageOf{
		query: q, form: "rows worked out once", columns: len(q.Outputs), texts: p.outputTexts(q), rows: p.rowsOf(q), body: body,
		fragments: []Fragment{{Node: p.settings.Coordinator, Part: p.settings.Coordinator}},
		final: func(b *builder, number int) {
			b.raw("SELECT ")
			b.writeOutputs(q, number)
			b.raw(" FROM ")
			b.stage(number, false)
		},
	})
}
