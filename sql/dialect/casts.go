package dialect

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// numericName is the macro that makes any number a numeric with as many digits as it has. To DuckDB a numeric without
// digits is a DECIMAL(18, 3).
const numericName = pgcatalog.TranslatedPrefix + "numeric"

// cast reads CAST(a AS b), whose a is translated.
func (r *translation) cast(c *call) {
	as := r.within(c, "as")
	if as.Text == "" || len(c.arguments) != 1 {
		return
	}
	value, kind := c.arguments[0], r.next(as.End())
	r.float(kind)
	r.bits(kind)
	alone := r.next(kind.End()).Start == c.closing
	end := r.typeName(kind)
	if value.Kind == lex.Parameter && r.next(value.End()).Start == as.Start && r.isOpenNumeric(kind, end) &&
		r.next(end).Start == c.closing {
		r.replace(c.from, c.open.End(), numericParameterName+"(")
		r.replace(as.Start, kind.End(), numericParameterType)
		return
	}
	if macro := r.dimensions(value, value.Start, as.Start, kind, end); macro != "" && r.next(end).Start == c.closing {
		r.replace(c.from, c.open.End(), macro+"(")
		r.replace(as.Start, end, "")
		return
	}
	cut, _, _ := r.cuts(kind)
	if r.next(value.End()).Start == as.Start && value.Kind == lex.String && (cut == "" || isTimes(kind)) {
		if by := r.literal(value, kind, alone); by != "" {
			r.replace(kind.Start, kind.End(), by)
		}
		if cut == "" {
			return
		}
	}
	if alone && isNumeric(kind) && !(r.next(value.End()).Start == as.Start && value.Is("null")) {
		r.replace(c.from, c.open.End(), numericName+"(")
		r.replace(as.Start, kind.End(), "")
	}
	if alone && isText(kind) && !(hasText(value) && r.next(value.End()).Start == as.Start) {
		r.replace(c.from, c.open.End(), textName+"(")
		r.replace(as.Start, kind.End(), "")
	}
	if name, length, end := r.cuts(kind); name != "" && r.next(end).Start == c.closing {
		r.replace(c.from, c.open.End(), name+"(")
		r.replace(as.Start, end, ", "+length)
	}
}

// bits writes the type bit varying, of any length, as the name of DuckDB's that PostgreSQL does not have.
func (r *translation) bits(kind lex.Token) {
	if kind.Kind != lex.Word || !kind.IsAny("bit", "varbit") {
		return
	}
	if name, _, end := r.precision(kind); name == "" && !r.next(end).Is("(") {
		r.replace(kind.Start, end, "bitstring")
	}
}

// float writes the type float without digits as the double precision that it is: DuckDB's is a real.
func (r *translation) float(kind lex.Token) {
	if kind.Kind == lex.Word && kind.Is("float") && !r.next(kind.End()).IsAny("(", ".") {
		r.replace(kind.Start, kind.End(), "double precision")
	}
}

// declared reads the types of columns and parameters that a statement declares.
func (r *translation) declared() {
	var verb, before lex.Token
	for t := range r.read.Tokens() {
		switch {
		case verb.Text == "" && !t.IsAny("create", "alter", "prepare"), verb.Is("prepare") && t.Is("as"):
			return
		case verb.Text == "":
			verb = t
		case verb.Is("prepare") || (before.Kind == lex.Word || before.Kind == lex.Quoted) && !before.Is("as"):
			r.float(t)
		}
		before = t
	}
}

// cuts reads varchar(n), char(n), timestamp(n) and the like, and gives the macro that casts to it: DuckDB's cast takes
// no notice of n, or does not know it.
func (r *translation) cuts(kind lex.Token) (name, length string, end int) {
	name, end = pgcatalog.TranslatedPrefix+"varchar", kind.End()
	switch varying := r.next(end); {
	case kind.Kind != lex.Word:
		return "", "", end
	case kind.IsAny("timestamp", "timestamptz", "time", "interval", "bit", "varbit"):
		return r.precision(kind)
	case kind.IsAny("character", "char", "nchar") && varying.Is("varying"):
		end = varying.End()
	case kind.IsAny("character", "char", "nchar", "bpchar"):
		name = pgcatalog.TranslatedPrefix + "bpchar"
	case !kind.Is("varchar"):
		return "", "", end
	}
	open := r.next(end)
	n := r.next(open.End())
	closing := r.next(n.End())
	switch {
	case open.Is("(") && n.Kind == lex.Number && constantOf(n.Text) == whole && closing.Is(")"):
		return name, n.Text, closing.End()
	case !open.Is("(") && strings.HasSuffix(name, "bpchar") && !kind.Is("bpchar"):
		return name, "1", end
	}
	return "", "", end
}

