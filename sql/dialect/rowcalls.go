package dialect

import (
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// rowFunctions give rows in PostgreSQL, of one column that the alias of the table names. In a select list there is a
// list instead, by the name with TranslatedPrefix; DuckDB has unnest.
var rowFunctions = wordSet(`generate_series generate_subscripts regexp_split_to_table string_to_table
	json_array_elements jsonb_array_elements json_array_elements_text jsonb_array_elements_text json_object_keys
	jsonb_object_keys regexp_matches unnest`)

// rowsOf writes a call that gives rows, and stands where no table does.
func (r *translation) rowsOf(c *call, in clause, stop int) {
	switch {
	case in == inFirstList:
		r.refuse(r.read.Next(c.from), "0A000", "set-returning functions are not supported beside DISTINCT ON",
			"Call it in a query around this one.")
	case c.name == "unnest":
	case in == inList:
		r.seriesTexts(c)
		r.replace(c.from, c.open.End(), "unnest("+pgcatalog.TranslatedPrefix+c.name+"(")
		r.insert(stop, ")", closes)
	case in == inOrder: // by a list, in DuckDB, which each row has one of
		r.refuse(r.read.Next(c.from), "0A000", "set-returning functions are not supported in ORDER BY",
			"Name it in the select list, and order by the name.")
	case in == inFilter || in == inCondition:
		t := r.read.Next(c.from)
		r.refuse(t, "0A000", "set-returning functions are not allowed here", "Call it behind FROM, or in the select list.")
	}
}

// rowsFrom writes a call behind FROM, with its alias. A series of numbers is DuckDB's own table.
func (r *translation) rowsFrom(c *call, stop int) int {
	alias := ""
	switch {
	case c.name == "unnest" && len(c.arguments) > 1:
		head, tail, counted := "(SELECT unnest(", " AS unnest)", r.ordinality(stop)
		if counted > stop {
			head, tail = "(SELECT *, row_number() OVER () AS ordinality FROM "+head, tail+" AS unnest)"
		}
		r.replace(c.from, c.open.End(), head)
		for _, comma := range c.commas {
			r.replace(comma.Start, comma.End(), ") AS unnest, unnest(")
		}
		r.insert(stop, tail, closes)
		if end, found := r.columnAlias(stop, ""); found {
			return end
		}
		r.insert(stop, " AS unnest", closes)
		return counted
	case c.name == "generate_series" && c.texts, c.name != "generate_series" && c.name != "unnest":
		r.seriesTexts(c)
		r.replace(c.from, c.open.End(), "unnest("+pgcatalog.TranslatedPrefix+c.name+"(")
		r.insert(stop, ")", closes)
		alias = " AS " + c.name + "(" + c.name + ")"
		if valueFunctions[c.name] {
			return r.valuesFrom(c, stop)
		}
	}
	end, found := r.columnAlias(stop, "()")
	if !found && alias != "" {
		r.insert(stop, alias, closes)
	}
	return end
}

// ordinality takes WITH ORDINALITY away, if it stands behind a table, and says what is behind it.
func (r *translation) ordinality(stop int) int {
	with := r.next(stop)
	if !with.Is("with") {
		return stop
	}
	word := r.next(with.End())
	if !word.Is("ordinality") {
		return stop
	}
	r.replace(with.Start, word.End(), "")
	return word.End()
}

// seriesTexts gives the strings among the arguments of a series of times their types.
func (r *translation) seriesTexts(c *call) {
	if c.name != "generate_series" || len(c.arguments) != 3 {
		return
	}
	kind := "TIMESTAMP"
	first := c.arguments[0]
	if colons := r.next(first.End()); colons.Is("::") {
		first = r.next(colons.End())
	}
	if first.IsAny("timestamptz", "date") {
		kind = strings.ToUpper(first.Text)
	}
	for i, by := range []string{kind, kind, "INTERVAL"} {
		if c.text(i) {
			r.insert(c.arguments[i].Start, by+" ", opens)
		}
	}
}

// columnAlias gives the columns of a table behind FROM names where its alias does not: those of by, in which () is the
// alias itself. at is behind the table.
func (r *translation) columnAlias(at int, by string) (end int, found bool) {
	t := r.next(at)
	if t.Is("with") {
		if ordinality := r.next(t.End()); ordinality.Is("ordinality") {
			t = r.next(ordinality.End())
		}
	}
	as := t.Is("as")
	if as {
		t = r.next(t.End())
	}
	if t.Kind != lex.Quoted && (t.Kind != lex.Word || !as && !isAlias(t)) {
		return at, false
	}
	if by == "()" {
		by = "(" + t.Text + ")"
	}
	if by != "" && !r.next(t.End()).Is("(") {
		r.insert(t.End(), by, closes)
	}
	return t.End(), true
}

// valuesAlias names the columns of FROM (VALUES …) AS v as PostgreSQL does. open is the parenthesis, stop behind the
// one that closes it.
func (r *translation) valuesAlias(open lex.Token, stop int) int {
	values := r.next(open.End())
	row := r.next(values.End())
	if !values.Is("values") || !row.Is("(") {
		return stop
	}
	var names []string
	for i := range r.callAt("", row.Start, row).arguments {
		names = append(names, "column"+strconv.Itoa(i+1))
	}
	end, _ := r.columnAlias(stop, "("+strings.Join(names, ", ")+")")
	return end
}
