package dialect

import (
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/typing"
)

// renamed are the functions that DuckDB lacks, or has with another meaning: a macro stands for each, by its name with
// TranslatedPrefix.
var renamed = wordSet(`acosh array_cat array_dims array_fill array_length array_positions array_remove
	array_replace array_to_json array_to_string btrim cardinality chr clock_timestamp convert_from convert_to
	current_timestamp date_bin div exp gcd get_byte json_array_length json_typeof jsonb_array_length
	jsonb_typeof justify_days justify_hours justify_interval lcm localtime localtimestamp lpad make_date
	make_interval make_timestamp make_timestamptz mod octet_length pow power regexp_count regexp_instr
	regexp_like regexp_match regexp_replace regexp_split_to_array regexp_substr reverse row_to_json rpad
	set_byte sha256 split_part string_to_array to_hex to_json to_jsonb to_number trim_array width_bucket`)

// listAggregates make one text of the list that array_agg gives: a macro does, by the name with TranslatedPrefix.
// DuckDB's own take no ORDER BY.
var listAggregates = wordSet("json_agg jsonb_agg json_object_agg jsonb_object_agg")

// builders take any number of arguments, as no macro does: an array, of the JSON texts of the arguments.
var builders = wordSet("json_build_object jsonb_build_object json_build_array jsonb_build_array")

// call is one of a function that is being read.
type call struct {
	name      string // in lower case
	from      int    // where it begins, with its qualifier
	open      lex.Token
	arguments []lex.Token // the first token of each
	single    []bool      // whether it is the only one
	commas    []lex.Token
	closing   int  // where the parenthesis is that ends it
	texts     bool // a string is among the tokens
}

// callAt looks at the arguments behind a parenthesis, without reading them.
func (r *translation) callAt(name string, from int, open lex.Token) *call {
	c := &call{name: name, from: from, open: open, closing: len(r.sql)}
	depth, tokens := 0, 0
	for t := r.read.Next(open.End()); !t.Ends(); t = r.read.Next(t.End()) {
		c.texts = c.texts || t.Kind == lex.String
		switch {
		case t.IsAny(")", "]", "}") && depth == 0:
			if tokens > 0 {
				c.single = append(c.single, tokens == 1)
			}
			c.closing = t.Start
			return c
		case t.IsAny(")", "]", "}"):
			depth--
		case depth == 0 && t.Is(","):
			c.single, c.commas, tokens = append(c.single, tokens == 1), append(c.commas, t), 0
			continue
		}
		if tokens++; tokens == 1 {
			c.arguments = append(c.arguments, t)
		}
		if t.IsAny("(", "[", "{") {
			depth++
		}
	}
	return c
}

// text reports whether an argument is a string, and nothing else.
func (c *call) text(i int) bool {
	return i < len(c.arguments) && i < len(c.single) && c.single[i] && c.arguments[i].Kind == lex.String
}