// castTo reads a::b, from the operand and :: on, and gives where b ends.
func (r *translation) castTo(operand lex.Token, start, colons int, kind lex.Token, whole bool) int {
	end := r.typeName(kind)
	alone := end == kind.End()
	r.float(kind)
	r.bits(kind)
	if whole && operand.Kind == lex.Parameter && r.isOpenNumeric(kind, end) {
		r.insert(start, numericParameterName+"(", opens)
		r.replace(colons, end, numericParameterType+r.sql[kind.End():end]+")")
		return end
	}
	if macro := r.dimensions(operand, start, colons, kind, end); macro != "" {
		r.insert(start, macro+"(", opens)
		r.replace(colons, end, ")")
		return end
	}
	name, length, cut := r.cuts(kind)
	if whole && operand.Kind == lex.String && (name == "" || isTimes(kind)) {
		if by := r.literal(operand, kind, alone); by != "" {
			r.replace(kind.Start, kind.End(), by)
		}
		if name == "" {
			return end
		}
	}
	if name != "" && cut == end && !(whole && operand.Is("null") && !isTimes(kind)) {
		r.insert(start, name+"(", opens)
		r.replace(colons, end, ", "+length+")")
	}
	if alone && isText(kind) && !(whole && hasText(operand)) {
		r.insert(start, textName+"(", opens)
		r.replace(colons, end, ")")
	}
	if alone && isNumeric(kind) && !(whole && operand.Is("null")) {
		r.insert(start, numericName+"(", opens)
		r.replace(colons, end, ")")
	}
	return end
}

// dimensions makes as many brackets of the type of an array as its value has dimensions: to PostgreSQL text[] is the
// type of arrays of any, to DuckDB each list has its own. operand is the value's first token, start is where it begins,
// stop where what stands behind it does, end is behind the type. If a macro is to cast the value, it gives its name.
func (r *translation) dimensions(operand lex.Token, start, stop int, kind lex.Token, end int) (macro string) {
	given := 0
	for t := kind; t.Start < end && !t.Ends(); t = r.next(t.End()) {
		if t.Is("[") {
			given++
		}
	}
	if given == 0 {
		return ""
	}
	known := r.elementDigits(kind, start, stop)
	has := 0
	switch value, ok := operand.Value(); {
	case operand.Kind == lex.String && ok && r.next(operand.End()).Start == stop:
		shape, valid := shapeOf(value)
		if !valid && strings.Contains(value[1:], "{") {
			r.refuse(operand, "22P02", "malformed array literal: "+strconv.Quote(value), "")
		}
		has = len(shape)
	default:
		has = r.depthOf(operand, stop)
	}
	if depth := max(has, given); !known && operand.Kind != lex.Parameter {
		if depth > len(numericArrays) {
			r.refuse(kind, "0A000", "numeric[] of arrays of more than two dimensions is not supported", "Write numeric(p, s)[].")
			return ""
		}
		return numericArrays[depth-1]
	}
	if has > given {
		r.insert(end, strings.Repeat("[]", has-given), closes)
	} else if given == 1 && isText(kind) && !hasText(operand) && !operand.Is(flatName) && !r.plain(operand) {
		r.insert(start, flatName+"(", opens)
		r.insert(stop, ")", closes)
	}
	return ""
}

// numericArrays are the macros that make any array of numbers one of numerics, with as many digits as the numbers have:
// of one dimension, and of two.
var numericArrays = []string{numericName + "__array", numericName + "__array2"}

