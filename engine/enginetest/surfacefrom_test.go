package enginetest

import (
	"fmt"
	"slices"
	"strings"
)

func (w *writer) alias() string {
	w.aliases++
	return fmt.Sprintf("x%d", w.aliases)
}

// one puts one table, view, CTE or derived table into s.
func (w *writer) one(s *space) *piece {
	alias := w.alias()
	if s.deep < 2 && w.maybe(12) {
		deep := s.deep + 1
		body, outputs := w.selection(&space{deep: deep}, nil)
		s.own = append(s.own, named{alias: alias, fields: fieldsOf(outputs)})
		w.budget /= 30
		return sequence("(", body, ") AS "+alias)
	}
	sources := w.db.sources()
	if len(w.ctes) > 0 && w.maybe(50) {
		sources = w.ctes
	}
	r := pick(w.Rand, sources)
	for range 10 {
		if r.rows <= w.budget {
			break
		}
		r = pick(w.Rand, append(sources, w.db.tables...))
	}
	w.budget /= max(r.rows, 1)
	n := named{alias: alias, fields: r.fields}
	for _, u := range r.unique {
		n.unique = append(n.unique, alias+"."+u)
	}
	name := r.name
	if w.maybe(5) && !strings.HasPrefix(name, "c") {
		name = "public." + name
	}
	if w.maybe(5) && s.outer == nil && !slices.ContainsFunc(s.own, func(o named) bool { return o.alias == r.name }) {
		n.alias = r.name
		for i, u := range r.unique {
			n.unique[i] = r.name + "." + u
		}
		s.own = append(s.own, n)
		return text("%s", r.name)
	}
	s.own = append(s.own, n)
	return text("%s AS %s", name, alias)
}

// from is a FROM clause.
func (w *writer) from(s *space) *piece {
	if s.deep < 2 && (w.maybe(12) || w.db.edge && w.maybe(45)) {
		return w.chain(s)
	}
	out := sequence(w.one(s))
	if w.maybe(50) {
		for range 1 + w.IntN(2) {
			if w.budget > 3 {
				out.pieces = append(out.pieces, w.join(s))
			}
		}
	}
	out.least = len(out.pieces)
	return out
}

// chain joins tables by their keys, each with the one before; what is said of one of them is true of the others, too, within one type.
func (w *writer) chain(s *space) *piece {
	out := list("", "", "", 1)
	start := w.IntN(len(w.db.tables))
	inTurn := w.maybe(50) || w.db.edge
	if w.db.edge && w.maybe(70) {
		start = 0
	}
	for i := range 2 + w.IntN(3) {
		t := pick(w.Rand, w.db.tables)
		if inTurn {
			t = w.db.tables[(start+i)%len(w.db.tables)]
		}
		for range 10 {
			if t.rows*t.rows <= w.budget*4 {
				break
			}
			t = pick(w.Rand, w.db.tables)
		}
		w.budget /= max(t.rows/8, 1)
		if i > 0 && w.budget < 4 {
			break
		}
		n := named{alias: w.alias(), fields: t.fields}
		n.unique = []string{n.alias + ".id"}
		item := text("%s AS %s", t.name, n.alias)
		if i == 0 {
			out.pieces = append(out.pieces, item)
			s.own = append(s.own, n)
			continue
		}
		how := pick(w.Rand, []string{" JOIN ", " JOIN ", " JOIN ", " JOIN ", " JOIN ", " JOIN ", " LEFT JOIN ", " LEFT JOIN ", " SEMI JOIN ", " RIGHT JOIN ", " FULL JOIN ", " ANTI JOIN "})
		if w.db.edge && w.maybe(60) {
			how = " JOIN "
		}
		other := s.own[len(s.own)-1]
		if w.maybe(30) {
			other = pick(w.Rand, s.own)
		}
		key := func(n named) string { return n.alias + "." + n.fields[1].name }
		on := list(" ON ", " AND ", "", 1, text("%s %s %s", key(other), pick(w.Rand, []string{"=", "=", "=", "=", "=", "=", "=", "IS NOT DISTINCT FROM"}), key(n)))
		switch w.IntN(4) {
		case 0:
			on.pieces = append(on.pieces, w.comparison(&space{own: []named{n}, deep: 2}, 0))
		case 1, 2: // few rows are left
			on.pieces = append(on.pieces, text("%s.id %s %d", n.alias, pick(w.Rand, []string{"<", "<=", "=", "<>", ">"}), w.IntN(6)))
		}
		out.pieces = append(out.pieces, sequence(how, item, on))
		if !strings.Contains(how, "SEMI") && !strings.Contains(how, "ANTI") {
			s.own = append(s.own, n)
		}
	}
	return out
}

