package notation

import (
	"cmp"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// PostgreSQL's lexer knows spellings of constants and names that DuckDB's reads as something else, or not at all: 0x1F
// is 0 AS x1F there, B'101' the string b101, U&"a" cannot be found. They are written in the spelling that both have,
// once, before anything else reads the text, so that no reader of it needs to know them.

// Plain is a text with such constants and names in plain spelling, and what was replaced, in order. Errors: a bit
// string with other digits (22P02), a number that DuckDB would take for infinity, for nothing, or for another integer
// (22003), a sample of more than all (2202H).
//
//	0x1F, 0o17, 0b101, 1_000    31, 15, 5, 1000
//	B'101', X'1F'               CAST('101' AS BITSTRING), CAST('00011111' AS BITSTRING)
//	U&'d\0061ta', E'd\x61ta'    'data'
//	U&"d!0061ta" UESCAPE '!'    "data"
//	SELECT at FROM show         SELECT "at" FROM "show"
//	TABLESAMPLE SYSTEM (10)     TABLESAMPLE SYSTEM (10 PERCENT)
//	a::_int4, CAST(a AS _text)  a::int4[], CAST(a AS text[])
//
// What is none of them, 0xZZ, stays as it is for Junk to say.
func Plain(read *lex.Text) (string, edit.List, error) {
	sql := read.SQL
	names, samples := remarkableWords(read)
	if names == nil && !samples && !mayBeSpelled(sql) {
		return sql, nil, nil
	}
	plain, percent, arrays := edit.New(sql), -1, arrayTypes{}
	for t := range read.Tokens() {
		stop := t.End()
		by, ok, err := "", false, error(nil)
		switch t.Kind {
		case lex.Number:
			if by, ok = Digits(t.Text); goesOn(sql, t) { // 0x1F.5 is not 31.5
				ok = false
			} else if !holds(cmp.Or(by, t.Text)) {
				err = outOfRange(sql, t)
			}
			if value, _ := strconv.ParseFloat(cmp.Or(by, t.Text), 64); stop == percent && value > 100 {
				err = &sqlerror.Error{State: "2202H", Message: "sample percentage must be between 0 and 100", At: edit.Position(sql, t.Start)}
			}
		case lex.String, lex.Quoted:
			by, stop, ok, err = plainString(read, t)
		case lex.Word:
			if ok = len(names) > 0 && names[0].Start == t.Start; ok {
				by, names = `"`+lex.Fold(t.Text)+`"`, names[1:]
			} else if t.Is("tablesample") {
				percent = sampleEnd(read, stop)
			}
		}
		if array := arrays.spelled(t); array != "" {
			by, ok = array, true
		}
		if err != nil {
			return "", nil, err
		}
		if ok && (t.Start == 0 || !belongs(sql[t.Start-1])) {
			plain.Replace(t.Start, stop, by)
		}
		if stop == percent {
			plain.Replace(stop, stop, " PERCENT")
		}
	}
	text, made := plain.Text()
	return text, made, nil
}

// belongs reports whether a quote or a digit right behind the byte might be read as part of the same token.
func belongs(c byte) bool {
	return c == '\'' || c == '"' || c == '$' || lex.IsLetter(c) || lex.IsDigit(c)
}

// mayBeSpelled is a cheap check, which is false for most texts: it finds 0x, 1_, E', B', X', U&, 1e100 and long numbers
// where a token may begin, or within a string.
func mayBeSpelled(sql string) bool {
	run := 0 // of digits
	for i := range len(sql) {
		c, found := sql[i], false
		if lex.IsDigit(c) {
			if run++; run <= integerDigits {
				continue
			}
			return true
		}
		number := run > 0
		run = 0
		switch c {
		case '_':
			found = number || i > 0 && strings.IndexByte(": \"\t\n", sql[i-1]) >= 0
		case 'x', 'X', 'o', 'O', 'b', 'B':
			found = number
		case 'e', 'E':
			found = (number || i > 0 && sql[i-1] == '.') && longExponent(sql[i+1:])
		case '\'':
			found = i > 0 && strings.IndexByte("eEbBxX", sql[i-1]) >= 0 && (i == 1 || !lex.IsLetter(sql[i-2]) && !lex.IsDigit(sql[i-2]))
		case '&':
			found = i > 0 && sql[i-1]|0x20 == 'u' && i+1 < len(sql) && (sql[i+1] == '\'' || sql[i+1] == '"')
		}
		if found {
			return true
		}
	}
	return false
}

// longExponent reports whether an exponent has more than two digits.
func longExponent(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return len(s) > 2 && lex.IsDigit(s[0]) && (lex.IsDigit(s[1]) || s[1] == '_') && (lex.IsDigit(s[2]) || s[2] == '_')
}

// integerDigits are those of every integer that DuckDB has, some more have one more.
const integerDigits = 38

// integersEnd is 2¹²⁸, before which DuckDB's integers end.
var integersEnd = new(big.Int).Lsh(big.NewInt(1), 128)

// holds reports whether DuckDB has the number: as an integer, or near it as a double.
func holds(number string) bool {
	if len(number) <= integerDigits && !strings.ContainsAny(number, "eE") {
		return true
	}
	if lex.OnlyDigits(number) {
		value, ok := new(big.Int).SetString(number, 10)
		return !ok || value.Cmp(integersEnd) < 0
	}
	if !wellFormed.MatchString(number) {
		return true // Parse says what it is
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return false
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(number), "e")
	return value != 0 || strings.Trim(mantissa, "0.") == ""
}

func outOfRange(sql string, t lex.Token) error {
	written := t.Text
	if len(written) > 2*integerDigits {
		written = written[:integerDigits] + "…"
	}
	e := &sqlerror.Error{State: "22003", Message: `number "` + written + `" is out of range`, At: edit.Position(sql, t.Start),
		HintText: "Numbers with an exponent are double precision here: from 1e-308 to 1e308."}
	if plain, _ := Digits(t.Text); lex.OnlyDigits(cmp.Or(plain, t.Text)) {
		e.HintText = "Integers have up to 38 digits. Write it with an exponent, as 1.5e40, if double precision is meant."
	}
	return e
}

// wellFormed is PostgreSQL's grammar of numbers.
var wellFormed = func() *regexp.Regexp {
	const digits = `[0-9](?:_?[0-9])*`
	return regexp.MustCompile(`^(?:0[xX](?:_?[0-9A-Fa-f])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+|(?:` + digits + `(?:\.(?:` + digits + `)?)?|\.` + digits +
		`)(?:[eE][-+]?` + digits + `)?)$`)
}()

// baseOf is what an integer's prefix says; 0: it has none.
func baseOf(number string) int {
	if len(number) < 3 || number[0] != '0' {
		return 0
	}
	return map[byte]int{'x': 16, 'o': 8, 'b': 2}[number[1]|0x20]
}

// Digits is a number in decimal digits, without underscores, if it is written otherwise.
func Digits(number string) (string, bool) {
	base := baseOf(number)
	if base == 0 && strings.IndexByte(number, '_') < 0 || !wellFormed.MatchString(number) {
		return "", false
	}
	plain := strings.ReplaceAll(number, "_", "")
	if base == 0 {
		return plain, true
	}
	value, ok := new(big.Int).SetString(plain[2:], base)
	if !ok {
		return "", false
	}
	return value.String(), true
}

// plainString is what stands for a string or a quoted name, and where that ends: UESCAPE stands behind it.
func plainString(read *lex.Text, t lex.Token) (by string, stop int, ok bool, err error) {
	stop = t.End()
	switch t.Text[0] | 0x20 {
	case 'e':
		if strings.IndexByte(t.Text, '\\') < 0 {
			return "", stop, false, nil // DuckDB knows few of the escapes, and no character of several \x
		}
		value, ok := t.Value()
		return lex.QuoteString(value), stop, ok, nil
	case 'u':
		escape, after, ok := escapeBehind(read, stop)
		if !ok {
			return "", stop, false, nil
		}
		value, ok := t.Unescape(escape)
		if t.Kind == lex.Quoted {
			return lex.Quote(value), after, ok && value != "", nil
		}
		return lex.QuoteString(value), after, ok, nil
	case 'b', 'x':
		bits, err := bitDigits(read.SQL, t)
		return "CAST('" + bits + "' AS BITSTRING)", stop, true, err
	}
	return "", stop, false, nil
}

// escapeBehind is the character that UESCAPE behind a string names, and where that ends; not ok: it cannot be one.
func escapeBehind(read *lex.Text, at int) (escape byte, stop int, ok bool) {
	word := read.Next(at)
	if !word.Is("uescape") {
		return '\\', at, true
	}
	t := read.Next(word.End())
	if t.Kind != lex.String || t.Text[0] != '\'' {
		return 0, at, false
	}
	named := t.Body()
	if len(named) != 1 || strings.Contains("0123456789abcdefABCDEF+'\" \t\n\v\f\r", named) {
		return 0, at, false
	}
	return named[0], t.End(), true
}

// bitDigits are the bits of B'…' or X'…', of any number of lines.
func bitDigits(sql string, t lex.Token) (string, error) {
	kind, base := "binary", 2
	if t.Text[0]|0x20 == 'x' {
		kind, base = "hexadecimal", 16
	}
	var bits strings.Builder
	for _, digit := range t.Body() {
		value, ok := new(big.Int).SetString(string(digit), base)
		if !ok || digit == '_' {
			return "", &sqlerror.Error{State: "22P02", Message: `"` + string(digit) + `" is not a valid ` + kind + " digit", At: edit.Position(sql, t.Start)}
		}
		for bit := base / 2; bit > 0; bit /= 2 {
			bits.WriteByte('0' + byte(value.Int64())/byte(bit)%2)
		}
	}
	return bits.String(), nil
}

// Junk is the error of the first number or parameter that goes on as a name, which DuckDB would take for a number and
// its alias, and of a name with escapes that mean nothing; nil: there is none. PostgreSQL's parser has read the numbers
// and names of a text that it understands.
func Junk(read *lex.Text, understood bool) *sqlerror.Error {
	sql := read.SQL
	if understood && strings.IndexByte(sql, '$') < 0 {
		return nil
	}
	for t := range read.Tokens() {
		what := ""
		switch {
		case t.Kind == lex.Number && !understood && (goesOn(sql, t) || !lex.OnlyDigits(t.Text) && !wellFormed.MatchString(t.Text)):
			what = "numeric literal"
		case t.Kind == lex.Parameter && goesOn(sql, t):
			what = "parameter"
		case t.Kind == lex.Quoted && t.Text[0] != '"' && !understood:
			return &sqlerror.Error{State: "42601", Message: "invalid Unicode escape in " + t.Text, At: edit.Position(sql, t.Start)}
		default:
			continue
		}
		stop := t.End()
		if goesOn(sql, t) {
			stop = lex.Client.WordEnd(sql, stop+1)
		}
		return &sqlerror.Error{State: "42601", Message: "trailing junk after " + what + ` at or near "` + sql[t.Start:stop] + `"`, At: edit.Position(sql, t.Start)}
	}
	return nil
}

// goesOn reports whether a letter stands right behind a number or a parameter, or a point behind a number that can have
// none.
func goesOn(sql string, t lex.Token) bool {
	at := t.End()
	if at == len(sql) {
		return false
	}
	return lex.IsLetter(sql[at]) && lex.Client.WordEnd(sql, at) > at || sql[at] == '.' && baseOf(t.Text) > 0
}
