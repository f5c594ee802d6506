package enginetest

import (
	"fmt"
	"slices"
	"strings"
)

// The groups and windows of queries that are aimed at plans over several nodes (surfacesplit_test.go).

// splitGroups are aggregates, of which nodes work out parts.
func (w *writer) splitGroups(s *space, tail *piece) (*piece, []output, bool) {
	out := list("", ", ", "", 0)
	var outputs []output
	var keys []string
	columnsOnly := true
	for range pick(w.Rand, []int{0, 1, 1, 1, 1, 2, 2}) {
		ref, _ := w.column(s, sorts)
		if floats := w.references(s, ofFamily("float")); len(floats) > 0 && w.maybe(15) {
			ref = pick(w.Rand, floats)
		} else if k, ok := w.commonKey(s); ok && w.maybe(65) {
			ref = k
		}
		key := ref.text
		switch {
		case ref.typ.family == "int" && w.maybe(15):
			key, columnsOnly = "abs("+key+"::DOUBLE)", false
			ref.typ = typesOf["DOUBLE"]
		case w.maybe(6):
			key, columnsOnly = key+" IS NULL", false
			ref.typ = typesOf["BOOLEAN"]
		}
		if slices.Contains(keys, key) {
			continue
		}
		keys = append(keys, key)
		w.put(out, &outputs, key, ref.typ)
	}
	for i := range 1 + w.IntN(3) {
		if i > 0 || len(keys) == 0 || w.maybe(90) {
			value, typ := w.mergeable(s)
			w.put(out, &outputs, value, typ)
		}
	}
	out.least = len(out.pieces)
	by := ""
	if all := strings.Join(keys, ", "); len(keys) > 0 {
		by = " GROUP BY " + all
		if columnsOnly && w.maybe(18) {
			by = " GROUP BY ROLLUP (" + all + ")"
			if len(keys) > 1 {
				by = w.either(by, " GROUP BY CUBE ("+all+")", " GROUP BY GROUPING SETS (("+all+"), ("+keys[0]+"), ())")
			}
		}
	}
	having := list(" HAVING ", " AND ", "", 0)
	if w.maybe(20) {
		several := "count(DISTINCT " + w.anyOf(s, "k") + ") > 1"
		having.pieces = append(having.pieces, text("%s", w.either("count(*) > 1", "count(*) >= 3", "count(*) < 4", several)))
	}
	cut, ordered := w.cut(outputs)
	return sequence("SELECT ", out, tail, list("", "", "", 0, text("%s", by)), having, cut), outputs, ordered
}

// mergeable is an aggregate that can be made of what it is of parts, or one that cannot.
func (w *writer) mergeable(s *space) (string, *valueType) {
	ref, _ := w.column(s, sorts)
	number, found := w.column(s, ofFamily("number"))
	whole, ints := w.column(s, ofFamily("int"))
	word, words := w.column(s, ofFamily("text"))
	filter := ""
	if w.maybe(20) {
		id := w.anyOf(s, "id")
		filter = " FILTER (WHERE " + w.either(ref.text+" IS NOT NULL", id+" % 2 = 0", id+" < 0", id+" > 4") + ")"
	}
	big, wide := typesOf["BIGINT"], typesOf["DECIMAL(38,0)"]
	bounded := "CASE WHEN abs(" + number.text + "::DOUBLE) < 1e6 THEN " + number.text + "::DOUBLE END"
	switch n := w.IntN(100); {
	case n < 18:
		return "count(*)" + filter, big
	case n < 26:
		return "count(" + ref.text + ")" + filter, big
	case n < 38:
		return "count(DISTINCT " + ref.text + ")" + filter, big
	case n < 52 && ints:
		return w.either("sum(", "sum(", "sum(DISTINCT ", "bit_xor(") + whole.text + ")" + filter, wide
	case n < 57 && found:
		w.loose = true
		how := w.either("avg(%s)", "avg(%s)", "avg(DISTINCT %s)", "sum(%s)", "var_pop(%s)", "stddev_samp(%s)")
		return fmt.Sprintf(how, bounded) + filter, inexact
	case n < 61 && ints:
		w.loose = true
		return "avg(" + whole.text + ")" + filter, inexact
	case n < 65 && words:
		how := w.either("string_agg(%s, ';' ORDER BY %[1]s)", "string_agg(DISTINCT %s, ';' ORDER BY %[1]s)")
		return fmt.Sprintf(how, word.text) + filter, typesOf["VARCHAR"]
	case n < 69:
		return "list(" + ref.text + " ORDER BY " + ref.text + ")" + filter, listOf(ref.typ)
	case n < 73 && ints:
		return "quantile_disc(" + whole.text + ", 0.5)" + filter, whole.typ
	case n < 77:
		return w.either("bool_and(", "bool_or(") + ref.text + " IS NULL)" + filter, typesOf["BOOLEAN"]
	case n < 80:
		return "count_if(" + ref.text + " IS NULL)" + filter, wide
	case n < 84:
		if keys := s.keys(); len(keys) == 1 {
			return w.either("arg_min(", "arg_max(") + ref.text + ", " + keys[0] + ")" + filter, ref.typ
		}
	}
	return w.either("min(", "max(") + ref.text + ")" + filter, ref.typ
}

// splitWindows are windows over rows of one key and of others, and what is left of them.
func (w *writer) splitWindows(s *space, tail *piece) (*piece, []output, bool) {
	out := list("", ", ", "", 1)
	var outputs []output
	for _, u := range s.keys() {
		w.put(out, &outputs, u, typesOf["INTEGER"])
	}
	by := ""
	for range 1 + w.IntN(2) {
		call, over, typ := w.window(s)
		if by != "" && w.maybe(60) || !strings.HasPrefix(over, "PARTITION") && w.maybe(60) {
			if _, rest, ok := strings.Cut(over, "ORDER BY"); ok {
				if by == "" {
					ref, _ := w.column(s, sorts)
					if k, ok := w.commonKey(s); ok && w.maybe(75) {
						ref = k
					}
					by = "PARTITION BY " + ref.text + " "
				}
				over = by + "ORDER BY" + rest
			}
		}
		if w.maybe(20) {
			id := w.anyOf(s, "id")
			call, over = w.either("count(*)", "count(DISTINCT "+id+")", "sum("+id+")"), strings.TrimSuffix(by, " ")
			typ = typesOf["DECIMAL(38,0)"]
		}
		w.put(out, &outputs, call+" OVER ("+over+")", typ)
	}
	cut, ordered := w.cut(outputs)
	return sequence("SELECT ", out, tail, cut), outputs, ordered
}
