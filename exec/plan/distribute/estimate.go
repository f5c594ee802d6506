package distribute

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
)

// Costs are in bytes that one thread scans meanwhile: some 25 of them make a nanosecond on the machine where they were
// measured.
const (
	rowBytes    = 32  // to look at a row, that is to filter it
	keptBytes   = 250 // what is done with a row that passed: join it, add it to its group
	textBytes   = 500 // the same for each of its strings that no dictionary has: they are compared and copied wherever the row goes
	writeBytes  = 600 // to write a row of a result, and for each of its columns
	writeColumn = 200
	writeText   = 2000 // and for each of its strings that no dictionary has
	readBytes   = 150  // to read it again
	readColumn  = 50
)

// guessFilter is the share of rows that a condition with a sub-query leaves, and that HAVING leaves of groups.
const guessFilter = 0.3

// guessValues is how many values an expression is thought to have.
const guessValues = 100

// width is what a value of a type takes, roughly.
func width(t arrow.DataType) float64 {
	if f, ok := t.(arrow.FixedWidthDataType); ok && f.BitWidth() > 0 {
		return float64(f.BitWidth()) / 8
	}
	return 24
}

// share is the part of a table's bytes that the statement reads of it: some columns only.
func (o *occurrence) share() float64 {
	needed := o.needed(nil)
	all, read := 0.0, 0.0
	for i, c := range o.scan.Relation.Columns {
		w := width(c.Type)
		all += w
		if slices.Contains(needed, i) {
			read += w
		}
	}
	if all == 0 {
		return 1
	}
	return max(read/all, 0.01)
}

// dictionaryValues is how many values a column may have that are stored in a dictionary.
const dictionaryValues = 256

// kept is what is done with a row of the table that passed.
func (o *occurrence) kept() float64 {
	cost := float64(keptBytes)
	for _, i := range o.needed(nil) {
		if o.isText(i) {
			cost += textBytes
		}
	}
	return cost
}

// isText reports whether a column holds strings that no dictionary has.
func (o *occurrence) isText(column int) bool {
	c := &o.scan.Relation.Columns[column]
	return c.Type.ID() == arrow.STRING && (c.Stats.Distinct <= 0 || c.Stats.Distinct > dictionaryValues)
}

// outputTexts counts the outputs that are such columns.
func (p *planner) outputTexts(q *query) (n int) {
	for _, o := range q.Outputs {
		n += p.texts(o.Column)
	}
	return n
}

func (p *planner) texts(c column) int {
	if c = c.Base(); c.Item != nil && p.tables[c.Item.ID].isText(c.Index) {
		return 1
	}
	return 0
}

// read estimates what reading an occurrence costs a node: the part of one node, or everything.
func (p *planner) read(o *occurrence, node, part string, restricted bool) (e Estimate) {
	if o.layout == nil {
		return e
	}
	share := o.share()
	for _, l := range o.layout.Parts {
		if restricted && l.Node != part {
			continue
		}
		bytes := int64(share * float64(l.Bytes))
		if l.at(node) {
			e.LocalRows += l.Rows
			e.LocalBytes += bytes
		} else {
			e.RemoteRows += l.Rows
			e.RemoteBytes += bytes
		}
	}
	return e
}

// held is the share of a table's rows that are one node's part.
func (o *occurrence) held(node string) float64 {
	if o.layout == nil {
		return 1
	}
	rows := int64(0)
	for _, l := range o.layout.Parts {
		if l.Node == node {
			rows += l.Rows
		}
	}
	total, _ := o.layout.total()
	return float64(rows) / float64(max(total, 1))
}

func (e *Estimate) add(f Estimate) {
	e.LocalRows += f.LocalRows
	e.LocalBytes += f.LocalBytes
	e.RemoteRows += f.RemoteRows
	e.RemoteBytes += f.RemoteBytes
}

func (p *planner) cost(e Estimate) float64 {
	return float64(e.LocalBytes) + p.settings.RemoteFactor*float64(e.RemoteBytes) + rowBytes*float64(e.LocalRows+e.RemoteRows)
}

// passing estimates which share of their rows the occurrences of one text let through: by their own conditions, and
// by the keys that are left of smaller tables that they are joined with in it, which a node thins its scans out by.
// The smallest go first, as there. Of those that are read in part, held says which share of the rows: what is read
// whole beside them is thinned out by those keys alone.
func (p *planner) passing(among []*occurrence, held map[*occurrence]float64) map[*occurrence]float64 {
	share := map[*occurrence]float64{}
	rows := func(o *occurrence) float64 {
		if s, done := share[o]; done {
			return s * float64(o.scan.TableRows)
		}
		return float64(o.scan.Rows)
	}
	left := slices.SortedFunc(slices.Values(among), func(x, y *occurrence) int { return x.index - y.index })
	for len(left) > 0 {
		o := slices.MinFunc(left, func(x, y *occurrence) int { return cmp.Compare(rows(x), rows(y)) })
		left = slices.DeleteFunc(left, func(other *occurrence) bool { return other == o })
		s := min(1, float64(o.scan.Rows)/max(float64(o.scan.TableRows), 1))
		keys := map[int]float64{} // which part of a column's values is among the fewest keys
		for _, j := range o.scan.Joins {
			other := p.occurrences[j.Other]
			of, done := share[other]
			if _, part := held[o]; !part {
				if s, part := held[other]; part {
					of *= s
				}
			}
			if done && of < 1 {
				values := max(float64(o.scan.Relation.Columns[j.Column].Stats.Distinct), 1)
				have, ok := keys[j.Column]
				if part := of * float64(other.scan.TableRows) / values; part < 1 && (!ok || part < have) {
					keys[j.Column] = part
				}
			}
		}
		for _, column := range slices.Sorted(maps.Keys(keys)) {
			s *= keys[column]
		}
		share[o] = p.guessed(s)
	}
	return share
}