// call reads a call, up to its end.
func (r *translation) call(c *call, in clause) int {
	inside, made := in, len(r.changes)
	if in == inFrom || in == inCondition || c.name == "unnest" {
		inside = inRest
	} else if in == inList && c.name == "coalesce" {
		inside = inFilter
	}
	stop := r.walk(c.open.End(), context{clause: inside})
	switch {
	case c.name == "unnest" && len(c.arguments) == 1 && r.nested(c.arguments[0]):
		r.refuse(c.arguments[0], "0A000", "unnest() of an array of arrays is not supported",
			"Give it the elements in one array.")
	case rowFunctions[c.name] && in == inFrom:
		return r.rowsFrom(c, stop)
	case pairFunctions[c.name] && in == inFrom:
		return r.pairsFrom(c, stop)
	case rowFunctions[c.name]:
		r.rowsOf(c, in, stop)
	case c.name == "lag" || c.name == "lead":
		r.otherwise(c)
	case pathFunctions[c.name]:
		r.extractPath(c)
	case c.name == "json_object", c.name == "jsonb_object":
		r.objectOfTexts(c)
	case c.name == "format":
		r.formatted(c)
	case (c.name == "greatest" || c.name == "least") && r.anyRow(c):
		r.refuse(c.open, "0A000", c.name+"() of rows is not supported", "Compare what is in them.")
	case renamed[c.name]:
		r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+c.name+"(")
	case c.name == "any", c.name == "some", c.name == "all":
		r.quantified(c)
	case c.name == "cast":
		r.cast(c)
	case c.name == "extract":
		r.extract(c)
	case c.name == "date_part":
		r.datePart(c)
	case c.name == "date_trunc" && c.text(0) && len(c.commas) == 1:
		if part, ok := c.arguments[0].Value(); ok && truncated[lex.Fold(part)] {
			r.replace(c.from, c.commas[0].End(), pgcatalog.TranslatedPrefix+"date_trunc__"+lex.Fold(part)+"(")
		}
	case c.name == "date_trunc" && c.text(0) && c.text(2) && len(c.commas) == 2:
		if part, ok := c.arguments[0].Value(); ok && !truncated[lex.Fold(part)] {
			r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+"date_trunc__zone(")
			r.zone(c.arguments[2])
		}
	case c.name == "timezone" && c.text(0) && len(c.commas) == 1:
		r.zone(c.arguments[0])
	case c.name == "nth_value" && len(c.arguments) == 2:
		r.positive(c)
	case c.name == "row":
		if end := r.compareRows(c, made, stop, in); end > 0 {
			return end
		}
		r.nullRow(c, stop)
	case c.name == "to_date", c.name == "to_timestamp":
		r.parseTime(c)
	case c.name == "substring", c.name == "substr":
		r.substring(c)
	case c.name == "overlay":
		r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+"overlay(")
		r.commas(r.within(c, "placing"), r.within(c, "from"), r.within(c, "for"))
	case c.name == "round", c.name == "trunc":
		r.digits(c)
	case c.name == "percentile_cont":
		end := r.callEnd(stop)
		r.continuous(stop)
		return end
	case c.name == "corr" || c.name == "regr_slope":
		return r.defined(c, stop)
	case builders[c.name]:
		r.build(c)
	case (c.name == "num_nulls" || c.name == "num_nonnulls") && len(c.arguments) > 0:
		r.countNulls(c)
	case c.name == "string_agg" && len(c.arguments) == 2 && c.arguments[1].Is("null"):
		r.replace(c.arguments[1].Start, c.arguments[1].End(), "''")
	case (c.name == "array_agg" || c.name == "string_agg") && len(r.changes) == made:
		r.sortDistinct(c)
	case listAggregates[c.name]:
		if len(r.changes) == made {
			r.sortDistinct(c)
		}
		return r.listAggregate(c, stop)
	}
	return r.callEnd(stop)
}

// fieldName is the macro that gives a value's text as PostgreSQL's function of the type does: true is t.
const fieldName = pgcatalog.TranslatedPrefix + "row__field"

// formatted gives format('%s', a) the texts of its arguments. What is written in DuckDB's way, with braces, stays.
func (r *translation) formatted(c *call) {
	if len(c.arguments) != len(c.commas)+1 || !c.text(0) {
		return
	}
	if template, ok := c.arguments[0].Value(); !ok || !strings.Contains(template, "%") || strings.Contains(template, "{") {
		return
	}
	for i, a := range c.arguments[1:] {
		constant := a.Kind == lex.String || a.Kind == lex.Number || a.Kind == lex.Parameter || a.Is("null")
		if constant && c.single[i+1] || a.IsAny(fieldName, "variadic", "row", "(") {
			continue
		}
		end := c.closing
		if i+1 < len(c.commas) {
			end = c.commas[i+1].Start
		}
		r.insert(a.Start, fieldName+"(", opens)
		r.insert(end, ")", closes)
	}
}