// join is a further entry of a FROM clause.
func (w *writer) join(s *space) *piece {
	before := slices.Clone(s.own)
	how := pick(w.Rand, []string{", ", " JOIN ", " JOIN ", " JOIN ", " LEFT JOIN ", " LEFT JOIN ", " RIGHT JOIN ", " FULL JOIN ", " CROSS JOIN ", " SEMI JOIN ", " ANTI JOIN ", "using", "natural", "lateral", "unnest", "asof"})
	switch how {
	case "lateral":
		return w.lateral(s)
	case "unnest":
		if ref, ok := w.column(&space{own: s.own}, func(t *valueType) bool { return t.family == "ints" }); ok {
			alias := w.alias()
			s.own = append(s.own, named{alias: alias, fields: []field{{"u", typesOf["BIGINT"]}}})
			return text(", unnest(%s) AS %s(u)", ref.text, alias)
		}
		return w.lateral(s)
	case "asof":
		return w.asof(s)
	case "natural":
		if len(before) == 1 {
			if p := w.natural(s, before); p != nil {
				return p
			}
		}
		how = " JOIN "
	}
	item := w.one(s)
	right := s.own[len(s.own)-1]
	if how == ", " || how == " CROSS JOIN " {
		return sequence(how, item)
	}
	if how == "using" {
		for _, f := range right.fields {
			if f.name == "k" && len(before) == 1 && slices.ContainsFunc(before[0].fields, func(o field) bool { return o.name == "k" && o.typ.family == f.typ.family }) {
				right.fields = slices.DeleteFunc(slices.Clone(right.fields), func(o field) bool { return o.name == "k" })
				s.own[len(s.own)-1] = right
				return sequence(pick(w.Rand, []string{" JOIN ", " LEFT JOIN ", " FULL JOIN ", " RIGHT JOIN "}), item, " USING (k)")
			}
		}
		how = " JOIN "
	}
	on := list(" ON ", " AND ", "", 1, w.equality(&space{own: before}, &space{own: []named{right}}))
	if w.maybe(35) {
		on.pieces = append(on.pieces, w.condition(&space{own: s.own, outer: s.outer, deep: 2}, 1))
	}
	if how == " SEMI JOIN " || how == " ANTI JOIN " {
		s.own = before
	}
	return sequence(how, item, on)
}

// natural joins by what two tables have in common: a key and an id, of types that can be compared.
func (w *writer) natural(s *space, before []named) *piece {
	t := pick(w.Rand, w.db.tables)
	var rest []field
	for _, f := range t.fields {
		at := slices.IndexFunc(before[0].fields, func(o field) bool { return o.name == f.name })
		if at < 0 {
			rest = append(rest, f)
		} else if before[0].fields[at].typ.family != f.typ.family {
			return nil
		}
	}
	if len(rest) == len(t.fields) {
		return nil
	}
	alias := w.alias()
	w.budget /= max(t.rows, 1)
	s.own = append(s.own, named{alias: alias, fields: rest, unique: []string{alias + ".id"}})
	return text(pick(w.Rand, []string{" NATURAL JOIN %s AS %s", " NATURAL LEFT JOIN %s AS %s"}), t.name, alias)
}

