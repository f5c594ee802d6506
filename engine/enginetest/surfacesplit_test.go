package enginetest

import (
	"fmt"
	"slices"
	"strings"
)

// Queries that are aimed at plans over several nodes. Such a plan divides rows, groups, windows and joins, and puts
// together what the nodes made of their parts. What it takes for complete too early shows as a group, a row or a
// number that comes twice, or not at all: so there are groups of NULLs and floats, keys of one table held against
// those of another, in other types too, derived tables that group, cut and count, and conditions that leave nothing.

// splittable is a SELECT of that sort, with whether its rows come in a certain order. deep says how many queries
// there may be inside of it.
func (w *writer) splittable(deep int) (*piece, []output, bool) {
	switch n := w.IntN(100); {
	case n < 6:
		p, outputs := w.arms()
		return p, outputs, false
	case n < 24 && deep > 0:
		p, outputs := w.total(deep)
		return p, outputs, false
	}
	s := &space{deep: 2}
	from := w.meeting(s, deep)
	where := list(" WHERE ", " AND ", "", 0)
	for range pick(w.Rand, []int{0, 0, 0, 1, 1, 2}) { // what is left of nothing tells nothing
		where.pieces = append(where.pieces, w.splitCondition(s))
	}
	tail := sequence(" FROM ", from, where)
	switch n := w.IntN(100); {
	case n < 42:
		return w.splitGroups(s, tail)
	case n < 56:
		return w.splitWindows(s, tail)
	case n < 64:
		out := list("", ", ", "", 1)
		var outputs []output
		for range 1 + w.IntN(2) {
			ref, _ := w.column(s, sorts)
			if k, ok := w.commonKey(s); ok && w.maybe(40) {
				ref = k
			}
			w.put(out, &outputs, ref.text, ref.typ)
		}
		cut, ordered := w.cut(outputs)
		return sequence("SELECT DISTINCT ", out, tail, cut), outputs, ordered
	case n < 68:
		p, outputs := w.distinctOn(s, tail)
		return p, outputs, false
	}
	return w.splitRows(s, tail)
}

// total looks at all that a derived table gives.
func (w *writer) total(deep int) (*piece, []output) {
	body, inner, _ := w.splittable(deep - 1)
	n := (&relation{fields: fieldsOf(inner)}).named(w.alias())
	out := list("", ", ", "", 1)
	var outputs []output
	w.put(out, &outputs, "count(*)", typesOf["BIGINT"])
	for _, f := range n.fields {
		if !sorts(f.typ) {
			continue
		}
		column := n.alias + "." + f.name
		how := w.either("count(%s)", "count(DISTINCT %s)", "min(%s)", "max(%s)")
		w.put(out, &outputs, fmt.Sprintf(how, column), typesOf["BIGINT"])
		if f.typ.family == "int" || f.typ.family == "DECIMAL(38,0)" {
			w.put(out, &outputs, "sum("+column+")", typesOf["DECIMAL(38,0)"])
		}
	}
	tail := list(" WHERE ", " AND ", "", 0)
	if w.maybe(20) {
		tail.pieces = append(tail.pieces, w.splitCondition(&space{own: []named{n}, deep: 2}))
	}
	return sequence("SELECT ", out, " FROM (", body, ") AS "+n.alias, tail), outputs
}

// splitQuestion is such a query, perhaps of one that is named.
func (w *writer) splitQuestion() *question {
	w.ctes, w.aliases, w.loose, w.risky = nil, 0, false, false
	with := list("WITH ", ", ", " ", 0)
	for w.maybe(15) && len(w.ctes) < 2 {
		body, outputs, _ := w.splittable(1)
		name := fmt.Sprintf("c%d", len(w.ctes))
		how := w.either("", "", "MATERIALIZED ", "NOT MATERIALIZED ")
		with.pieces = append(with.pieces, sequence(name+" AS "+how+"(", body, ")"))
		w.ctes = append(w.ctes, &relation{name: name, fields: fieldsOf(outputs), rows: 60})
	}
	body, outputs, ordered := w.splittable(pick(w.Rand, []int{1, 1, 2}))
	return &question{piece: sequence(with, body), outputs: outputs, ordered: ordered && !w.loose, loose: w.loose}
}

