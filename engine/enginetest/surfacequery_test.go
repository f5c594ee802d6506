package enginetest

import (
	"fmt"
	"strings"
)

// question is a query by chance, with how its answer is to be compared.
type question struct {
	*piece
	outputs []output
	ordered bool // rows come in a certain order
	loose   bool // sums of floats: equal to some digits
	risky   bool // what fails depends on the order of evaluation
}

// output is a column of a query's result.
type output struct {
	name string
	typ  *valueType // of what family it is
}

// question makes a whole query.
func (w *writer) question() *question {
	w.budget = 40_000
	if w.db.placed && w.maybe(65) {
		return w.splitQuestion()
	}
	w.ctes, w.aliases, w.loose, w.risky = nil, 0, false, false
	with := list("WITH ", ", ", " ", 0)
	for w.maybe(18) && len(w.ctes) < 2 {
		with.pieces = append(with.pieces, w.cte())
	}
	if len(with.pieces) > 0 && strings.Contains(first(with.pieces[0].sql()), "RECURSIVE") {
		with.lead = "WITH RECURSIVE "
		for _, p := range with.pieces {
			p.pieces[0].text = strings.TrimPrefix(p.pieces[0].text, "RECURSIVE ")
		}
	}
	body, outputs := w.query(&space{}, nil)
	order, ordered := w.order(outputs)
	return &question{piece: sequence(with, body, order), outputs: outputs, ordered: ordered, loose: w.loose, risky: w.risky}
}

func first(s string, _ []any) string { return s }

// cte is a query under a name; a recursive one counts up.
func (w *writer) cte() *piece {
	name := fmt.Sprintf("c%d", len(w.ctes))
	if len(w.ctes) == 0 && w.maybe(15) {
		t := pick(w.Rand, w.db.tables)
		cte := &relation{name: name, fields: []field{{"id", typesOf["INTEGER"]}, {"n", typesOf["INTEGER"]}}, rows: t.rows*2 + 2}
		p := sequence("RECURSIVE "+name+"(id, n) AS (", pick(w.Rand, []string{
			"SELECT id, 0 FROM {t} WHERE id < 5 UNION ALL SELECT x.id, r.n + 1 FROM {r} AS r JOIN {t} AS x ON x.id = r.id + 2 WHERE r.n < 3",
			"SELECT 1, 0 UNION SELECT (r.id * 3) % 7, r.n + 1 FROM {r} AS r WHERE r.n < 9",
			"SELECT min(id), 0 FROM {t} UNION ALL SELECT (SELECT min(x.id) FROM {t} AS x WHERE x.id > r.id), r.n + 1 FROM {r} AS r WHERE r.n < 6 AND r.id IS NOT NULL",
		}), ")")
		p.pieces[1].text = strings.NewReplacer("{t}", t.name, "{r}", name).Replace(p.pieces[1].text)
		w.ctes = append(w.ctes, cte)
		return p
	}
	body, outputs := w.query(&space{deep: 1}, nil)
	rows := 400
	w.ctes = append(w.ctes, &relation{name: name, fields: fieldsOf(outputs), rows: rows})
	return sequence(name+" AS "+pick(w.Rand, []string{"", "", "MATERIALIZED ", "NOT MATERIALIZED "})+"(", body, ")")
}

func fieldsOf(outputs []output) (out []field) {
	for _, o := range outputs {
		out = append(out, field(o))
	}
	return out
}

// order puts rows that can be distinguished into a certain order; then there may be a LIMIT.
func (w *writer) order(outputs []output) (*piece, bool) {
	out := list("", "", "", 0)
	if !w.maybe(40) || len(outputs) == 0 {
		return out, false
	}
	keys := make([]string, len(outputs))
	for i := range keys {
		keys[i] = fmt.Sprint(i+1) + pick(w.Rand, []string{"", "", " DESC", " NULLS FIRST", " DESC NULLS LAST"})
	}
	by := " ORDER BY " + strings.Join(keys, ", ")
	if w.maybe(20) {
		by = " ORDER BY ALL" + pick(w.Rand, []string{"", " DESC"})
	}
	all := list("", "", "", 1, text("%s", by))
	if w.maybe(50) && !w.loose {
		all.pieces = append(all.pieces, list("", "", "", 0, text(" LIMIT %d", pick(w.Rand, []int{0, 1, 2, 3, 5, 10, 100}))))
		if w.maybe(40) {
			all.pieces = append(all.pieces, list("", "", "", 0, text(" OFFSET %d", w.IntN(8))))
		}
	}
	out.pieces = append(out.pieces, all)
	return out, !w.loose
}