// lateral is a derived table that names what comes before it.
func (w *writer) lateral(s *space) *piece {
	alias := w.alias()
	inner := &space{outer: &space{own: s.own, outer: s.outer}, deep: s.deep + 1}
	from := w.one(inner)
	where := list(" WHERE ", " AND ", "", 0, w.equality(inner.outer, inner))
	if w.maybe(40) {
		where.pieces = append(where.pieces, w.condition(inner, 0))
	}
	head := pick(w.Rand, []string{", LATERAL (", " CROSS JOIN LATERAL (", ", (", " LEFT JOIN LATERAL ("})
	tail := ") AS " + alias
	if strings.Contains(head, "LEFT") {
		tail += " ON true"
	}
	if w.maybe(50) {
		value, typ := w.exactAggregate(&space{own: inner.own})
		s.own = append(s.own, named{alias: alias, fields: []field{{"v", typ}}})
		return sequence(head+"SELECT ", value, " AS v FROM ", from, where, tail)
	}
	ref, _ := w.column(&space{own: inner.own}, anyType)
	limit := list("", "", "", 0)
	if keys := inner.keys(); keys != nil && w.maybe(40) {
		limit.pieces = append(limit.pieces, text(" ORDER BY %s LIMIT %d", strings.Join(keys, ", "), 1+w.IntN(3)))
	}
	s.own = append(s.own, named{alias: alias, fields: []field{{"v", ref.typ}}})
	return sequence(head+"SELECT "+ref.text+" AS v FROM ", from, where, limit, tail)
}

// asof joins each row with the last one before it; rows of the right side are made unique first.
func (w *writer) asof(s *space) *piece {
	ordered := func(t *valueType) bool {
		return slices.Contains([]string{"int", "date", "stamp", "zoned", "nanos"}, t.family)
	}
	t := pick(w.Rand, w.db.tables)
	alias := w.alias()
	left, ok := w.column(&space{own: s.own}, ordered)
	if !ok {
		return w.lateral(s)
	}
	right, ok := w.column(&space{own: []named{{alias: "q", fields: t.fields}}}, ofFamily(left.typ.family))
	if !ok {
		return w.lateral(s)
	}
	w.budget /= 2
	s.own = append(s.own, named{alias: alias, fields: []field{{"w", right.typ}, {"id", typesOf["INTEGER"]}}, unique: []string{alias + ".w"}})
	return text("%s(SELECT %s AS w, max(q.id) AS id FROM %s AS q GROUP BY ALL) AS %s ON %s %s %s.w", pick(w.Rand, []string{" ASOF JOIN ", " ASOF LEFT JOIN "}), right.text, t.name, alias, left.text, pick(w.Rand, []string{">=", ">", "<=", "<"}), alias)
}