// guessed is the estimate, or what tests have Settings.Guess make of it.
func (p *planner) guessed(estimate float64) float64 {
	if p.settings.Guess != nil {
		return float64(p.settings.Guess(int64(estimate)))
	}
	return estimate
}

// written is what writing rows of a result costs, and reread what reading them does.
func written(rows float64, columns, texts int) float64 {
	return rows * float64(writeBytes+writeColumn*max(columns, 1)+writeText*texts)
}

func reread(rows float64, columns int) float64 {
	return rows * float64(readBytes+readColumn*max(columns, 1))
}

// reading estimates what running a text costs a node, results of stages included.
func (p *planner) reading(t *Text, node, part string) (e Estimate, cost float64) {
	var tables []*occurrence
	held := map[*occurrence]float64{}
	for _, r := range t.Reads {
		if r.Stage > 0 {
			continue
		}
		o := p.occurrences[r.origin]
		tables = append(tables, o)
		if r.Part {
			held[o] = o.held(part)
		}
	}
	passing := p.passing(tables, held)
	for _, r := range t.Reads {
		if r.Stage > 0 {
			rows := p.rows[r.Stage-1]
			if r.Part {
				rows /= float64(p.stages[r.Stage-1].Shuffle.Partitions)
			}
			cost += reread(rows, p.stages[r.Stage-1].Columns) * p.settings.RemoteFactor
			continue
		}
		o := p.occurrences[r.origin]
		one := p.read(o, node, part, r.Part)
		e.add(one)
		cost += o.kept() * passing[o] * float64(one.LocalRows+one.RemoteRows)
	}
	return e, cost + p.cost(e)
}

// rowsOf estimates the rows that a query gives.
func (p *planner) rowsOf(q *query) float64 {
	rows, known := p.estimates[q]
	if !known {
		rows = p.estimate(q)
		p.estimates[q] = rows
	}
	return rows
}

func (p *planner) estimate(q *query) float64 {
	rows := 1.0
	switch {
	case q.block != nil:
		rows = p.joined(q.block)
		if q.block.aggregated() {
			rows = min(rows, p.groups(q.block))
			if q.block.stmt.HavingClause != nil {
				rows *= guessFilter
			}
		}
	case len(q.arms) == 2:
		rows = p.rowsOf(q.arms[0]) + p.rowsOf(q.arms[1])
	default:
		rows = float64(len(q.Stmt.ValuesLists))
	}
	if n, ok := literalLimit(q.Stmt.LimitCount); ok {
		rows = min(rows, float64(n))
	}
	return p.guessed(max(rows, 1))
}

// joined estimates the rows that FROM and WHERE of a block leave: the product of the tables, each set of equal
// columns but one taking its distinct values away.
func (p *planner) joined(b *block) float64 {
	rows := 1.0
	classes := map[column][]float64{}
	for _, it := range b.query.Items {
		have := p.itemRows(it)
		rows *= max(have, 1)
		for i := range it.Columns {
			c := column{Item: it, Index: i}
			root := b.equal.root(c)
			if _, ok := b.equal[c]; ok || root != c {
				classes[root] = append(classes[root], p.distinct(c))
			} else if len(b.equal) > 0 && p.isRoot(b, c) {
				classes[c] = append(classes[c], p.distinct(c))
			}
		}
	}
	for _, s := range b.subqueries {
		if s.filter {
			rows *= guessFilter
		}
	}
	for _, list := range classes {
		slices.Sort(list)
		for _, d := range list[1:] {
			rows /= max(d, 1)
		}
	}
	return max(rows, 1)
}

// isRoot: other columns are equal to c.
func (p *planner) isRoot(b *block, c column) bool {
	for _, parent := range b.equal {
		if parent == c {
			return true
		}
	}
	return false
}

func (p *planner) itemRows(it *bind.Item) float64 {
	if o := p.tables[it.ID]; o != nil {
		return float64(o.scan.Rows)
	}
	return p.rowsOf(p.of(it))
}

// distinct estimates how many values a column has.
func (p *planner) distinct(c column) float64 {
	if o := p.tables[c.Item.ID]; o != nil {
		s := o.scan.Relation.Columns[c.Index].Stats
		d := float64(s.Distinct)
		if d == 0 {
			d = float64(o.scan.TableRows)
		}
		return max(min(d, float64(o.scan.TableRows)), 1)
	}
	if source, ok := c.Source(); ok {
		return p.distinct(source)
	}
	return max(math.Sqrt(p.rowsOf(p.of(c.Item))), 1)
}

// groups estimates how many groups a block makes.
func (p *planner) groups(b *block) float64 {
	groups := 1.0
	for _, n := range b.stmt.GroupClause {
		if t := p.keyTarget(b, n); t >= 0 {
			n = b.targets[t].node
		}
		groups *= p.valuesOf(b, n)
	}
	return min(groups, p.joined(b))
}

// valuesOf estimates how many values an expression has.
func (p *planner) valuesOf(b *block, n *pg.Node) float64 {
	if r := p.own(b, n); r != nil {
		return p.distinct(r.column)
	}
	return guessValues
}

// work is what the whole statement costs the coordinator by itself.
func (p *planner) work(reads map[*occurrence]bool) float64 {
	sum := 0.0
	passing := p.passing(slices.Collect(maps.Keys(reads)), nil)
	for o := range reads {
		e := p.read(o, p.settings.Coordinator, "", false)
		sum += p.cost(e) + o.kept()*passing[o]*float64(e.LocalRows+e.RemoteRows)
	}
	return sum
}