// anyRow reports whether an argument of a call is a row that is written out.
func (r *translation) anyRow(c *call) bool {
	for i, a := range c.arguments {
		row := r.rowAt(a)
		if row == nil {
			continue
		}
		end := c.closing
		if i < len(c.commas) {
			end = c.commas[i].Start
		}
		if r.next(row.closing+1).Start == end {
			return true
		}
	}
	return false
}

// defined writes corr(a, b) as csm_corr__of(corr(a, b)), with what stands behind it.
func (r *translation) defined(c *call, stop int) int {
	around := pgcatalog.TranslatedPrefix + c.name + "__of("
	end := r.callEnd(stop)
	if !strings.HasSuffix(r.sql[:c.from], around) {
		r.insert(c.from, around, opens)
		r.insert(end, ")", closes)
	}
	return end
}

// positive refuses nth_value(a, 0), of which DuckDB says NULL.
func (r *translation) positive(c *call) {
	n := c.arguments[1]
	number, minus := n, n.Is("-")
	if minus {
		number = r.next(n.End())
	}
	if number.Kind != lex.Number || r.next(number.End()).Start != c.closing {
		return
	}
	if minus || constantOf(number.Text) == unknown {
		r.refuse(n, "22016", "argument of nth_value must be greater than zero", "")
	}
}

// nested reports whether an operand's first token is that of an array of arrays.
func (r *translation) nested(array lex.Token) bool {
	open := r.next(array.End())
	return array.Is("array") && open.Is("[") && r.next(open.End()).IsAny("[", "array")
}

// nullRow writes (a, b) IS NULL as ((a) IS NULL AND (b) IS NULL): in DuckDB a row of NULLs is none. stop is behind it.
func (r *translation) nullRow(c *call, stop int) {
	is := r.next(stop)
	null, verb := r.next(is.End()), "IS NULL"
	if null.Is("not") {
		null, verb = r.next(null.End()), "IS NOT NULL"
	}
	if !is.Is("is") || !null.Is("null") || len(c.arguments) == 0 || c.name == "" && len(c.commas) == 0 ||
		c.arguments[0].IsAny("select", "with", "values", "from", "table") || r.behindIn(c.from) {
		return
	}
	r.replace(c.from, c.open.End(), "((")
	for _, comma := range c.commas {
		r.replace(comma.Start, comma.End(), ") "+verb+" AND (")
	}
	r.insert(c.closing, ") "+verb, closes)
	r.replace(is.Start, null.End(), "")
}

// behindIn reports whether a parenthesis is that of IN (a, b).
func (r *translation) behindIn(at int) bool {
	before := strings.TrimRight(r.sql[:at], " \t\r\n")
	word := before[strings.LastIndexFunc(before, func(c rune) bool { return c < 0x80 && !lex.IsNamePart(byte(c)) })+1:]
	return lex.Same(word, "in")
}

// listAggregate writes json_agg(a ORDER BY b) as csm_json_agg(array_agg(a ORDER BY b)); stop is behind its parenthesis.
func (r *translation) listAggregate(c *call, stop int) int {
	r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+c.name+"(array_agg(")
	if strings.HasSuffix(c.name, "object_agg") && len(c.arguments) == 2 {
		end := c.closing
		if order := r.within(c, "order"); order.Text != "" {
			end = order.Start
		}
		r.insert(c.open.End(), "ROW(", opens)
		r.insert(end, ") ", closes)
	}
	stop = r.callEnd(stop)
	r.insert(stop, ")", closes)
	return stop
}