// query is a selection or a set operation; its outputs are like the given ones, if there are some.
func (w *writer) query(s *space, like []output) (*piece, []output) {
	if s.deep > 0 || !w.maybe(12) {
		return w.selection(s, like)
	}
	left, outputs := w.selection(&space{outer: s.outer, deep: 1}, like)
	right, _ := w.selection(&space{outer: s.outer, deep: 1}, outputs)
	op := pick(w.Rand, []string{"UNION ALL", "UNION", "INTERSECT", "EXCEPT", "EXCEPT ALL", "INTERSECT ALL", "UNION BY NAME", "UNION ALL BY NAME"})
	return sequence(left, " "+op+" ", right).or(left, right), outputs
}

// selection is one SELECT.
func (w *writer) selection(s *space, like []output) (*piece, []output) {
	if like == nil && s.deep == 0 && w.maybe(6) {
		return w.rare()
	}
	if like == nil && s.deep == 0 && (w.maybe(50) || w.db.edge && w.maybe(50)) {
		return w.aimed(s)
	}
	from := w.from(s)
	where := list(" WHERE ", " AND ", "", 0)
	for range w.IntN(3) {
		where.pieces = append(where.pieces, w.condition(s, 2))
	}
	tail := sequence(" FROM ", from, where)
	if like != nil {
		out := list("", ", ", "", len(like))
		for _, o := range like {
			out.pieces = append(out.pieces, sequence(w.value(s, o.typ.family, 1), " AS "+o.name))
		}
		return sequence("SELECT ", out, tail), like
	}
	switch n := w.IntN(100); {
	case n < 25:
		return w.grouped(s, tail)
	case n < 37:
		return w.windowed(s, tail)
	case n < 41:
		return w.distinctOn(s, tail)
	}
	distinct := ""
	if w.maybe(12) {
		distinct = "DISTINCT "
	}
	if len(s.own) == 1 && w.maybe(10) {
		var all []output
		for _, f := range s.own[0].fields {
			all = append(all, output(f))
		}
		return sequence("SELECT "+distinct+pick(w.Rand, []string{"*", s.own[0].alias + ".*"}), tail), all
	}
	list, outputs := w.outputs(s)
	return sequence("SELECT "+distinct, list, tail), outputs
}

// outputs are some expressions with names.
func (w *writer) outputs(s *space) (*piece, []output) {
	out := list("", ", ", "", 1)
	var outputs []output
	for i := range 1 + w.IntN(4) {
		name := fmt.Sprintf("o%d", i)
		ref, _ := w.column(s, anyType)
		value := text("%s", ref.text)
		switch n := w.IntN(100); {
		case n < 50:
			value = w.value(s, ref.typ.family, 2).or(value)
		case n < 58:
			value, ref.typ = sequence("(", w.condition(s, 1), ")"), typesOf["BOOLEAN"]
		case n < 64 && s.deep == 0:
			value, ref.typ = w.scalar(s)
		}
		if w.maybe(4) && value.text == ref.text && strings.Count(ref.text, ".") == 1 && !strings.ContainsAny(ref.text, "([") && !strings.Contains(ref.text, ".o") {
			out.pieces = append(out.pieces, value)
			_, column, _ := strings.Cut(ref.text, ".")
			outputs = append(outputs, output{column, ref.typ})
			continue
		}
		out.pieces = append(out.pieces, sequence(value, " AS "+name))
		outputs = append(outputs, output{name, ref.typ})
	}
	return out, outputs
}