// elementDigits gives the elements of numeric[] the digits that the constants have which stand between two offsets:
// DuckDB's have three behind the point. They get no more than those, so that an array has room for the digits of what is
// appended to it. Not known: the elements are no constants, and only DuckDB knows what they are.
func (r *translation) elementDigits(kind lex.Token, from, to int) (known bool) {
	if !isNumeric(kind) || !r.next(kind.End()).Is("[") {
		return true
	}
	whole, fraction, before := 0, 0, lex.Token{}
	for t := r.next(from); t.Start < to && !t.Ends(); t = r.next(t.End()) {
		text := t.Text
		switch value, _ := t.Value(); {
		case t.Kind == lex.String:
			text = value
		case t.Kind != lex.Number:
			if !t.IsAny("array", "null", "[", "]", "(", ")", ",", "-") || t.Is("-") && !before.IsAny("[", "(", ",") {
				return false
			}
			before = t
			continue
		}
		before = t
		for _, element := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(`{},"`, c) }) {
			if digits, behind, ok := literal.Number(element); ok {
				whole = max(whole, len(strings.TrimLeft(digits, "-0")))
				fraction = max(fraction, len(behind))
			}
		}
	}
	if whole+fraction > digitsOfDecimal {
		r.refuse(kind, "0A000", "an array of numerics of more than 38 digits is not supported", "Write numeric(p, s)[].")
	}
	r.replace(kind.Start, kind.End(), fmt.Sprintf("DECIMAL(%d, %d)", max(1, whole+fraction), fraction))
	return true
}

// digitsOfDecimal is how many digits DuckDB's DECIMAL has.
const digitsOfDecimal = 38

// flatName is the macro that refuses arrays of what DuckDB writes in its own way as texts: arrays and rows.
const flatName = pgcatalog.TranslatedPrefix + "flat"

// plain reports whether a value is ARRAY[a, b] of names and constants.
func (r *translation) plain(array lex.Token) bool {
	t := r.next(array.End())
	if !array.Is("array") || !t.Is("[") {
		return false
	}
	for t = r.next(t.End()); !t.Is("]"); t = r.next(t.End()) {
		if t.Kind == lex.Symbol && !t.Is(",") || t.Ends() || t.IsAny("row", "array") {
			return false
		}
	}
	return true
}

// depthOf is how many dimensions an array has that is written out between its first token and stop; 0: it is no such
// value, or a part of it is taken, (ARRAY[1, 2])[1].
func (r *translation) depthOf(first lex.Token, stop int) int {
	open := first
	if first.Is("array") {
		open = r.next(first.End())
	}
	if !open.Is("[") && (!open.Is("(") || first.Is("array")) {
		return 0
	}
	c := r.callAt("", open.Start, open)
	if c.closing == len(r.sql) || r.next(c.closing+1).Start != stop {
		return 0
	}
	inside := 0
	if len(c.arguments) > 0 {
		end := c.closing
		if len(c.commas) > 0 {
			end = c.commas[0].Start
		}
		inside = r.depthOf(c.arguments[0], end)
	}
	if open.Is("(") {
		return inside
	}
	return 1 + inside
}

// shapeOf is how many elements each dimension of an array's text has; not valid: not all rows of it have as many.
func shapeOf(text string) (shape []int, valid bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		return nil, true
	}
	var counts, closed []int // of the open arrays, and of the first one closed at each depth
	valid, quoted, some := true, false, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
			some = true
		case c == '"':
			quoted, some = !quoted, true
		case quoted:
		case c == '{':
			valid = valid && !some
			counts, some = append(counts, 0), false
			if len(counts) > len(closed) {
				closed = append(closed, -1)
			}
		case (c == ',' || c == '}') && len(counts) > 0:
			depth := len(counts) - 1
			if some {
				valid = valid && depth == len(closed)-1
				counts[depth]++
			}
			if some = false; c == '}' {
				valid = valid && (depth == 0 || counts[depth] > 0)
				valid = valid && (closed[depth] < 0 || closed[depth] == counts[depth])
				closed[depth], counts = counts[depth], counts[:depth]
				if depth > 0 {
					counts[depth-1]++
				}
			}
		case !strings.ContainsRune(" \t\r\n", rune(c)):
			some = true
		}
	}
	return closed, valid && len(counts) == 0
}

// ragged refuses ARRAY[[1, 2], [3]], and what PostgreSQL reads in another way than DuckDB a list of lists.
func (r *translation) ragged(open lex.Token) {
	c := r.callAt("", open.Start, open)
	elements := -1
	for _, argument := range c.arguments {
		if !argument.Is("[") {
			return
		}
		n := len(r.callAt("", argument.Start, argument).arguments)
		if elements >= 0 && n != elements {
			r.refuse(open, "2202E", "multidimensional arrays must have array expressions with matching dimensions", "")
		}
		elements = n
	}
}

// textName is the macro that gives a value's text as PostgreSQL writes it. Where the value is of a type that both write
// in one way, typing.Translate makes a cast of it again.
const textName = pgcatalog.TranslatedPrefix + "text"

func isText(kind lex.Token) bool { return kind.IsAny("text", "varchar") }

