package enginetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// named is a relation under the name that it has in a FROM clause.
type named struct {
	alias  string
	fields []field
	unique []string // columns with their alias that tell its rows apart
}

// space is what an expression may name.
type space struct {
	own   []named
	outer *space
	deep  int // how far queries are nested
}

// writer makes queries over a database.
type writer struct {
	*rand.Rand
	db         *database
	ctes       []*relation
	aliases    int
	budget     int  // product of the sizes of what is joined
	parameters bool // constants may become parameters
	loose      bool // floating sums: equal to some digits
	risky      bool // something in it may fail, depending on the order of evaluation
}

func (w *writer) maybe(percent int) bool { return chance(w.Rand, percent) }

// reference is a way to a value.
type reference struct {
	text string
	typ  *valueType
}

// references lists the columns of s and what is inside of them.
func (w *writer) references(s *space, fits func(*valueType) bool) (out []reference) {
	for _, n := range s.own {
		for _, f := range n.fields {
			out = w.into(out, reference{n.alias + "." + f.name, f.typ}, fits, 2)
		}
	}
	return out
}

func (w *writer) into(out []reference, ref reference, fits func(*valueType) bool, deep int) []reference {
	if fits(ref.typ) {
		out = append(out, ref)
	}
	for _, p := range ref.typ.parts {
		if t := typesOf[p.of]; t != nil && deep > 0 {
			out = w.into(out, reference{fmt.Sprintf(p.path, ref.text), t}, fits, deep-1)
		}
	}
	return out
}

// column is a value of s whose type fits; now and then one of a query around it.
func (w *writer) column(s *space, fits func(*valueType) bool) (reference, bool) {
	if s.outer != nil && w.maybe(8) {
		if ref, ok := w.column(s.outer, fits); ok {
			return ref, true
		}
	}
	refs := w.references(s, fits)
	if len(refs) == 0 {
		return reference{"1", typesOf["INTEGER"]}, false
	}
	return pick(w.Rand, refs), true
}

func anyType(*valueType) bool { return true }

func ofFamily(family string) func(*valueType) bool {
	return func(t *valueType) bool { return t.family == family || family == "number" && isNumber(t.family) }
}

func isNumber(family string) bool {
	return family == "int" || family == "float" || family == "decimal"
}

// hasArrays: DuckDB cannot run a CASE over arrays of a fixed length, unless its statistics say that there is nothing to choose.
func hasArrays(family string) bool {
	return strings.Contains(family, "[3]") || strings.Contains(family, "[2]")
}

// typeOf is a type of a family.
func (w *writer) typeOf(family string) *valueType {
	var fitting []*valueType
	for _, t := range valueTypes {
		if ofFamily(family)(t) {
			fitting = append(fitting, t)
		}
	}
	if len(fitting) == 0 { // a type that no table has, of a derived column
		return &valueType{name: strings.Replace(family, "sum of decimals", "DECIMAL(38,6)", 1), family: family, pool: []string{"NULL"}}
	}
	return pick(w.Rand, fitting)
}

// constant is a value that can stand beside one of type t.
func (w *writer) constant(t *valueType) *piece {
	if w.maybe(4) {
		return text("%s", fmt.Sprintf("CAST(NULL AS %s)", t.name))
	}
	if w.parameters && len(t.args) > 0 && w.maybe(60) {
		return sequence("CAST(", parameter(pick(w.Rand, t.args)), " AS "+t.name+")")
	}
	if isNumber(t.family) && !strings.Contains(t.name, "FLOAT") && w.maybe(40) {
		return text("%s", pick(w.Rand, []string{"0", "1", "2", "3", "5", "1.5", "-1", "2e0", "0.05"}))
	}
	if slices.Contains([]string{"text", "date", "stamp", "uuid"}, t.family) && w.maybe(50) {
		return text("%s", pick(w.Rand, t.pool))
	}
	return text("CAST(%s AS %s)", pick(w.Rand, t.pool), t.name)
}

// value is an expression of a family.
func (w *writer) value(s *space, family string, depth int) *piece {
	ref, ok := w.column(s, ofFamily(family))
	templates := functions[family]
	switch n := w.IntN(100); {
	case depth > 0 && n < 35 && len(templates) > 0:
		return w.filled(s, pick(w.Rand, templates), depth-1, ref.text, ok)
	case depth > 0 && n < 45 && !hasArrays(family):
		t := pick(w.Rand, everyFamily)
		return w.filled(s, strings.ReplaceAll(t, "{self}", "{"+family+"}"), depth-1, ref.text, ok)
	case ok && n < 92:
		return text("%s", ref.text)
	}
	return w.constant(w.typeOf(family))
}