// build writes json_build_object(a, b) as csm_json_build_object(ARRAY[csm_json_key(a), csm_json_value(b)]).
func (r *translation) build(c *call) {
	object := strings.HasSuffix(c.name, "object")
	switch {
	case len(c.arguments) == 0:
		r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+c.name+"(CAST(ARRAY[] AS text[])")
		return
	case c.arguments[0].Is("variadic"):
		return
	case object && len(c.commas)%2 == 0:
		r.refuse(c.arguments[0], "22023", "argument list must have even number of elements",
			"The arguments of "+c.name+"() must consist of alternating keys and values.")
		return
	}
	r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+c.name+"(ARRAY[")
	for i, argument := range c.arguments {
		end, by := c.closing, "json_value("
		if i < len(c.commas) {
			end = c.commas[i].Start
		}
		if i%2 == 0 && object {
			by = "json_key("
		}
		r.insert(argument.Start, pgcatalog.TranslatedPrefix+by, opens)
		r.insert(end, ")", closes)
	}
	r.insert(c.closing, "]", closes)
}

// countNulls writes num_nulls(a, b), which takes any number of arguments, as a sum:
// csm_num_nulls(((a) IS NULL)::integer + …).
func (r *translation) countNulls(c *call) {
	if c.arguments[0].Is("variadic") {
		return
	}
	is := ") IS NULL)::integer"
	if c.name == "num_nonnulls" {
		is = ") IS NOT NULL)::integer"
	}
	r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+c.name+"(((")
	for _, comma := range c.commas {
		r.replace(comma.Start, comma.End(), is+" + ((")
	}
	r.insert(c.closing, is, closes)
}

// otherwise gives the values of lag(i, 1, 0.7) as many digits behind the point as the number that stands for those that
// are not there: DuckDB makes that a number of their type.
func (r *translation) otherwise(c *call) {
	if len(c.arguments) != 3 || len(c.commas) != 2 || c.arguments[0].Is(typing.DigitsName) {
		return
	}
	number := c.arguments[2]
	for number.IsAny("-", "+") {
		number = r.next(number.End())
	}
	_, digits, point := strings.Cut(number.Text, ".")
	alone := r.next(number.End()).Start == c.closing
	if number.Kind != lex.Number || !point || !alone || strings.ContainsAny(digits, "eE") {
		return
	}
	r.insert(c.arguments[0].Start, typing.DigitsName+"(", opens)
	r.insert(c.commas[0].Start, ", 0."+strings.Repeat("0", len(digits))+")", closes)
}

// within is the first of the words that stands in a call, and in no parentheses there.
func (r *translation) within(c *call, words ...string) (found lex.Token) {
	depth := 0
	for t := r.read.Next(c.open.End()); t.Start < c.closing && !t.Ends(); t = r.read.Next(t.End()) {
		switch {
		case t.IsAny("(", "[", "{"):
			depth++
		case t.IsAny(")", "]", "}"):
			depth--
		case depth == 0 && t.IsAny(words...):
			return t
		}
	}
	return lex.Token{}
}

// substring writes what counts from before the text, or looks for a pattern; what has constants is DuckDB's.
func (r *translation) substring(c *call) {
	from, length := r.within(c, "from"), r.within(c, "for")
	var second, third lex.Token
	switch {
	case from.Text != "":
		second = r.next(from.End())
		if length.Text != "" {
			third = r.next(length.End())
		}
	case length.Text == "" && len(c.arguments) > 1:
		second = c.arguments[1]
		if len(c.arguments) > 2 {
			third = c.arguments[2]
		}
	default:
		return
	}
	alone := func(t lex.Token) bool {
		end := r.next(t.End())
		return end.Start >= c.closing || end.Is(",") || end.Start == length.Start
	}
	isWhole := func(t lex.Token) bool { return t.Kind == lex.Number && constantOf(t.Text) == whole && alone(t) }
	name := c.name
	switch {
	case isWhole(second) && (third.Text == "" || isWhole(third)):
		return
	case second.Kind == lex.String && third.Text == "" && alone(second) && c.name == "substring":
		name += "__pattern"
	}
	r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+name+"(")
	r.commas(from, length)
}