// hasText reports whether an operand's text is the same in any case, or the operand is of the cast's own type.
func hasText(t lex.Token) bool {
	return t.Kind == lex.Parameter || t.Kind == lex.String || t.Kind == lex.Number || t.IsAny("null", "true", "false")
}

func isNumeric(kind lex.Token) bool { return kind.IsAny("numeric", "decimal", "dec") }

var (
	wholeNumber  = regexp.MustCompile(`^\s*[-+]?[0-9]+\s*$`)
	withoutZeros = regexp.MustCompile(`^(\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{2})([-+]\d{2}(?::?\d{2})?|Z)$`)
	isoInterval  = regexp.MustCompile(`^P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?` +
		`(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)
)

var integerNames = map[string]string{
	"smallint": "smallint", "int2": "smallint", "integer": "integer", "int": "integer", "int4": "integer",
	"bigint": "bigint", "int8": "bigint",
}

// floatName is what PostgreSQL calls a type of floats.
func floatName(name string) string {
	if name == "real" || name == "float4" {
		return "real"
	}
	return "double precision"
}

// beyondFloat reports whether a number is written that is too great for a type, or too near to zero.
func beyondFloat(value, name string) bool {
	bits := 64
	if name == "real" {
		bits = 32
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(value), bits)
	digits, _, _ := strings.Cut(strings.ToLower(value), "e")
	return errors.Is(err, strconv.ErrRange) || err == nil && number == 0 && strings.ContainsAny(digits, "123456789")
}

// digitsBehindPoint is how many digits a number has behind its point, as PostgreSQL's numeric keeps them; false: it is
// none, or none that a decimal of 38 digits holds exactly.
func digitsBehindPoint(value string) (int, bool) {
	whole, fraction, ok := literal.Number(value)
	if !strings.ContainsAny(value, "eE") {
		return min(len(fraction), 38), ok
	}
	return len(fraction), ok && len(strings.TrimLeft(whole, "-0"))+len(fraction) <= 38
}

// literal reads a string of which the text says what type it is; alone: without digits. What it gives, if anything, is
// to stand for the type.
func (r *translation) literal(t, kind lex.Token, alone bool) (by string) {
	value, ok := t.Value()
	if !ok {
		return ""
	}
	name, relative := lex.Fold(kind.Text), r.relative(t, kind, value)
	switch {
	case integerNames[name] != "" && alone && !wholeNumber.MatchString(value):
		r.refuse(t, "22P02", "invalid input syntax for type "+integerNames[name]+": "+strconv.Quote(value), "")
	case isNumeric(kind) && alone && !strings.Contains(value, "_"):
		if digits, ok := digitsBehindPoint(value); ok {
			return "DECIMAL(38, " + strconv.Itoa(digits) + ")"
		}
		return "double precision"
	case strings.Contains(value, "_") && (isNumeric(kind) || kind.IsAny(floats...)):
		shown := floatName(name)
		if isNumeric(kind) {
			shown = "numeric"
		}
		r.refuse(t, "22P02", "invalid input syntax for type "+shown+": "+strconv.Quote(value), "")
	case kind.IsAny(floats...) && beyondFloat(value, floatName(name)):
		r.refuse(t, "22003", strconv.Quote(value)+" is out of range for type "+floatName(name), "")
	case relative != "":
		if kind.Start < t.Start && alone { // date 'today'
			r.replace(t.Start, t.End(), "("+relative+" AS "+name+")")
			return "CAST"
		}
		r.replace(t.Start, t.End(), "("+relative+")")
	case name == "timestamp" || name == "timestamptz" || name == "time":
		by := r.microseconds(t, r.zoned(kind, value))
		if m := withoutZeros.FindStringSubmatch(by); m != nil {
			by = m[1] + ":00" + m[2]
		}
		if by != value {
			r.replace(t.Start, t.End(), lex.QuoteString(by))
		}
	case name == "interval":
		if m := isoInterval.FindStringSubmatch(value); m != nil && len(value) > 2 {
			var parts []string
			for i, unit := range []string{"years", "months", "weeks", "days", "hours", "minutes", "seconds"} {
				if m[i+1] != "" {
					parts = append(parts, m[i+1]+" "+unit)
				}
			}
			r.replace(t.Start, t.End(), lex.QuoteString(strings.Join(parts, " ")))
			return ""
		}
		if by := r.microseconds(t, r.fields(t, value)); by != value {
			r.replace(t.Start, t.End(), lex.QuoteString(by))
		}
	}
	return ""
}
