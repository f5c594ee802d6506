package statement

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// ValueKind says what one value of a VALUES list is, as far as the text shows it.
type ValueKind uint8

const (
	ExpressionValue ValueKind = iota // anything but the others
	NullValue
	DefaultValueWord // DEFAULT
	BooleanValue     // TRUE, FALSE
	IntegerValue     // digits, with a sign or without
	DecimalValue     // digits with a point
	FloatValue       // a number with an exponent, or in another notation
	TextValue        // a string
	ParameterValue   // $1
)

// Value is one of a VALUES list.
type Value struct {
	Start, End int // its text, in bytes
	Row        int // from 0
	Column     int // from 0
	Kind       ValueKind
	// Whole and Fraction are the digits of a number before and behind the point.
	Whole, Fraction int
	// Text is a string's value.
	Text string
}

// Values visits the values of VALUES (…), (…), of which sql consists, in order, until visit says false. It goes by the
// tokens and not by a tree, for statements that load tables are long. ok is false if sql is anything else, or has more
// behind the last row, and if not all were visited.
func Values(sql string, visit func(*Value) bool) (ok bool) {
	return valuesOf(lex.Client.Text(sql), visit)
}

// Values visits those of the query without With, as the function does.
func (i *Insert) Values(visit func(*Value) bool) (ok bool) {
	list := i.Query[len(i.With):]
	if i.read == nil {
		return Values(list, visit)
	}
	return valuesOf(i.read.Part(i.at, i.at+len(list)), visit)
}

func valuesOf(read *lex.Text, visit func(*Value) bool) (ok bool) {
	c := &cursor{sql: read.SQL, read: read}
	if !c.accept("values") {
		return false
	}
	for row := 0; ; row++ {
		if !c.accept("(") {
			return false
		}
		for column := 0; ; column++ {
			v := c.readValue()
			if v.End <= v.Start {
				return false
			}
			if v.Row, v.Column = row, column; !visit(&v) {
				return false
			}
			if !c.accept(",") {
				break
			}
		}
		if !c.accept(")") {
			return false
		}
		if !c.accept(",") {
			return c.done()
		}
	}
}

// readValue reads up to the comma or parenthesis behind a value.
func (c *cursor) readValue() Value {
	first := c.peek(0)
	v := Value{Start: first.Start}
	if !isEnd(first) && !first.Is("(") && isEnd(c.peek(1)) { // as most are
		v.End = c.next().End()
		v.classify(first)
		return v
	}
	tokens := 0
	for !c.done() && !isEnd(c.peek(0)) {
		c.skip()
		tokens++
	}
	v.End = c.last
	if first.Is("(") && tokens == 1 {
		v.classifyGroup(c.sql[first.End() : c.last-1])
		return v
	}
	signed := first.Is("-") || first.Is("+")
	switch {
	case tokens == 1:
		v.classify(first)
	case tokens == 2 && signed:
		if t := c.read.Next(first.End()); t.Kind == lex.Number {
			v.classify(t)
		}
	}
	return v
}

// classifyGroup looks into (value).
func (v *Value) classifyGroup(inside string) {
	c := newCursor(inside)
	inner := c.readValue()
	if c.done() && inner.Kind != DefaultValueWord && inner.End > inner.Start {
		v.Kind, v.Whole, v.Fraction, v.Text = inner.Kind, inner.Whole, inner.Fraction, inner.Text
	}
}

func (v *Value) classify(t lex.Token) {
	switch t.Kind {
	case lex.Word:
		switch {
		case t.Is("null"):
			v.Kind = NullValue
		case t.Is("default"):
			v.Kind = DefaultValueWord
		case t.Is("true"), t.Is("false"):
			v.Kind = BooleanValue
		}
	case lex.Parameter:
		v.Kind = ParameterValue
	case lex.String:
		if value, ok := t.Value(); ok {
			v.Kind, v.Text = TextValue, value
		}
	case lex.Number:
		v.classifyNumber(t.Text)
	}
}

// classifyNumber counts the digits; those in front that are zeros count, too.
func (v *Value) classifyNumber(digits string) {
	whole, fraction, point := strings.Cut(digits, ".")
	switch {
	case !lex.OnlyDigits(whole) || !lex.OnlyDigits(fraction):
		v.Kind = FloatValue
	case point:
		v.Kind, v.Whole, v.Fraction = DecimalValue, len(whole), len(fraction)
	default:
		v.Kind, v.Whole = IntegerValue, len(whole)
	}
}
