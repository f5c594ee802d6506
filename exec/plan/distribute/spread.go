package distribute

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
)

// spread says how the rows of something lie over the fragments if each reads its own part of the restricted
// occurrences and everything else whole (D4).
type spread struct {
	kind spreadKind
	why  string // of scattered
	// A split by hash: which one, and for each of its columns, the columns that equal it in every row.
	by   *hashing
	keys [][]column
}

type spreadKind uint8

const (
	whole     spreadKind = iota // every fragment has all rows
	split                       // every row is in exactly one fragment
	scattered                   // neither
)

func mess(why string) spread { return spread{kind: scattered, why: why} }

// restriction is the set of occurrences that are read in part.
type restriction map[*occurrence]bool

// has reports whether a query reads a restricted table.
func (p *planner) has(parts restriction, q *query) bool {
	for o := range p.reads(q) {
		if parts[o] {
			return true
		}
	}
	return false
}

// spreader works out spreads under one restriction.
type spreader struct {
	*planner
	parts restriction
}

// query is the spread of a query's outputs; keys are columns of no item, whose index is the output's.
func (s *spreader) query(q *query) spread {
	if s.tired() {
		return mess("too many queries within queries")
	}
	if s.isStaged(q) || !s.has(s.parts, q) {
		return spread{}
	}
	switch {
	case q.block != nil:
		return s.outputs(q.block)
	case len(q.arms) == 2:
		return s.setOperation(q)
	}
	return mess("a restricted table in VALUES")
}

// setOperation: UNION ALL of split arms is split; the others compare rows, and equal ones must be in one place.
func (s *spreader) setOperation(q *query) spread {
	left, right := s.query(q.arms[0]), s.query(q.arms[1])
	if left.kind != split || right.kind != split {
		return mess("a set operation of which only one side is split")
	}
	if q.Stmt.LimitCount != nil || q.Stmt.LimitOffset != nil {
		return mess("LIMIT of a set operation")
	}
	out := spread{kind: split}
	if left.by != nil && right.by != nil && *left.by == *right.by {
		out.by = left.by
		for p := range left.keys {
			var both []column
			for _, c := range left.keys[p] {
				if slices.Contains(right.keys[p], c) {
					both = append(both, c)
				}
			}
			out.keys = append(out.keys, both)
		}
	}
	out = out.valid()
	if out.by == nil && !(q.Stmt.Op == pg.SetOperation_SETOP_UNION && q.Stmt.All) {
		return mess("a set operation that compares rows of different nodes")
	}
	return out
}

// valid drops a hash of which a column is lost.
func (s spread) valid() spread {
	for _, k := range s.keys {
		if len(k) == 0 {
			s.by, s.keys = nil, nil
			break
		}
	}
	return s
}

// outputs of a block that is worked out by each fragment.
func (s *spreader) outputs(b *block) spread {
	in := s.rows(b)
	st := b.stmt
	switch {
	case in.kind == scattered:
		return in
	case in.kind == whole: // for it has a restricted table somewhere
		return mess("a restricted table in a sub-query of an unrestricted one")
	case st.LimitCount != nil || st.LimitOffset != nil:
		return mess("LIMIT of a part")
	case b.aggregated() && !s.complete(b, in):
		return mess("groups that lie on several nodes")
	case len(st.DistinctClause) > 0 && (st.DistinctClause[0].GetNode() != nil || !in.covered(b.plainTargets())):
		return mess("DISTINCT over rows of several nodes")
	case !s.windowsComplete(b, in):
		return mess("a window over rows of several nodes")
	}
	if why := s.subqueries(b, in, behindRows); why != "" {
		return mess(why)
	}
	return in.through(b)
}

// complete reports whether every group of the block lies in one fragment.
func (s *spreader) complete(b *block, in spread) bool {
	if in.by == nil {
		return false
	}
	var columns []column
	for _, n := range b.stmt.GroupClause {
		if n.GetGroupingSet() != nil {
			return false
		}
		if c, ok := s.groupColumn(b, n); ok {
			columns = append(columns, c)
		}
	}
	return in.covered(columns)
}

// groupColumn is the column that a member of GROUP BY is, if it is one.
func (a *analysis) groupColumn(b *block, n *pg.Node) (column, bool) {
	if t := a.keyTarget(b, n); t >= 0 {
		n = b.targets[t].node
	}
	if r := a.own(b, n); r != nil {
		return r.column, true
	}
	return column{}, false
}

// keyTarget is the entry of the select list that a member of GROUP BY or ORDER BY means, by position or name, or -1.
func (a *analysis) keyTarget(b *block, n *pg.Node) int {
	if i := n.GetAConst().GetIval(); i != nil {
		return b.position(int(i.Ival))
	}
	return a.entry(b, n)
}

// position is the entry of the select list that gives output number n, counted from 1; -1 if a star is in the way.
func (b *block) position(n int) int {
	if n < 1 || n > len(b.targets) || slices.ContainsFunc(b.targets, func(t target) bool { return t.isStar }) {
		return -1
	}
	return n - 1
}

// plainTargets are the columns that the select list gives as they are.
func (b *block) plainTargets() (list []column) {
	for _, o := range b.query.Outputs {
		if o.Column.Item != nil {
			list = append(list, o.Column)
		}
	}
	return list
}

// covered reports whether rows which agree in the given columns are in one fragment.
func (s spread) covered(columns []column) bool {
	if s.by == nil {
		return false
	}
	for _, k := range s.keys {
		if !slices.ContainsFunc(k, func(c column) bool { return slices.Contains(columns, c) }) {
			return false
		}
	}
	return true
}

// windowsComplete reports whether every partition of every window lies in one fragment.
func (s *spreader) windowsComplete(b *block, in spread) bool {
	for _, f := range b.windows {
		if !in.covered(s.partitionColumns(b, f.Over)) {
			return false
		}
	}
	return true
}

// namedWindow is the definition that OVER w means; OVER (w …) is not looked into.
func (b *block) namedWindow(w *pg.WindowDef) *pg.WindowDef {
	if w.Refname != "" {
		return nil
	}
	for _, n := range b.stmt.WindowClause {
		if d := n.GetWindowDef(); lex.Same(d.Name, w.Name) && d.Refname == "" {
			return d
		}
	}
	return nil
}

// through names the keys by the outputs that carry them.
func (s spread) through(b *block) spread {
	out := spread{kind: split, by: s.by}
	for _, k := range s.keys {
		var list []column
		for i, o := range b.query.Outputs {
			if o.Column.Item != nil && slices.Contains(k, o.Column) {
				list = append(list, column{Index: i})
			}
		}
		out.keys = append(out.keys, list)
	}
	return out.valid()
}