func (w *writer) either(of ...string) string { return pick(w.Rand, of) }

// put adds a column to a select list.
func (w *writer) put(list *piece, outputs *[]output, value string, typ *valueType) {
	name := fmt.Sprintf("o%d", len(*outputs))
	list.pieces = append(list.pieces, text("%s AS %s", value, name))
	*outputs = append(*outputs, output{name, typ})
}

// inexact is a sum of floats: it may be another in its last digits each time, so that nothing is asked of it.
var inexact = &valueType{name: "DOUBLE", family: "inexact", pool: []string{"NULL"}}

func sorts(t *valueType) bool { return t.family != "span" && t.family != "json" && !hasArrays(t.name) }

// named is a relation with those columns that a plan can look at: what is inside of lists and structs it does not
// name.
func (r *relation) named(alias string) named {
	n := named{alias: alias}
	for _, f := range r.fields {
		if len(f.typ.parts) == 0 && f.typ != inexact {
			n.fields = append(n.fields, f)
		}
	}
	for _, u := range r.unique {
		n.unique = append(n.unique, alias+"."+u)
	}
	return n
}

// meeting is a FROM clause of one to three tables or derived tables that meet by their keys.
func (w *writer) meeting(s *space, deep int) *piece {
	out := list("", "", "", 1)
	size, many := 1, pick(w.Rand, []int{1, 1, 2, 2, 2, 3})
	inTurn := w.maybe(10) || w.db.edge && w.maybe(55) // each with the one before, whose key is of another type
	start := w.IntN(len(w.db.tables))
	if inTurn {
		many, start = 2+w.IntN(2), w.IntN(2)
	}
	for i := range many {
		item, n, rows := w.entry(deep)
		if inTurn {
			item, n, rows = w.table(w.db.tables[(start+i)%len(w.db.tables)])
		}
		if len(n.fields) == 0 || i > 0 && size*rows/4 > 60_000 {
			continue
		}
		if len(out.pieces) == 0 {
			out.pieces = append(out.pieces, item)
			s.own, size = append(s.own, n), rows
			continue
		}
		how := w.either(" JOIN ", " JOIN ", " JOIN ", " LEFT JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ")
		other := s.own[len(s.own)-1]
		left, right, ok := w.keysThatMeet(other, n)
		if inTurn {
			left, right, ok = other.alias+".k", n.alias+".k", true
			how = w.either(" JOIN ", " JOIN ", " JOIN ", " JOIN ", " JOIN ", how)
		}
		if !ok {
			continue
		}
		on := list(" ON ", " AND ", "", 1, text("%s = %s", left, right))
		s.own, size = append(s.own, n), max(size*rows/4, 1)
		if w.maybe(25) {
			on.pieces = append(on.pieces, w.plain(&space{own: []named{pick(w.Rand, []named{n, n, other})}, deep: 2}))
		}
		out.pieces = append(out.pieces, sequence(how, item, on))
	}
	if len(out.pieces) == 0 {
		t := w.db.tables[0]
		s.own = append(s.own, t.named(w.alias()))
		out.pieces = append(out.pieces, text("%s AS %s", t.name, s.own[0].alias))
	}
	return out
}

// entry is one table, CTE or derived table of a FROM clause.
func (w *writer) entry(deep int) (*piece, named, int) {
	if deep > 0 && w.maybe(22) {
		alias := w.alias()
		body, outputs, _ := w.splittable(deep - 1)
		r := &relation{fields: fieldsOf(outputs)}
		return sequence("(", body, ") AS "+alias), r.named(alias), 60
	}
	r := pick(w.Rand, w.db.tables)
	if len(w.ctes) > 0 && w.maybe(50) {
		r = pick(w.Rand, w.ctes)
	}
	return w.table(r)
}

func (w *writer) table(r *relation) (*piece, named, int) {
	n := r.named(w.alias())
	return text("%s AS %s", r.name, n.alias), n, max(r.rows, 1)
}