// scalar is a sub-query of one value.
func (w *writer) scalar(s *space) (*piece, *valueType) {
	inner := &space{outer: s, deep: s.deep + 1}
	from := w.one(inner)
	where := list(" WHERE ", " AND ", "", 0, w.equality(s, inner))
	if w.maybe(40) {
		where.pieces = append(where.pieces, w.condition(inner, 0))
	}
	value, typ := w.aggregate(&space{own: inner.own})
	return sequence("(SELECT ", value, " FROM ", from, where, ")"), typ
}

// grouped is a SELECT with aggregates.
func (w *writer) grouped(s *space, tail *piece) (*piece, []output) {
	out := list("", ", ", "", 0)
	var outputs []output
	var keys []string
	for i := range w.IntN(3) {
		ref, _ := w.column(&space{own: s.own}, anyType)
		key := ref.text
		if w.maybe(25) {
			p := w.value(&space{own: s.own}, ref.typ.family, 1)
			if sql, args := p.sql(); len(args) == 0 {
				key = sql
			}
		}
		name := fmt.Sprintf("g%d", i)
		keys = append(keys, key)
		out.pieces = append(out.pieces, text("%s", key+" AS "+name))
		outputs = append(outputs, output{name, ref.typ})
	}
	n := len(keys)
	for i := range 1 + w.IntN(3) {
		value, typ := w.aggregate(s)
		name := fmt.Sprintf("n%d", i)
		out.pieces = append(out.pieces, sequence(value, " AS "+name))
		outputs = append(outputs, output{name, typ})
	}
	if n > 0 && w.maybe(15) {
		out.pieces = append(out.pieces, text("%s", "grouping("+keys[0]+") AS g"))
		outputs = append(outputs, output{"g", typesOf["BIGINT"]})
	}
	out.least = len(out.pieces)
	all := strings.Join(keys, ", ")
	by := ""
	if n > 0 {
		by = pick(w.Rand, []string{" GROUP BY " + all, " GROUP BY " + all, " GROUP BY " + all, " GROUP BY ALL", " GROUP BY ROLLUP (" + all + ")", " GROUP BY CUBE (" + all + ")", " GROUP BY GROUPING SETS ((" + all + "), (" + keys[0] + "), ())"})
		if strings.HasSuffix(by, "ALL") && strings.Contains(first(out.sql()), "grouping(") {
			by = " GROUP BY " + all
		}
	}
	having := list(" HAVING ", " AND ", "", 0)
	if w.maybe(25) {
		value, _ := w.exactAggregate(s)
		having.pieces = append(having.pieces, pick(w.Rand, []*piece{sequence("(", value, ") IS NOT NULL"), text("count(*) > %d", w.IntN(4)), text("count(*) IN (1, 2)")}))
	}
	return sequence("SELECT ", out, tail, list("", "", "", 0, text("%s", by)), having), outputs
}

// aggregate is one whose value depends on no order of rows.
func (w *writer) aggregate(s *space) (*piece, *valueType) {
	if w.maybe(6) && s.deep == 0 {
		ref, ok := w.column(&space{own: s.own}, ofFamily("number"))
		if ok {
			w.loose = true
			bounded := "CASE WHEN abs(" + ref.text + "::DOUBLE) < 1e6 THEN " + ref.text + "::DOUBLE END"
			return text("%s", fmt.Sprintf(pick(w.Rand, []string{"sum(%s)", "avg(%s)", "stddev_samp(%s)", "var_pop(%s)", "fsum(%s)", "favg(%s)"}), bounded)), typesOf["DOUBLE"]
		}
	}
	return w.exactAggregate(s)
}

