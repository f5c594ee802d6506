package enginetest

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// Aimed queries have plain conditions on columns of base tables, and chains of joins by keys: from those the planner
// proves things. A wrong proof shows as a missing row. So rows are identified by their ids and counted.

// optimized are families whose columns have statistics, filters or keys.
var optimized = []string{"int", "int", "int", "float", "decimal", "date", "stamp", "text", "text", "bool"}

// aimed is a SELECT of that sort.
func (w *writer) aimed(s *space) (*piece, []output) {
	switch n := w.IntN(100); {
	case n < 14:
		return w.kernel(s)
	case n < 19:
		return w.misjudged(s)
	}
	from := w.aimedFrom(s)
	where := list(" WHERE ", " AND ", "", 0)
	for range 1 + w.IntN(3) {
		where.pieces = append(where.pieces, w.aimedCondition(s, 2))
	}
	tail := sequence(" FROM ", from, where)
	out := list("", ", ", "", 1)
	var outputs []output
	add := func(p *piece, t *valueType) {
		name := fmt.Sprintf("o%d", len(outputs))
		out.pieces = append(out.pieces, sequence(p, " AS "+name))
		outputs = append(outputs, output{name, t})
	}
	ids := func(how string, t *valueType) {
		for _, n := range s.own {
			if slices.ContainsFunc(n.fields, func(f field) bool { return f.name == "id" }) {
				add(text("%s", fmt.Sprintf(how, n.alias+".id")), t)
			}
		}
	}
	by := ""
	switch w.IntN(4) {
	case 0: // rows
		ids("%s", typesOf["INTEGER"])
		ref, _ := w.column(&space{own: s.own}, w.isOptimized)
		add(text("%s", ref.text), ref.typ)
	case 1: // groups
		ref, _ := w.column(&space{own: s.own}, w.isOptimized)
		add(text("%s", ref.text), ref.typ)
		by = " GROUP BY " + ref.text
		fallthrough
	default:
		add(text("count(*)"), typesOf["BIGINT"])
		ids("sum(%s)", typesOf["DECIMAL(38,0)"])
		if ref, ok := w.column(&space{own: s.own}, ofFamily("int")); ok {
			add(text("%s", pick(w.Rand, []string{"sum", "sum", "min", "max"})+"("+ref.text+"::BIGINT)"), typesOf["DECIMAL(38,0)"])
		}
		if ref, ok := w.column(&space{own: s.own}, w.isOptimized); ok && w.maybe(50) {
			how := pick(w.Rand, []string{"min(%s)", "max(%s)", "count(%s)", "count(DISTINCT %s)"})
			typ := ref.typ
			if strings.Contains(how, "count") {
				typ = typesOf["BIGINT"]
			}
			add(text("%s", fmt.Sprintf(how, ref.text)), typ)
		}
	}
	out.least = len(out.pieces)
	return sequence("SELECT ", out, tail, list("", "", "", 0, text("%s", by))), outputs
}

// misjudged is a sum over rows that are more than estimates say: less than 2^63 by those, and more by all. What an estimate says is no
// promise.
func (w *writer) misjudged(s *space) (*piece, []output) {
	t := pick(w.Rand, w.db.tables)
	n := t.named(w.alias())
	s.own = append(s.own, n)
	id := n.alias + ".id"
	where := list(" WHERE ", " AND ", "", 1)
	for _, c := range some(w, []string{id + " % 2 < 5", "length(" + id + "::VARCHAR) > 0", id + " % 7 >= 0"}, 1+w.IntN(2)) {
		where.pieces = append(where.pieces, text("%s", c))
	}
	out := list("", ", ", "", 1)
	var outputs []output
	w.put(out, &outputs, fmt.Sprintf("sum(%d::BIGINT)", math.MaxInt64/int64(max(t.rows, 2))*2), typesOf["DECIMAL(38,0)"])
	w.put(out, &outputs, "count(*)", typesOf["BIGINT"])
	return sequence("SELECT ", out, text(" FROM %s AS %s", t.name, n.alias), where), outputs
}

