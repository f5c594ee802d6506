package distribute

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
)

// rows is the spread of what FROM and WHERE of a block leave.
func (s *spreader) rows(b *block) spread {
	out := spread{}
	for _, f := range b.query.From {
		out = combine(out, s.joined(f, b.equal), b.equal)
		if out.kind == scattered {
			return out
		}
	}
	if why := s.subqueries(b, out, rowwise); why != "" {
		return mess(why)
	}
	return out
}

// combine is the spread of an inner join. A pair of rows that lie on different nodes must be one that some condition
// refuses.
func combine(left, right spread, equal equalities) spread {
	switch {
	case left.kind == scattered || right.kind == whole:
		return left
	case right.kind == scattered || left.kind == whole:
		return right
	case !aligned(left, right, equal):
		return mess("a join of two tables that are split in different ways")
	}
	for p := range left.keys {
		left.keys[p] = append(slices.Clone(left.keys[p]), right.keys[p]...)
	}
	return left
}

// aligned reports whether rows which join lie on one node.
func aligned(left, right spread, equal equalities) bool {
	if left.by == nil || right.by == nil || *left.by != *right.by {
		return false
	}
	for p := range left.keys {
		if !slices.ContainsFunc(left.keys[p], func(c column) bool {
			return slices.ContainsFunc(right.keys[p], func(d column) bool { return equal.same(c, d) })
		}) {
			return false
		}
	}
	return true
}

// joined is the spread of an entry of FROM; equal holds in all of its rows that matter.
func (s *spreader) joined(f *bind.From, equal equalities) spread {
	if f.Join == nil {
		return s.leaf(f.Item, equal)
	}
	left, right := equal, equal
	switch f.Join.Jointype {
	case pg.JoinType_JOIN_INNER:
		return combine(s.joined(f.Left, equal), s.joined(f.Right, equal), equal)
	case pg.JoinType_JOIN_LEFT:
		right = s.inside(f.Right)
	case pg.JoinType_JOIN_RIGHT:
		left = s.inside(f.Left)
	default:
		left, right = s.inside(f.Left), s.inside(f.Right)
	}
	l, r := s.joined(f.Left, left), s.joined(f.Right, right)
	switch {
	case l.kind == scattered:
		return l
	case r.kind == scattered:
		return r
	case l.kind == whole && r.kind == whole:
		return l
	}
	return s.outerJoin(f, l, r)
}

// inside is what holds in the rows of an entry of FROM by itself: a row on the side that an outer join fills matters
// even if conditions further out refuse it, for they would refuse NULLs in its place, too, but not always.
func (s *spreader) inside(f *bind.From) equalities {
	e := equalities{}
	s.equalIn(e, f)
	return e
}

// outerJoin: the preserved side may be split; both may be if the join's own condition puts partners on one node.
func (s *spreader) outerJoin(f *bind.From, l, r spread) spread {
	both := l.kind == split && r.kind == split
	if both {
		on := equalities{}
		for _, pair := range s.pairs(f) {
			on.unite(pair[0], pair[1])
		}
		if !aligned(l, r, on) {
			return mess("an outer join of two tables that are split in different ways")
		}
	}
	switch kind := f.Join.Jointype; {
	case kind == pg.JoinType_JOIN_LEFT && l.kind == split:
		return l
	case kind == pg.JoinType_JOIN_RIGHT && r.kind == split:
		return r
	case both:
		return spread{kind: split} // a row may have come from either side: no column holds the key for sure
	}
	return mess("an outer join whose preserved side is not the split one")
}

// leaf is the spread of an entry of FROM. equal adds the columns that equal its keys.
func (s *spreader) leaf(it *bind.Item, equal equalities) spread {
	if o := s.tables[it.ID]; o != nil {
		return s.table(o, equal)
	}
	q := s.of(it)
	out := s.query(q)
	if out.kind == split && it.CTE == nil && len(q.outer) > 0 {
		return mess("a restricted table in a lateral query")
	}
	keys := make([][]column, len(out.keys))
	for p, k := range out.keys {
		for _, c := range k {
			keys[p] = append(keys[p], column{Item: it, Index: c.Index})
		}
	}
	out.keys = keys
	return out.widened(it.In.Items, equal)
}