// keysThatMeet are a column of each side that can be compared: mostly those that all tables have.
func (w *writer) keysThatMeet(a, b named) (left, right string, ok bool) {
	family := func(t *valueType) string {
		if isNumber(t.family) {
			return "number"
		}
		return t.family
	}
	keys := func(n named) (out []reference) {
		for _, f := range n.fields {
			if f.typ.key || w.db.edge && isNumber(f.typ.family) {
				out = append(out, reference{n.alias + "." + f.name, f.typ})
			}
		}
		return out
	}
	common := func(n named) (reference, bool) { return w.commonKey(&space{own: []named{n}}) }
	if x, ok := common(a); ok && w.maybe(55) {
		if y, ok := common(b); ok && family(x.typ) == family(y.typ) {
			return x.text, y.text, true
		}
	}
	lefts, rights := keys(a), keys(b)
	for range 12 {
		if len(lefts) == 0 || len(rights) == 0 {
			break
		}
		x, y := pick(w.Rand, lefts), pick(w.Rand, rights)
		if family(x.typ) == family(y.typ) {
			return x.text, y.text, true
		}
	}
	return "", "", false
}

// splitCondition is one that a node can ask of its own rows, or one that it can only ask if it has all that it is
// about.
func (w *writer) splitCondition(s *space) *piece {
	switch n := w.IntN(100); {
	case n < 12:
		return w.keysOf(s)
	case n < 30:
		if p := w.member(s); p != nil {
			return p
		}
	case n < 33: // nothing, at some nodes or at all
		return text("%s %s", w.anyOf(s, "id"), w.either("< 0", "= 1", "= 2", "< 3", "IS NULL"))
	case n < 40:
		return text("%s %% %d = %d", w.anyOf(s, "id"), 2+w.IntN(4), w.IntN(2))
	}
	return w.plain(s)
}

// member asks whether another table has a row's key, which it may have at another node, or a NULL.
func (w *writer) member(s *space) *piece {
	k, ok := w.commonKey(s)
	t := pick(w.Rand, w.db.tables)
	if !ok {
		return nil
	}
	alias, where, not := w.alias(), "", w.either("", "NOT ")
	if w.maybe(40) {
		where = fmt.Sprintf(" WHERE %s.%s", alias, w.either("id < 3", "id % 2 = 0", "k IS NOT NULL"))
	}
	if w.maybe(30) {
		return text("%sEXISTS (SELECT 1 FROM %s AS %s WHERE %[3]s.k = %s)", not, t.name, alias, k.text)
	}
	in := text("%s %sIN (SELECT %s.k FROM %s AS %[3]s%s)", k.text, not, alias, t.name, where)
	if w.maybe(25) {
		return sequence("(", in, " OR "+w.anyOf(s, "id")+" < 3)").or(in)
	}
	return in
}

// anyOf is a column of that name, or any number.
func (w *writer) anyOf(s *space, name string) string {
	n := pick(w.Rand, s.own)
	for _, f := range n.fields {
		if f.name == name {
			return n.alias + "." + name
		}
	}
	if ref, ok := w.column(&space{own: s.own}, ofFamily("int")); ok {
		return ref.text
	}
	return "1"
}

// commonKey is the key of a table, by which most lie on their nodes.
func (w *writer) commonKey(s *space) (reference, bool) {
	n := pick(w.Rand, s.own)
	at := slices.IndexFunc(n.fields, func(f field) bool { return f.name == "k" })
	if at < 0 {
		return reference{}, false
	}
	return reference{n.alias + ".k", n.fields[at].typ}, true
}

// cut sorts by all outputs and takes a slice: what nodes give at most of theirs must be enough, and not more in the
// end.
func (w *writer) cut(outputs []output) (*piece, bool) {
	out := list("", "", "", 0)
	if w.loose || !w.maybe(40) {
		return out, false
	}
	keys := make([]string, len(outputs))
	for i, o := range outputs {
		keys[i] = w.either(fmt.Sprint(i+1), o.name) + w.direction()
	}
	all := list("", "", "", 1, text(" ORDER BY %s", strings.Join(keys, ", ")))
	w.slice(all, 75)
	out.pieces = append(out.pieces, all)
	return out, true
}