// filled replaces what a template has in braces: {family} by an expression, {k} by a small number, {any} by any column.
func (w *writer) filled(s *space, template string, depth int, column string, simple bool) *piece {
	out := &piece{}
	if strings.HasPrefix(template, "!") {
		template = template[1:]
		w.risky = true
	}
	rest := template
	for {
		before, after, found := strings.Cut(rest, "{")
		if before != "" {
			out.pieces = append(out.pieces, text("%s", before))
		}
		if !found {
			break
		}
		name, tail, _ := strings.Cut(after, "}")
		rest = tail
		switch name {
		case "k":
			out.pieces = append(out.pieces, text("%d", w.IntN(6)))
		case "":
			out.pieces = append(out.pieces, text("{"))
		case "any":
			ref, _ := w.column(s, anyType)
			out.pieces = append(out.pieces, text("%s", ref.text))
		default:
			out.pieces = append(out.pieces, w.value(s, name, depth))
		}
	}
	out.least = len(out.pieces)
	if simple {
		out.or(text("%s", column))
	}
	return out
}

// everyFamily are expressions that give what they are given.
var everyFamily = []string{
	"CASE WHEN {bool} THEN {self} ELSE {self} END", "CASE WHEN {bool} THEN {self} END", "coalesce({self}, {self})", "nullif({self}, {self})",
	"greatest({self}, {self})", "least({self}, {self})", "if({bool}, {self}, {self})", "ifnull({self}, {self})", "[{self}, {self}][{k}]", "({}'x': {self}}).x", "(MAP {}{k}: {self}})[{k}]",
	"(SELECT {self})", "list_extract(list_value({self}), 1)", "struct_extract(struct_pack(v := {self}), 'v')", "TRY({self})",
	"CASE {int} WHEN {k} THEN {self} WHEN {k} THEN {self} ELSE {self} END", "coalesce(NULL, {self})",
}

// condition is a predicate.
func (w *writer) condition(s *space, depth int) *piece {
	switch n := w.IntN(100); {
	case depth > 0 && n < 10 && s.deep < 2:
		return w.subquery(s)
	case depth > 0 && n < 20:
		a, b := w.condition(s, depth-1), w.condition(s, depth-1)
		return sequence("(", a, pick(w.Rand, []string{" OR ", " OR ", " AND "}), b, ")").or(a, b)
	case depth > 0 && n < 25:
		a := w.condition(s, depth-1)
		return sequence("NOT (", a, ")").or(a)
	case n < 30:
		ref, _ := w.column(s, anyType)
		return text("%s IS %sNULL", ref.text, pick(w.Rand, []string{"", "NOT "}))
	case n < 38:
		return w.value(s, "bool", max(depth, 1))
	}
	return w.comparison(s, depth)
}

var comparisons = []string{"=", "=", "=", "<>", "<", "<=", ">", ">=", "!=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"}

// comparison holds a value against others of its family.
func (w *writer) comparison(s *space, depth int) *piece {
	ref, _ := w.column(s, anyType)
	family := ref.typ.family
	if isNumber(family) && w.maybe(50) {
		family = "number"
	}
	left := text("%s", ref.text)
	if depth > 0 && w.maybe(25) {
		left = w.value(s, family, depth).or(left)
	}
	right := func() *piece {
		if depth > 0 && w.maybe(25) {
			return w.value(s, family, depth-1)
		}
		if isNumber(family) && w.maybe(30) {
			return w.constant(w.typeOf(family))
		}
		return w.constant(ref.typ)
	}
	switch n := w.IntN(100); {
	case n < 15:
		values := list("", ", ", "", 1)
		for range 1 + w.IntN(4) {
			values.pieces = append(values.pieces, right())
		}
		return sequence(left, pick(w.Rand, []string{" IN (", " IN (", " NOT IN ("}), values, ")")
	case n < 25 && len(ref.typ.parts) == 0: // DuckDB has none of lists and maps, which it finds out when there are rows
		return sequence(left, pick(w.Rand, []string{" BETWEEN ", " NOT BETWEEN "}), right(), " AND ", right())
	case n < 45 && family == "text":
		return w.pattern(s, left)
	}
	if hasArrays(family) { // a = x AND a <= x finds nothing in DuckDB 1.5.5, where a is an array of a fixed length
		return sequence(left, pick(w.Rand, []string{" = ", " <> "}), right())
	}
	if w.maybe(15) {
		return sequence(right(), " "+pick(w.Rand, comparisons)+" ", left)
	}
	return sequence(left, " "+pick(w.Rand, comparisons)+" ", right())
}