// rare are forms that stand for themselves.
func (w *writer) rare() (*piece, []output) {
	t, u := pick(w.Rand, w.db.tables), pick(w.Rand, w.db.tables)
	s := &space{own: []named{{alias: t.name, fields: t.fields, unique: []string{t.name + ".id"}}}, deep: 2}
	big, integer := typesOf["BIGINT"], typesOf["INTEGER"]
	plain := func(f *valueType) bool { return f.family == "text" || f.family == "int" || f.family == "bool" }
	switch w.IntN(7) {
	case 0: // PIVOT
		var column field
		for _, f := range t.fields[1:] {
			if plain(f.typ) {
				column = f
			}
		}
		if column.typ == nil {
			break
		}
		in := list(" IN (", ", ", ")", 1)
		for _, v := range some(w, column.typ.pool, 3) {
			in.pieces = append(in.pieces, text("%s", v))
		}
		other := pick(w.Rand, t.fields)
		using := pick(w.Rand, []string{"count(*)", "count(" + other.name + ")", "max(id)", "sum(id)", "min(id) AS low, count(*) AS n"})
		by := pick(w.Rand, []string{"", " GROUP BY k", " GROUP BY id % 3"})
		if by == "" {
			return sequence("SELECT * FROM (PIVOT (SELECT id % 2 AS half, id, "+column.name+", "+other.name+" AS other FROM "+t.name+") ON "+column.name, in, " USING "+strings.ReplaceAll(using, other.name, "other")+")"), nil
		}
		if strings.Contains(by, "%") {
			by = " GROUP BY k"
		}
		return sequence("SELECT * FROM (PIVOT "+t.name+" ON "+column.name, in, " USING "+using+by+")"), nil
	case 1: // UNPIVOT
		var same []string
		of := pick(w.Rand, t.fields)
		for _, f := range t.fields {
			if f.typ.name == of.typ.name {
				same = append(same, f.name)
			}
		}
		nulls := pick(w.Rand, []string{"", "INCLUDE NULLS "})
		return text("SELECT name, v FROM %s UNPIVOT %s(v FOR name IN (%s))", t.name, nulls, strings.Join(same, ", ")), []output{{"name", typesOf["VARCHAR"]}, {"v", of.typ}}
	case 2: // POSITIONAL JOIN
		a, b := pick(w.Rand, t.fields), pick(w.Rand, u.fields)
		return text("SELECT p.a, q.b FROM (SELECT %s AS a FROM %s ORDER BY id) AS p POSITIONAL JOIN (SELECT %s AS b FROM %s ORDER BY id) AS q", a.name, t.name, b.name, u.name), []output{{"a", a.typ}, {"b", b.typ}}
	case 3: // what only DuckDB's parser reads
		c := pick(w.Rand, t.fields)
		where, _ := w.plainCondition(s)
		return text("%s", pick(w.Rand, []string{
			"FROM " + t.name + " SELECT id, " + c.name, "FROM " + t.name + " WHERE " + where, "SELECT * EXCLUDE (" + c.name + ") FROM " + t.name, "SELECT * REPLACE (id + 1 AS id) FROM " + t.name,
			"SELECT COLUMNS('^[ik]') FROM " + t.name, "SELECT * RENAME (id AS ident) FROM " + t.name, "SELECT count(COLUMNS(*)) FROM " + t.name, "SELECT " + c.name + ", count(*) AS n FROM " + t.name + " GROUP BY ALL HAVING n > 1",
			"SELECT id AS one, one + 1 AS two FROM " + t.name + " WHERE one > 2", "SELECT min(COLUMNS(* EXCLUDE (id))) FROM " + t.name,
		})), nil
	case 4: // unnest in the list, struct stars
		if ref, ok := w.column(s, func(t *valueType) bool { return t.family == "ints" || t.family == "texts" }); ok {
			return text("SELECT %s.id AS i, unnest(%s) AS u FROM %[1]s", t.name, ref.text), []output{{"i", integer}, {"u", typesOf["VARCHAR"]}}
		}
	case 5: // a row's table, VALUES
		ref, _ := w.column(s, anyType)
		v := w.constant(ref.typ)
		return sequence("SELECT v.n AS n, count(*) AS c FROM "+t.name+" JOIN (VALUES (1, ", v, "), (2, ", w.constant(ref.typ), ")) AS v(n, x) ON v.x = "+ref.text+" GROUP BY v.n"), []output{{"n", integer}, {"c", big}}
	}
	return text("SELECT count(*) AS n, min(id) AS low, max(id) AS high FROM %s", t.name), []output{{"n", big}, {"low", integer}, {"high", integer}}
}

func (w *writer) plainCondition(s *space) (string, bool) {
	was := w.parameters
	w.parameters = false
	defer func() { w.parameters = was }()
	sql, _ := w.comparison(s, 1).sql()
	return sql, true
}

// some are up to n different ones, by chance.
func some[T any](w *writer, from []T, n int) []T {
	out := slices.Clone(from)
	w.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(n, len(out))]
}