// kernel is a SELECT from one table that the Arrow kernels can run: columns, comparisons and aggregates, and nothing else.
func (w *writer) kernel(s *space) (*piece, []output) {
	double := func(t *valueType) bool { return t.name == "DOUBLE" }
	t := pick(w.Rand, w.db.tables)
	hasDouble := func(t *relation) bool {
		return slices.ContainsFunc(t.fields, func(f field) bool { return double(f.typ) })
	}
	if with := slices.DeleteFunc(slices.Clone(w.db.tables), func(t *relation) bool { return !hasDouble(t) }); len(with) > 0 && w.maybe(60) {
		t = pick(w.Rand, with)
	}
	n := t.named(w.alias())
	s.own = append(s.own, n)
	own := &space{own: []named{n}, deep: 2}
	if ref, ok := w.column(own, double); ok && w.maybe(50) { // nothing that the kernels could refuse
		other, _ := w.column(own, double)
		out := list("", ", ", "", 1)
		var outputs []output
		w.put(out, &outputs, "count(*)", typesOf["BIGINT"])
		w.put(out, &outputs, "sum("+n.alias+".id)", typesOf["DECIMAL(38,0)"])
		return sequence("SELECT ", out, text(" FROM %s AS %s WHERE %s %s %s", t.name, n.alias, ref.text, pick(w.Rand, comparisons[:9]), other.text)), outputs
	}
	where := list(" WHERE ", " AND ", "", 0)
	for range w.IntN(3) {
		if ref, ok := w.column(own, double); ok && w.maybe(50) { // NaN equals NaN and is above all others
			other, _ := w.column(own, double)
			if w.maybe(60) {
				other = ref
			}
			where.pieces = append(where.pieces, text("%s %s %s", ref.text, pick(w.Rand, comparisons[:9]), other.text))
			continue
		}
		where.pieces = append(where.pieces, w.plain(own))
	}
	out := list("", ", ", "", 1)
	var outputs []output
	for range 1 + w.IntN(2) {
		ref, ok := w.column(own, ofFamily("number"))
		how, typ := pick(w.Rand, []string{"sum(%s)", "sum(%s)", "min(%s)", "max(%s)", "count(%s)"}), typesOf["DECIMAL(38,0)"]
		if !ok || ref.typ.family == "float" && how == "sum(%s)" {
			ref, _ = w.column(own, w.isOptimized)
			how = "max(%s)"
		}
		w.put(out, &outputs, fmt.Sprintf(how, ref.text), typ)
	}
	return sequence("SELECT ", out, text(" FROM %s AS %s", t.name, n.alias), where), outputs
}

func (w *writer) isOptimized(t *valueType) bool { return slices.Contains(optimized, t.family) }

func (w *writer) aimedFrom(s *space) *piece {
	if w.maybe(60) {
		return w.chain(s)
	}
	t := pick(w.Rand, w.db.tables)
	alias := w.alias()
	w.budget /= max(t.rows, 1)
	s.own = append(s.own, named{alias: alias, fields: t.fields, unique: []string{alias + ".id"}})
	return text("%s AS %s", t.name, alias)
}

// aimedCondition is a predicate as people write them.
func (w *writer) aimedCondition(s *space, depth int) *piece {
	switch n := w.IntN(100); {
	case depth > 0 && n < 16:
		return w.keysOf(s)
	case depth > 0 && n < 27:
		or := list("(", " OR ", ")", 1)
		for range 2 + w.IntN(2) {
			and := list("(", " AND ", ")", 1)
			for range 1 + w.IntN(2) {
				and.pieces = append(and.pieces, w.aimedCondition(s, 0))
			}
			or.pieces = append(or.pieces, and)
		}
		return or
	case depth > 0 && n < 34:
		a := w.aimedCondition(s, depth-1)
		return sequence("NOT (", a, ")").or(a)
	case n < 44: // true of every row, which an estimate does not know
		ref, _ := w.column(&space{own: s.own}, func(t *valueType) bool { return t.name == "INTEGER" && t.family == "int" })
		own := pick(w.Rand, s.own).alias + ".id"
		return text("%s", pick(w.Rand, []string{own + " % 2 < 5", "length(" + own + "::VARCHAR) > 0", "coalesce(" + ref.text + " % 3, 0) < 7"}))
	}
	return w.plain(s)
}

// plain holds a column against constants.
func (w *writer) plain(s *space) *piece {
	ref, ok := w.column(&space{own: s.own}, w.isOptimized)
	if !ok {
		return text("true")
	}
	if n := pick(w.Rand, s.own); w.maybe(20) && n.fields[0].name == "id" {
		return text("%s.id %s %d", n.alias, pick(w.Rand, []string{"<", "<=", ">", ">=", "=", "<>"}), w.IntN(9))
	}
	constant := func() *piece { return w.aimedConstant(ref.typ) }
	switch n := w.IntN(100); {
	case n < 10:
		return text("%s IS %sNULL", ref.text, pick(w.Rand, []string{"", "NOT "}))
	case n < 20:
		in := list("", ", ", "", 1)
		for range 1 + w.IntN(3) {
			in.pieces = append(in.pieces, constant())
		}
		return sequence(ref.text+pick(w.Rand, []string{" IN (", " IN (", " NOT IN ("}), in, ")")
	case n < 32:
		return sequence(ref.text+pick(w.Rand, []string{" BETWEEN ", " BETWEEN ", " NOT BETWEEN "}), constant(), " AND ", constant())
	case n < 40:
		if other, ok := w.column(&space{own: s.own}, ofFamily(ref.typ.family)); ok {
			if w.maybe(20) { // NaN equals NaN
				other = ref
			}
			return text("%s %s %s", ref.text, pick(w.Rand, comparisons), other.text)
		}
	case n < 60 && ref.typ.family == "text":
		return w.pattern(s, text("%s", ref.text))
	case n < 45 && ref.typ.family == "bool":
		return text("%s", ref.text)
	case n < 52:
		return sequence(constant(), " "+pick(w.Rand, comparisons)+" "+ref.text)
	}
	return sequence(ref.text+" "+pick(w.Rand, []string{"=", "=", "<", "<=", ">", ">=", "<>", "IS NOT DISTINCT FROM"})+" ", constant())
}