// commas stand in place of the words that there are.
func (r *translation) commas(words ...lex.Token) {
	for _, word := range words {
		if word.Text != "" {
			r.replace(word.Start, word.End(), ",")
		}
	}
}

// digitsMost is how many digits behind the point there are macros for.
const digitsMost = 12

// digits writes round(a, 2) as csm_round__2(a), a numeric with two digits: DuckDB's is a double precision if a is.
func (r *translation) digits(c *call) {
	if len(c.arguments) != 2 || len(c.single) != 2 || !c.single[1] || c.arguments[1].Kind != lex.Number {
		return
	}
	n, err := strconv.Atoi(c.arguments[1].Text)
	if err != nil || n > digitsMost {
		return
	}
	r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+c.name+"__"+strconv.Itoa(n)+"(")
	r.replace(c.commas[0].Start, c.closing, "")
}

// continuousName is the macro that makes any number a double precision.
const continuousName = pgcatalog.TranslatedPrefix + "continuous"

// continuous makes double precision of the numbers behind WITHIN GROUP (ORDER BY, among which one is computed.
func (r *translation) continuous(at int) {
	var tokens []lex.Token
	for range 5 {
		tokens = append(tokens, r.next(at))
		at = tokens[len(tokens)-1].End()
	}
	for i, word := range []string{"within", "group", "(", "order", "by"} {
		if !tokens[i].Is(word) {
			return
		}
	}
	c := r.callAt("", tokens[2].Start, tokens[2])
	end := c.closing
	if direction := r.within(c, "asc", "desc", "nulls"); direction.Text != "" {
		end = direction.Start
	}
	first := r.next(at)
	if first.Is(continuousName) {
		return
	}
	r.insert(first.Start, continuousName+"(", opens)
	r.insert(end, ") ", closes)
}

// parseTime writes to_date and to_timestamp with a constant template in DuckDB's way.
func (r *translation) parseTime(c *call) {
	if len(c.arguments) != 2 || !c.text(1) {
		return
	}
	template, ok := c.arguments[1].Value()
	if !ok {
		return
	}
	var format strings.Builder
	year := false
	for at := 0; at < len(template); {
		pattern := patternAt(template[at:])
		by := timeFormats[strings.ToUpper(pattern)]
		year = year || strings.Contains(strings.ToUpper(pattern), "Y")
		switch {
		case pattern == "" && isAnyLetter(template[at]), pattern != "" && by == "":
			return // as it is, for DuckDB to refuse
		case pattern == "":
			by, pattern = strings.ReplaceAll(template[at:at+1], "%", "%%"), template[at:at+1]
		}
		format.WriteString(by)
		at += len(pattern)
	}
	if !year {
		r.refuse(c.arguments[1], "0A000", c.name+"() without a year in its template is not supported",
			"Write a year before the text, and YYYY before the template.")
	}
	r.replace(c.from, c.open.End(), pgcatalog.TranslatedPrefix+c.name+"(")
	r.replace(c.arguments[1].Start, c.arguments[1].End(), lex.QuoteString(format.String()))
}

// sortDistinct gives the values of array_agg(DISTINCT a) the order that PostgreSQL finds them in.
func (r *translation) sortDistinct(c *call) {
	if len(c.arguments) == 0 || !c.arguments[0].Is("distinct") {
		return
	}
	end := c.closing
	if len(c.commas) > 0 {
		end = c.commas[0].Start
	}
	text := strings.TrimSpace(r.sql[c.arguments[0].End():end])
	for t := r.read.Next(c.open.End()); t.Start < c.closing && !t.Ends(); t = r.read.Next(t.End()) {
		if t.Is("order") {
			return
		}
	}
	if text != "" && !strings.Contains(text, "--") && !strings.Contains(text, pgcatalog.TranslatedPrefix) {
		r.insert(c.closing, " ORDER BY "+text, closes)
	}
}