// pattern is a condition on text.
func (w *writer) pattern(s *space, left *piece) *piece {
	switch w.IntN(4) {
	case 0:
		return sequence(left, pick(w.Rand, []string{" LIKE 'a!%' ESCAPE '!'", " SIMILAR TO 'A.*'", " ^@ 'A'", " GLOB 'A*'"}))
	case 1:
		return sequence(pick(w.Rand, []string{"starts_with(", "contains(", "suffix(", "regexp_matches(", "ends_with("}), left, ", ", text("%s", pick(w.Rand, quoted("A", "a", "", "ä", "IR", "w1"))), ")")
	}
	return sequence(left, " "+pick(w.Rand, []string{"LIKE", "LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE"})+" ", text("%s", pick(w.Rand, quoted("A%", "a%", "%a%", "_", "A_R", "", "%", `a\%`, `a\_`, "%ä%", "日%", "AIR", "%IR", "w1%", "w_", "🦆"))))
}

// equality joins a with b.
func (w *writer) equality(a, b *space) *piece {
	for range 12 {
		left, ok := w.column(&space{own: a.own}, anyType)
		if w.maybe(60) {
			left, ok = w.column(&space{own: a.own}, func(t *valueType) bool { return t.key })
		}
		if !ok {
			continue
		}
		family := left.typ.family
		if isNumber(family) && w.maybe(50) {
			family = "number"
		}
		right, ok := w.column(&space{own: b.own}, ofFamily(family))
		if !ok {
			continue
		}
		return text("%s %s %s", left.text, pick(w.Rand, []string{"=", "=", "=", "=", "=", "IS NOT DISTINCT FROM"}), right.text)
	}
	return text("true")
}

// subquery is a condition with a query in it.
func (w *writer) subquery(s *space) *piece {
	inner := &space{outer: s, deep: s.deep + 1}
	from := w.one(inner)
	where := list(" WHERE ", " AND ", "", 0)
	if w.maybe(70) {
		where.pieces = append(where.pieces, w.equality(s, inner))
	}
	for range w.IntN(2) {
		where.pieces = append(where.pieces, w.condition(inner, 0))
	}
	own := &space{own: inner.own}
	ref, _ := w.column(&space{own: s.own}, func(t *valueType) bool { return t.family != "json" })
	if keys := w.references(&space{own: s.own}, func(t *valueType) bool { return t.key || w.db.edge && isNumber(t.family) }); len(keys) > 0 && w.maybe(50) {
		ref = pick(w.Rand, keys)
	}
	family := ref.typ.family
	if isNumber(family) {
		family = "number"
	}
	other, ok := w.column(own, ofFamily(family))
	switch n := w.IntN(100); {
	case n < 35 || !ok:
		return sequence(pick(w.Rand, []string{"EXISTS (", "NOT EXISTS ("}), "SELECT ", pick(w.Rand, []string{"*", "1"}), " FROM ", from, where, ")")
	case n < 65:
		return sequence(ref.text+pick(w.Rand, []string{" IN (SELECT ", " IN (SELECT ", " NOT IN (SELECT ", " = ANY (SELECT ", " <> ALL (SELECT ", " < ANY (SELECT ", " >= ALL (SELECT "})+other.text+" FROM ", from, where, ")")
	case n < 75:
		return sequence(ref.text+" IN (SELECT "+other.text+" FROM ", from, where, " GROUP BY "+other.text+fmt.Sprintf(" HAVING count(*) %s %d)", pick(w.Rand, []string{">", ">=", "="}), w.IntN(4)))
	}
	return sequence(ref.text+" "+pick(w.Rand, []string{"=", "<", ">=", "<>"})+" (SELECT "+pick(w.Rand, []string{"min", "max"})+"("+other.text+") FROM ", from, where, ")")
}
