package distribute

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// keyAttempts proposes to shuffle a table by a column that a block groups by, or that its windows are partitioned
// by: every group and every partition of a window is then on one node, whatever the aggregates are. It is for what
// cannot be made of parts and would have to be gathered: medians, ordered lists, windows. (Parts of groups are
// better shuffled as groups: a value that most rows have makes no node do most of the work.)
//
//	stage 1   SELECT k, x FROM t WHERE x > 3                  → partitions by hash of k
//	stage 2   SELECT k, median(x), … FROM (…) AS t GROUP BY k
func (p *planner) keyAttempts(q *query) (list []attempt) {
	if p.settings.ShuffleBytes <= 0 {
		return nil
	}
	for _, c := range p.keyColumns(q.block) {
		c = c.Base()
		if !p.shufflable(c) || !p.columnClass(c).hashable() || p.homeOf(c) != nil {
			continue
		}
		o := p.tables[c.Item.ID]
		parts := restriction{o: true}
		if _, bytes := o.layout.total(); int64(o.share()*float64(bytes)) >= p.settings.ShuffleBytes && p.large(parts) {
			list = append(list, attempt{parts: parts, shuffles: map[*occurrence]*shuffled{o: {column: c.Index, nodes: p.settings.Nodes}}})
		}
	}
	return list
}

// keyColumns lists the columns that are equal in all rows that belong together: members of GROUP BY, and what is common
// to the partitions of all windows.
func (p *planner) keyColumns(b *block) (columns []column) {
	for _, n := range b.stmt.GroupClause {
		if n.GetGroupingSet() != nil {
			return nil
		}
		if c, ok := p.groupColumn(b, n); ok && !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	if len(b.stmt.GroupClause) > 0 {
		return columns
	}
	for i, f := range b.windows {
		of := p.partitionColumns(b, f.Over)
		if i == 0 {
			columns = of
		}
		columns = slices.DeleteFunc(columns, func(c column) bool { return !slices.Contains(of, c) })
	}
	return columns
}

// partitionColumns are the columns among what a window is partitioned by.
func (p *planner) partitionColumns(b *block, w *pg.WindowDef) (columns []column) {
	if w.Name != "" || w.Refname != "" {
		if w = b.namedWindow(w); w == nil {
			return nil
		}
	}
	for _, n := range w.PartitionClause {
		if r := p.own(b, n); r != nil {
			columns = append(columns, r.column)
		}
	}
	return columns
}
