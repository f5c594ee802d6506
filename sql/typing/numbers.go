package typing

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// A string beside a number is of the number's type in PostgreSQL, and an error if it is none of that type. DuckDB rounds
// it to the column's digits, and does not compute with it:
//
//	count(*) = '3.5'        invalid input syntax for type bigint
//	n = '0.25001'           n = 0.25001
//	coalesce(n, '-0.555')   coalesce(n, (-0.555))
//	i + '1'                 i + '1'::integer
//	n = ANY ('{0.5,1}')     n = ANY (ARRAY[0.5,1])

// numbers writes the strings of several expressions that have one type; computed: something is computed of them.
func (w *translation) numbers(list []*pg.Node, computed bool) {
	var others []*pg.Node
	some := false
	for _, x := range list {
		switch {
		case x.GetAConst().GetSval() != nil:
			some = true
		case x.GetParamRef() == nil:
			others = append(others, x)
		}
	}
	if !some || len(others) == 0 {
		return
	}
	t := w.unified(others)
	for _, x := range list {
		if arrays[t] {
			w.arrayLiteral(x, t)
			continue
		}
		if by := w.number(x, t, computed); by != "" {
			w.replaceString(x.GetAConst(), by)
		}
	}
}

// divisor is what stands behind %, which the dialect wraps.
func divisor(x *pg.Node) *pg.Node {
	if f := x.GetFuncCall(); f != nil && len(f.Args) == 1 && tree.LastText(f.Funcname) == pgcatalog.TranslatedPrefix+"divisor" {
		return f.Args[0]
	}
	return x
}

// replaceString writes something in the place of a string.
func (w *translation) replaceString(c *pg.A_Const, by string) {
	if t := lex.Client.Next(w.sql, int(c.Location)); t.Kind == lex.String {
		w.edits = append(w.edits, change{t.Start, t.End(), by, len(w.edits)})
	}
}

// number is how a string is written that is of a type of numbers; empty: as it is, or x is no string. It notes an error
// if it is none of that type.
func (w *translation) number(x *pg.Node, t uint32, computed bool) (by string) {
	c := x.GetAConst()
	if c.GetSval() == nil {
		return ""
	}
	by, err := NumberOf(c.GetSval().Sval, t)
	if err != nil {
		err.At = edit.Position(w.sql, int(c.Location))
		w.refused = cmp.Or[error](w.refused, err)
		return ""
	}
	if by == "" && computed && isNumber(t) && t != unknownType {
		by = lex.QuoteString(c.GetSval().Sval) + "::" + shownNames[t]
	}
	return by
}

// NumberOf is how a string is written that is of a type of numbers, by its pg_type.oid; empty: as it is. Of a whole
// number, a numeric or a boolean it is an error if it is none (22P02), or has no room (22003; 0A000 of a numeric, which
// has 38 digits here).
func NumberOf(text string, t uint32) (by string, failed *sqlerror.Error) {
	plain := strings.TrimSpace(text)
	switch t {
	case booleanType: // how it is written is dialect.Untyped's
		if _, ok := literal.Truth(text); !ok {
			return "", sqlerror.New("22P02", "invalid input syntax for type boolean: %q", text)
		}
	case smallType, integerType, bigintType:
		if !wholeString.MatchString(plain) {
			return "", sqlerror.New("22P02", "invalid input syntax for type %s: %q", shownNames[t], text)
		}
		if _, err := strconv.ParseInt(plain, 10, wholeBits[t]); err != nil {
			return "", sqlerror.New("22003", "value %q is out of range for type %s", text, shownNames[t])
		}
	case numericType:
		whole, fraction, ok := literal.Number(plain)
		switch {
		case !ok && !noNumber.MatchString(plain):
			return "", sqlerror.New("22P02", "invalid input syntax for type numeric: %q", text)
		case !ok:
			return "", nil
		case len(strings.TrimLeft(whole, "-0"))+len(fraction) > decimalMost: // DuckDB would round it
			return "", sqlerror.New("0A000", "a numeric of more than %d digits is not supported: %q", decimalMost, text)
		}
		by = whole
		if fraction != "" {
			by += "." + fraction
		}
		if strings.HasPrefix(by, "-") { // behind an operator two of them would begin a comment
			by = "(" + by + ")"
		}
	}
	return by, nil
}

var (
	wholeBits   = map[uint32]int{smallType: 16, integerType: 32, bigintType: 64}
	wholeString = regexp.MustCompile(`^[-+]?[0-9]+$`)
	noNumber    = regexp.MustCompile(`(?i)^(nan|[-+]?inf(inity)?)$`)
)

// numberArray writes a string that is compared with the elements of an array, and one whose elements are: '{0.5,1}'.
// Whole numbers among which one is looked for stay as they are, for the dialect makes an IN of them.
func (w *translation) numberArray(e *pg.A_Expr) {
	if by := w.number(e.Lexpr, elementsOf[w.of(e.Rexpr)], false); by != "" {
		w.replaceString(e.Lexpr.GetAConst(), by)
	}
	c, t := e.Rexpr.GetAConst(), w.of(e.Lexpr)
	m := flatArray.FindStringSubmatch(c.GetSval().GetSval())
	if m == nil || shownNames[t] == "" || isFloat(t) || t == booleanType {
		return
	}
	elements := strings.Split(m[1], ",")
	if strings.TrimSpace(m[1]) == "" {
		elements = nil
	}
	for i, element := range elements {
		if elements[i] = strings.TrimSpace(element); strings.EqualFold(elements[i], "null") {
			continue
		}
		by, err := NumberOf(elements[i], t)
		if err != nil {
			err.At = edit.Position(w.sql, int(c.Location))
			w.refused = cmp.Or[error](w.refused, err)
			return
		}
		if by == "" && t == numericType {
			return
		}
		elements[i] = cmp.Or(by, elements[i])
	}
	op := tree.LastText(e.Name)
	isIn := e.Kind == pg.A_Expr_Kind_AEXPR_OP_ANY && op == "=" || e.Kind == pg.A_Expr_Kind_AEXPR_OP_ALL && op == "<>"
	switch {
	case len(elements) == 0 && !isIn:
		w.replaceString(c, "ARRAY[]::"+shownNames[t]+"[]")
	case len(elements) > 0 && (!isIn || t == numericType):
		w.replaceString(c, "ARRAY["+strings.Join(elements, ",")+"]")
	}
}

// flatArray is the text of an array of one dimension whose elements are not quoted.
var flatArray = regexp.MustCompile(`^\s*\{([^{}"\\]*)\}\s*$`)

// mayBeRounded reports whether a string may be a number that is not whole, or that only DuckDB reads as a whole one, or
// the text of an array of some.
func mayBeRounded(text string) bool {
	return text != "" && (roundedString.MatchString(text) || text[0] == '{' && roundedElement.MatchString(text))
}

// roundedString begins as a number does, and is neither a date nor a time.
var (
	roundedString  = regexp.MustCompile(`^\s*[-+]?(\.[0-9]|[0-9]+[._eExX])`)
	roundedElement = regexp.MustCompile(`[{,]\s*[-+]?(\.[0-9]|[0-9]+[._eExX])`)
)