func (w *writer) exactAggregate(s *space) (*piece, *valueType) {
	filter := list(" FILTER (WHERE ", " AND ", ")", 0)
	if w.maybe(15) {
		filter.pieces = append(filter.pieces, w.condition(&space{own: s.own, deep: 2}, 1))
	}
	own := &space{own: s.own, deep: 2}
	ref, _ := w.column(own, anyType)
	big, family := typesOf["BIGINT"], ref.typ.family
	arg := func(f string) *piece { return w.value(own, f, 1) }
	switch n := w.IntN(100); {
	case n < 12:
		return sequence("count(*)", filter), big
	case n < 24:
		return sequence("count("+pick(w.Rand, []string{"", "DISTINCT "}), arg(family), ")", filter), big
	case n < 38:
		return sequence(pick(w.Rand, []string{"sum(", "sum(DISTINCT ", "bit_and(", "bit_or(", "bit_xor(", "min(", "max("}), arg("int"), ")", filter), typesOf["DECIMAL(38,0)"]
	case n < 46:
		return sequence(pick(w.Rand, []string{"sum(", "sum(DISTINCT ", "min(", "max("}), arg("decimal"), ")", filter), &valueType{name: "DECIMAL(38,6)", family: "sum of decimals", pool: []string{"0", "1.5"}}
	case n < 52:
		return sequence(pick(w.Rand, []string{"bool_and(", "bool_or(", "count_if(", "min("}), arg("bool"), ")", filter), typesOf["BOOLEAN"]
	case n < 58:
		if word, ok := w.column(own, ofFamily("text")); ok {
			return sequence("string_agg("+pick(w.Rand, []string{"", "DISTINCT "})+word.text+", ';' ORDER BY "+word.text+pick(w.Rand, []string{"", " DESC"})+")", filter), typesOf["VARCHAR"]
		}
	case n < 64 && family != "span":
		return sequence(pick(w.Rand, []string{"list(", "array_agg("})+ref.text+" ORDER BY "+ref.text+pick(w.Rand, []string{"", " DESC", " NULLS FIRST"})+")", filter), listOf(ref.typ)
	case n < 70:
		if keys := s.keys(); keys != nil {
			return sequence(pick(w.Rand, []string{"first(", "last(", "any_value("})+ref.text+" ORDER BY "+strings.Join(keys, ", ")+")", filter), ref.typ
		}
	case n < 75:
		if keys := s.keys(); len(keys) == 1 {
			return sequence(pick(w.Rand, []string{"arg_min(", "arg_max(", "max_by("})+ref.text+", "+keys[0]+")", filter), ref.typ
		}
	case n < 80 && isNumber(family):
		return sequence(pick(w.Rand, []string{"median(" + ref.text, "quantile_disc(" + ref.text + ", 0.5", "quantile_cont(" + ref.text + "::DOUBLE, 0.25", "mad(" + ref.text + "::DOUBLE"})+")", filter), typesOf["DOUBLE"]
	}
	if family == "span" {
		return text("count(*)"), big
	}
	return sequence(pick(w.Rand, []string{"min(", "max("}), arg(family), ")", filter), ref.typ
}

func listOf(t *valueType) *valueType {
	name := t.name + "[]"
	if known := typesOf[name]; known != nil {
		return known
	}
	return &valueType{name: name, family: name, pool: []string{"[]"}}
}

// keys are columns that tell the rows of s apart, or nil.
func (s *space) keys() (out []string) {
	for _, n := range s.own {
		if len(n.unique) == 0 {
			return nil
		}
		out = append(out, n.unique...)
	}
	return out
}

// distinctOn gives the first row of each group.
func (w *writer) distinctOn(s *space, tail *piece) (*piece, []output) {
	on, _ := w.column(&space{own: s.own}, func(t *valueType) bool { return t.family != "span" })
	ref, _ := w.column(&space{own: s.own}, anyType)
	keys := append([]string{on.text}, s.keys()...)
	if len(keys) == 1 {
		keys = append(keys, ref.text)
	}
	return sequence("SELECT * FROM (SELECT DISTINCT ON ("+on.text+") "+on.text+" AS o0, "+ref.text+" AS o1", tail, " ORDER BY "+strings.Join(keys, ", ")+") AS d"), []output{{"o0", on.typ}, {"o1", ref.typ}}
}