func (w *writer) direction() string {
	return w.either("", "", " DESC", " NULLS FIRST", " DESC NULLS LAST")
}

// slice is LIMIT, mostly with OFFSET.
func (w *writer) slice(to *piece, percent int) {
	if !w.maybe(percent) {
		return
	}
	to.pieces = append(to.pieces, list("", "", "", 0, text(" LIMIT %d", pick(w.Rand, []int{0, 1, 2, 3, 5, 10, 40}))))
	if w.maybe(60) {
		to.pieces = append(to.pieces, list("", "", "", 0, text(" OFFSET %d", 1+w.IntN(12))))
	}
}

// splitRows are rows, with a value that a sub-query gives each; sorted by what need not be among them.
func (w *writer) splitRows(s *space, tail *piece) (*piece, []output, bool) {
	out := list("", ", ", "", 1)
	var outputs []output
	for _, u := range s.keys() {
		if w.maybe(60) {
			w.put(out, &outputs, u, typesOf["INTEGER"])
		}
	}
	for range 1 + w.IntN(2) {
		ref, _ := w.column(s, sorts)
		w.put(out, &outputs, ref.text, ref.typ)
	}
	if w.maybe(15) {
		value, typ := w.ofThoseWithTheKey(s)
		w.put(out, &outputs, value, typ)
	}
	keys := s.keys()
	if keys == nil || w.maybe(40) {
		cut, ordered := w.cut(outputs)
		return sequence("SELECT ", out, tail, cut), outputs, ordered
	}
	first, _ := w.column(s, sorts)
	order := list("", "", "", 1, text(" ORDER BY %s%s, %s", first.text, w.direction(), strings.Join(keys, ", ")))
	w.slice(order, 80)
	return sequence("SELECT ", out, tail, order), outputs, true
}

// ofThoseWithTheKey is an aggregate over the rows of a table that have a row's key.
func (w *writer) ofThoseWithTheKey(s *space) (string, *valueType) {
	t := pick(w.Rand, w.db.tables)
	n := t.named(w.alias())
	outer, inner, ok := w.keysThatMeet(pick(w.Rand, s.own), n)
	if !ok {
		return "1", typesOf["INTEGER"]
	}
	value := w.either("count(*)", "max("+n.alias+".id)", "min("+n.alias+".id)", "sum("+n.alias+".id)")
	return fmt.Sprintf("(SELECT %s FROM %s AS %s WHERE %s = %s)", value, t.name, n.alias, inner, outer), typesOf["BIGINT"]
}

// arms is a set operation over columns of one family.
func (w *writer) arms() (*piece, []output) {
	first := pick(w.Rand, w.db.tables)
	key := first.named("x").fields[1]
	out := sequence()
	op := w.either(" UNION ALL ", " UNION ALL ", " UNION ALL ", " UNION ", " INTERSECT ", " EXCEPT ")
	for i := range 2 + w.IntN(2) {
		t := first
		if i > 0 {
			t = pick(w.Rand, w.db.tables)
			out.pieces = append(out.pieces, text("%s", op))
		}
		n := t.named(w.alias())
		same := func(f *valueType) bool { return f.family == key.typ.family && f.name == key.typ.name }
		ref, ok := w.column(&space{own: []named{n}}, same)
		if !ok {
			n = first.named(n.alias)
			t, ref = first, reference{n.alias + "." + key.name, key.typ}
		}
		where := list(" WHERE ", " AND ", "", 0)
		if w.maybe(50) {
			where.pieces = append(where.pieces, w.splitCondition(&space{own: []named{n}, deep: 2}))
		}
		arm := fmt.Sprintf("SELECT %s AS o0, %s.id AS o1 FROM %s AS %[2]s", ref.text, n.alias, t.name)
		out.pieces = append(out.pieces, sequence(arm, where))
	}
	out.least = len(out.pieces)
	return out, []output{{"o0", key.typ}, {"o1", typesOf["INTEGER"]}}
}
