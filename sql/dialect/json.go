package dialect

import (
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// pathFunctions take an object and any number of steps into it.
var pathFunctions = wordSet("json_extract_path json_extract_path_text jsonb_extract_path jsonb_extract_path_text")

// pairFunctions give rows of two columns, key and value, behind FROM.
var pairFunctions = wordSet("json_each json_each_text jsonb_each jsonb_each_text")

// valueFunctions are rowFunctions whose column is named value if the alias of the table does not name it.
var valueFunctions = wordSet(`json_array_elements json_array_elements_text jsonb_array_elements
	jsonb_array_elements_text`)

// extractPath writes json_extract_path(a, b, c) as csm_json_extract_path__of(a, ARRAY[b, c]).
func (r *translation) extractPath(c *call) {
	if len(c.arguments) == 0 || len(c.arguments) > len(c.commas)+1 || r.within(c, "variadic").Text != "" {
		return
	}
	r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+c.name+"__of(")
	if len(c.commas) == 0 {
		r.insert(c.closing, ", CAST(ARRAY[] AS text[])", closes)
		return
	}
	r.insert(c.arguments[1].Start, "CAST(ARRAY[", opens)
	r.insert(c.closing, "] AS text[])", closes)
}

// objectOfTexts writes json_object('{a,b}') and json_object(ARRAY['a'], ARRAY['b']): of other arguments it is DuckDB's.
func (r *translation) objectOfTexts(c *call) {
	if len(c.arguments) == 0 || len(c.arguments) > 2 {
		return
	}
	first, _ := c.arguments[0].Value()
	if !(c.text(0) && strings.HasPrefix(strings.TrimSpace(first), "{")) && !c.arguments[0].Is("array") {
		if c.name == "jsonb_object" {
			r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+c.name+"(")
		}
		return
	}
	r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+c.name+"(")
	for i, argument := range c.arguments {
		if !c.text(i) {
			continue
		}
		value, ok := argument.Value()
		list, flat := arrayMembers(strings.TrimSpace(value))
		switch {
		case !ok || !strings.HasPrefix(value, "{") || !strings.HasSuffix(value, "}"):
			r.refuse(argument, "22P02", "malformed array literal: "+strconv.Quote(value), "")
		case !flat:
			r.refuse(argument, "0A000", "arrays of arrays are not supported", "Give keys and values in two arrays.")
		case strings.HasPrefix(list, "SELECT"): // there are none
			r.replace(argument.Start, argument.End(), "CAST(ARRAY[] AS text[])")
		default:
			r.replace(argument.Start, argument.End(), "CAST(ARRAY["+list+"] AS text[])")
		}
	}
}

// pairsFrom writes FROM json_each(a) AS e as a query of what is in the list of its pairs.
func (r *translation) pairsFrom(c *call, stop int) int {
	const head = "(SELECT (csm_pair).key AS key, (csm_pair).value AS value"
	more, counted := "", r.ordinality(stop)
	if counted > stop {
		more = ", row_number() OVER () AS ordinality"
	}
	r.replace(c.from, c.open.End(), head+more+" FROM unnest("+pgcatalog.TranslatedPrefix+c.name+"(")
	r.insert(stop, ") AS csm_pairs(csm_pair))", closes)
	if end, found := r.columnAlias(counted, ""); found {
		return end
	}
	r.insert(stop, " AS "+c.name, closes)
	return counted
}

// valuesFrom names the column of FROM json_array_elements(a) AS e. In PostgreSQL that is value, and e by itself is its
// value, too: where the statement says e, the column is e, and e.value becomes e.e.
func (r *translation) valuesFrom(c *call, stop int) int {
	t := r.next(stop)
	if t.Is("with") && r.next(t.End()).Is("ordinality") {
		t = r.next(r.next(t.End()).End())
	}
	as := t.Is("as")
	if as {
		t = r.next(t.End())
	}
	if t.Kind != lex.Quoted && (t.Kind != lex.Word || !as && !isAlias(t)) {
		r.insert(r.ordinalityEnd(stop), " AS "+c.name+"(value)", closes)
		return r.ordinalityEnd(stop)
	}
	if r.next(t.End()).Is("(") {
		return t.End()
	}
	alone, members := r.mentions(t)
	if !alone {
		r.insert(t.End(), "(value)", closes)
		return t.End()
	}
	r.insert(t.End(), "("+t.Text+")", closes)
	for _, member := range members {
		r.replace(member.Start, member.End(), t.Text)
	}
	return t.End()
}

// ordinalityEnd is behind WITH ORDINALITY, if it stands there.
func (r *translation) ordinalityEnd(at int) int {
	with := r.next(at)
	if word := r.next(with.End()); with.Is("with") && word.Is("ordinality") {
		return word.End()
	}
	return at
}

// mentions reports whether the alias of a table is named by itself anywhere else in the text, and gives each value that
// is named as its column.
func (r *translation) mentions(alias lex.Token) (alone bool, members []lex.Token) {
	name, _ := alias.Name()
	var before lex.Token
	for t := range r.read.Tokens() {
		same, ok := t.Name()
		isName := t.Kind == lex.Word || t.Kind == lex.Quoted
		if isName && ok && same == name && t.Start != alias.Start && !before.Is(".") {
			dot := r.read.Next(t.End())
			column := r.read.Next(dot.End())
			switch {
			case !dot.Is("."):
				alone = alone || !dot.Is("(") && !before.Is("as")
			case column.Is("value") && !r.read.Next(column.End()).Is("("):
				members = append(members, column)
			}
		}
		before = t
	}
	return alone, members
}