// windowed is a SELECT with window functions.
func (w *writer) windowed(s *space, tail *piece) (*piece, []output) {
	own := &space{own: s.own}
	out := list("", ", ", "", 1)
	ref, _ := w.column(own, anyType)
	out.pieces = append(out.pieces, text("%s AS o0", ref.text))
	outputs := []output{{"o0", ref.typ}}
	names := list(" WINDOW ", ", ", "", 0)
	for i := range 1 + w.IntN(2) {
		call, over, typ := w.window(own)
		if w.maybe(15) {
			name := fmt.Sprintf("w%d", i)
			names.pieces = append(names.pieces, text("%s AS (%s)", name, over))
			over = name
		} else {
			over = "(" + over + ")"
		}
		name := fmt.Sprintf("v%d", i)
		out.pieces = append(out.pieces, text("%s", call+" OVER "+over+" AS "+name))
		outputs = append(outputs, output{name, typ})
	}
	qualify := list(" QUALIFY ", " AND ", "", 0)
	if w.maybe(20) {
		call, over, _ := w.window(own)
		qualify.pieces = append(qualify.pieces, text("%s", pick(w.Rand, []string{call + " OVER (" + over + ") IS NOT NULL", "rank() OVER (" + over + ") <= 2", "count(*) OVER (PARTITION BY " + ref.text + ") > 1"})))
	}
	return sequence("SELECT ", out, tail, names, qualify), outputs
}

// window is a function over a window that gives the same whatever order rows come in.
func (w *writer) window(s *space) (call, over string, typ *valueType) {
	plain := func(t *valueType) bool { return t.family != "span" }
	ref, _ := w.column(s, anyType)
	order, _ := w.column(s, plain)
	if w.maybe(60) {
		by, _ := w.column(s, plain)
		over = "PARTITION BY " + by.text + " "
	}
	direction := pick(w.Rand, []string{"", " DESC", " NULLS FIRST", " DESC NULLS LAST"})
	keys := s.keys()
	big := typesOf["BIGINT"]
	if keys == nil || w.maybe(35) {
		over += "ORDER BY " + order.text + direction
		switch w.IntN(4) {
		case 0:
			call := pick(w.Rand, []string{"rank()", "dense_rank()", "cume_dist()", "percent_rank()"})
			if call == "cume_dist()" || call == "percent_rank()" { // a sum of them depends on the order of additions
				return call, over, inexact
			}
			return call, over, big
		case 1:
			return "count(*)", over + pick(w.Rand, []string{"", " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", " GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW", " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE GROUP", " GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES"}), big
		case 2:
			return "count(DISTINCT " + ref.text + ")", over, big
		}
		if ref.typ.family == "span" {
			return "count(" + ref.text + ")", over, big
		}
		return pick(w.Rand, []string{"min(", "max("}) + ref.text + ")" + pick(w.Rand, []string{"", " FILTER (WHERE " + ref.text + " IS NOT NULL)"}), over, ref.typ
	}
	over += "ORDER BY " + order.text + direction + ", " + strings.Join(keys, ", ")
	frame := pick(w.Rand, []string{"", " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING", " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", " ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING", " ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE CURRENT ROW", " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE TIES"})
	switch w.IntN(5) {
	case 0:
		return pick(w.Rand, []string{"row_number()", "ntile(3)", "rank()"}), over, big
	case 1:
		return pick(w.Rand, []string{"lag(", "lead("}) + ref.text + pick(w.Rand, []string{")", ", 2)", " IGNORE NULLS)"}), over, ref.typ
	case 2:
		return pick(w.Rand, []string{"first_value(", "last_value("}) + ref.text + pick(w.Rand, []string{")", " IGNORE NULLS)"}), over + frame, ref.typ
	case 3:
		return "nth_value(" + ref.text + ", 2)", over + frame, ref.typ
	}
	if number, ok := w.column(s, ofFamily("int")); ok {
		return "sum(" + number.text + ")", over + frame, typesOf["DECIMAL(38,0)"]
	}
	return "count(" + ref.text + ")", over + frame, big
}