func (s *spreader) table(o *occurrence, equal equalities) spread {
	if !s.parts[o] {
		return spread{}
	}
	out := spread{kind: split}
	if sh := s.shuffles[o]; sh != nil {
		h := sh.hashing(o)
		out.by, out.keys = &h, [][]column{{{Item: o.item, Index: sh.column}}}
		return out.widened(o.item.In.Items, equal)
	}
	if h, columns, ok := o.layout.hashing(o.scan.Relation); ok {
		out.by = &h
		for _, i := range columns {
			out.keys = append(out.keys, []column{{Item: o.item, Index: i}})
		}
	}
	return out.widened(o.item.In.Items, equal)
}

// widened adds the columns that equal the keys.
func (s spread) widened(items []*bind.Item, equal equalities) spread {
	for p, k := range s.keys {
		for _, it := range items {
			for i := range it.Columns {
				c := column{Item: it, Index: i}
				if !slices.Contains(k, c) && equal.same(k[0], c) {
					k = append(k, c)
				}
			}
		}
		s.keys[p] = k
	}
	return s
}

func everySubquery(*subquery) bool { return true }

// rowwise and behindRows are the sub-queries that are asked before groups are made, and those behind.
func rowwise(q *subquery) bool    { return q.clause.before() }
func behindRows(q *subquery) bool { return !q.clause.before() }

// subqueries says why sub-queries of a block, those that are asked for, would not give each fragment's rows what they
// give them in the whole statement; "" if they would.
func (s *spreader) subqueries(b *block, in spread, asked func(*subquery) bool) (why string) {
	for _, q := range b.subqueries {
		if !asked(q) || !s.has(s.parts, q.query) {
			continue
		}
		if in.kind == whole {
			return "a restricted table in a sub-query of an unrestricted one"
		}
		if q.clause == inOn || !(s.answersAlike(q, in) || s.membership(q, in)) {
			return "a restricted table in a sub-query whose rows lie on several nodes"
		}
	}
	return ""
}

// answersAlike: the sub-query only looks at rows whose key is that of the row around it, and those lie on the same
// node.
func (s *spreader) answersAlike(q *subquery, in spread) bool {
	b := q.query.block
	if b == nil || in.by == nil {
		return false
	}
	rows := s.rows(b)
	if rows.kind != split || rows.by == nil || *rows.by != *in.by {
		return false
	}
	if s.subqueries(b, rows, behindRows) != "" {
		return false
	}
	for p := range rows.keys {
		if !s.correlated(b, rows.keys[p], in.keys[p]) {
			return false
		}
	}
	return true
}

// correlated: a conjunct of the block's WHERE compares one of its columns with one of the outer ones.
func (s *spreader) correlated(b *block, own, outer []column) bool {
	return slices.ContainsFunc(conjuncts(b.stmt.WhereClause, nil), func(n *pg.Node) bool {
		c, d, ok := s.equality(n)
		return ok && (slices.Contains(own, c) && slices.Contains(outer, d) || slices.Contains(own, d) && slices.Contains(outer, c))
	})
}

// membership: key IN (SELECT key …) as a condition that must be true. A row only finds its like on its own node.
// Not NOT IN, which a NULL anywhere decides.
func (s *spreader) membership(q *subquery, in spread) bool {
	l := q.link
	if !q.filter || q.clause != inWhere || l.SubLinkType != pg.SubLinkType_ANY_SUBLINK || len(l.OperName) > 0 || in.by == nil || len(in.keys) != 1 {
		return false
	}
	r := s.ref(l.Testexpr)
	if r == nil || !slices.Contains(in.keys[0], r.column) {
		return false
	}
	out := s.query(q.query)
	return out.kind == split && out.by != nil && *out.by == *in.by && len(q.query.Outputs) == 1 &&
		slices.Contains(out.keys[0], column{}) && len(q.query.outer) == 0
}