// aimedConstant is a value that tables have, or one beside it.
func (w *writer) aimedConstant(t *valueType) *piece {
	switch n := w.IntN(100); {
	case n < 3:
		return text("NULL")
	case n < 15 && isNumber(t.family):
		return text("%s", pick(w.Rand, []string{"0", "1", "2", "1.5", "0.5", "0.1", "2.5", "-1.5", "1e0", "0.05", "5e-1"}))
	case n < 25 && t.family == "date":
		return text("%s", pick(w.Rand, []string{"TIMESTAMP '2020-01-02 12:00:00'", "DATE '2020-01-02'", "'2020-01-03'"}))
	case n < 25 && t.family == "stamp":
		return text("%s", pick(w.Rand, []string{"DATE '2020-01-02'", "'2020-01-02'", "TIMESTAMP '2020-01-02 12:00:00'"}))
	}
	if w.parameters && w.maybe(30) && len(t.args) > 0 {
		switch arg := pick(w.Rand, t.args).(type) {
		case int64, float64:
			if _, whole := arg.(int64); whole && t.family == "int" || !whole && t.name == "DOUBLE" {
				return parameter(arg)
			}
		case string:
			if t.family == "text" || t.family == "date" || t.family == "stamp" {
				return parameter(arg)
			}
		}
	}
	if w.maybe(75) && slices.Contains([]string{"int", "float", "decimal", "text", "date", "stamp"}, t.family) { // a planner reads them as they are
		return text("%s", pick(w.Rand, t.pool))
	}
	return w.constant(t)
}

// keysOf holds a column against what another table has in one.
func (w *writer) keysOf(s *space) *piece {
	ref, ok := w.column(&space{own: s.own}, func(t *valueType) bool { return t.key })
	t := pick(w.Rand, w.db.tables)
	inner := &space{own: []named{{alias: w.alias(), fields: t.fields}}, outer: s, deep: 2}
	alias := inner.own[0].alias
	family := ref.typ.family
	if isNumber(family) {
		family = "number"
	}
	key, found := w.column(&space{own: inner.own}, func(t *valueType) bool { return t.key && ofFamily(family)(t) })
	if !ok || !found {
		return w.plain(s)
	}
	where := list(" WHERE ", " AND ", "", 0)
	for range w.IntN(2) {
		where.pieces = append(where.pieces, w.aimedCondition(&space{own: inner.own}, 0))
	}
	if w.maybe(25) {
		where.pieces = append(where.pieces, text("%s = %s", key.text, ref.text))
		return sequence(pick(w.Rand, []string{"EXISTS (", "NOT EXISTS ("})+"SELECT 1 FROM "+t.name+" AS "+alias, where, ")")
	}
	rest := list("", "", "", 0)
	switch w.IntN(6) {
	case 0, 1:
		rest.pieces = append(rest.pieces, text(" GROUP BY %s HAVING count(*) %s %d", key.text, pick(w.Rand, []string{">", ">=", "<", "="}), 1+w.IntN(3)))
	case 2:
		if sum, ok := w.column(&space{own: inner.own}, ofFamily("int")); ok {
			rest.pieces = append(rest.pieces, text(" GROUP BY %s HAVING sum(%s) %s %d", key.text, sum.text, pick(w.Rand, []string{">", ">=", "<"}), w.IntN(12)))
		}
	case 3:
		rest.pieces = append(rest.pieces, text(" ORDER BY %s, %s.id LIMIT %d", key.text, alias, 1+w.IntN(3)))
	case 4:
		if more, ok := w.column(&space{own: inner.own}, w.isOptimized); ok {
			rest.pieces = append(rest.pieces, text(" GROUP BY %s, %s HAVING count(*) > %d", key.text, more.text, w.IntN(2)))
		}
	}
	return sequence(ref.text+pick(w.Rand, []string{" IN (SELECT ", " IN (SELECT ", " IN (SELECT ", " NOT IN (SELECT ", " = ANY (SELECT "})+key.text+" FROM "+t.name+" AS "+alias, where, rest, ")")
}
