package dialect

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/literal"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// A parameter that is cast to a numeric without digits gets its type before its value is known:
//
//	$1::numeric      csm_numeric__parameter($1::DECIMAL(38, 9))
//	$1::numeric[]    csm_numeric__parameter($1::DECIMAL(38, 9)[])
//
// The macro is its argument. It tells these casts from those that a user wrote with digits, so that values are refused
// which would be rounded, and EXECUTE, which knows the values, leaves each its digits.

// NumericParameterScale is how many digits behind the point such a parameter has. The product of two has 20 digits
// before the point.
const NumericParameterScale = 9

const numericParameterName = numericName + "__parameter"

var numericParameterType = fmt.Sprintf("::DECIMAL(%d, %d)", digitsOfDecimal, NumericParameterScale)

// openParameter is such a cast, as translation.cast and castTo write it.
var openParameter = regexp.MustCompile(regexp.QuoteMeta(numericParameterName) +
	`\(\s*\$([0-9]+)\s*` + regexp.QuoteMeta(numericParameterType) + `((?:\s*\[\s*\])*)\s*\)`)

// isOpenNumeric reports whether a type that ends at an offset is numeric or numeric[], without digits.
func (r *translation) isOpenNumeric(kind lex.Token, end int) bool {
	return isNumeric(kind) && strings.Trim(r.sql[kind.End():end], "[] ") == ""
}

// openParameters are the numbers of the parameters that a text casts to numerics without digits.
func openParameters(text string) map[int]bool {
	if !strings.Contains(text, numericParameterName) {
		return nil
	}
	found := map[int]bool{}
	for _, m := range openParameter.FindAllStringSubmatch(text, -1) {
		number, _ := strconv.Atoi(m[1])
		found[number] = true
	}
	return found
}

// exactNumerics are the values of a text's parameters, of which those that are cast to numerics without digits are
// numerics: a double precision has fifteen digits then, as in PostgreSQL, a real six. What has too many digits behind
// the point is an error.
func exactNumerics(text string, args []any) error {
	for number := range openParameters(text) {
		if number > len(args) {
			continue
		}
		text := numericText(args[number-1])
		if err := fits(number, text); err != nil {
			return err
		}
		if whole, fraction, ok := literal.Number(text); ok && isFloat(args[number-1]) {
			args[number-1] = duckdb.Decimal(joined(whole, strings.TrimRight(fraction, "0")))
		}
	}
	return nil
}

// fits refuses numbers, or the text of an array with some, of more digits behind the point than the parameter has.
func fits(number int, text string) error {
	for _, element := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(`{}[],"`, c) }) {
		_, fraction, _ := literal.Number(element)
		if len(strings.TrimRight(fraction, "0")) > NumericParameterScale {
			return sqlerror.New("22003", "parameter $%d has more than %d digits after the point", number, NumericParameterScale).
				WithHint(fmt.Sprintf("Cast it in the statement to the type that is meant, for example $%d::numeric(38, 18).", number))
		}
	}
	return nil
}

func isFloat(value any) bool {
	switch value.(type) {
	case float32, float64:
		return true
	}
	return false
}

// numericText is the text of a number, as PostgreSQL makes a numeric of it; empty: it is none.
func numericText(value any) string {
	switch x := value.(type) {
	case float64:
		return strconv.FormatFloat(x, 'g', 15, 64)
	case float32:
		return strconv.FormatFloat(float64(x), 'g', 6, 32)
	case duckdb.Decimal:
		return string(x)
	case string:
		return x
	}
	return ""
}

func joined(whole, fraction string) string {
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

// WithNumerics writes the casts of parameters to numerics without digits for values that are known, as SQL: each has
// the digits of its value.
func WithNumerics(text string, values []string) (string, error) {
	if !strings.Contains(text, numericParameterName) {
		return text, nil
	}
	var refused error
	text = openParameter.ReplaceAllStringFunc(text, func(cast string) string {
		m := openParameter.FindStringSubmatch(cast)
		number, _ := strconv.Atoi(m[1])
		if number > len(values) {
			return cast
		}
		value, dimensions := values[number-1], strings.Count(m[2], "[")
		if dimensions > 0 {
			if dimensions <= len(numericArrays) && strings.HasSuffix(value, "[])") {
				return numericArrays[dimensions-1] + "($" + m[1] + ")"
			}
			if m := valueCast.FindStringSubmatch(value); m != nil {
				refused = cmp.Or(refused, fits(number, m[1]))
			}
			return cast
		}
		by, err := numericConstant(value)
		refused = cmp.Or(refused, err)
		return cmp.Or(by, cast)
	})
	return text, refused
}

// valueCast is a constant by itself, in parentheses, or the operand of a cast.
var valueCast = regexp.MustCompile(`^(?:CAST\()?\(?(?:'([^']*)'|([-+]?[0-9.][-+0-9.eE]*))\)?(?: AS ([^)]*(?:\([0-9, ]*\))?)\))?$`)

// numericConstant is a constant as a numeric; empty: it is none, or NULL.
func numericConstant(value string) (string, error) {
	m := valueCast.FindStringSubmatch(value)
	if m == nil {
		return "", nil
	}
	text := m[1] + m[2]
	switch m[3] {
	case "DOUBLE":
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			text = numericText(f)
		}
	case "FLOAT":
		if f, err := strconv.ParseFloat(text, 32); err == nil {
			text = numericText(float32(f))
		}
	}
	whole, fraction, ok := literal.Number(text)
	switch digits := len(strings.TrimLeft(whole, "-0")) + len(fraction); {
	case !ok:
		return "", nil
	case digits > digitsOfDecimal:
		return "", sqlerror.New("0A000", "a numeric of more than %d digits is not supported: %q", digitsOfDecimal, text)
	}
	return fmt.Sprintf("'%s'::DECIMAL(%d, %d)", joined(whole, fraction), digitsOfDecimal, len(fraction)), nil
}
