package literal

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Form is how the text of a type's values is written. The zero value is that of types whose text PostgreSQL and DuckDB
// write alike.
type Form struct {
	base base
	list bool
}

type base uint8

const (
	alike base = iota
	bytes
	boolean
	moment // a date, or a timestamp with or without a time zone
	ofDay  // a time, with or without a time zone
	interval
	json
)

// Of is the form of a column's type.
func Of(f arrow.Field) Form {
	switch t := f.Type.(type) {
	case *arrow.MapType:
		return Form{}
	case arrow.ListLikeType:
		return Form{base: Of(t.ElemField()).base, list: true}
	}
	switch name, _ := f.Metadata.GetValue("ARROW:extension:name"); name {
	case "arrow.json":
		return Form{base: json}
	case "arrow.opaque":
		if what, _ := f.Metadata.GetValue("ARROW:extension:metadata"); strings.Contains(what, `"time_tz"`) {
			return Form{base: ofDay}
		}
		return Form{}
	}
	return Form{base: bases[f.Type.ID()]}
}

var bases = map[arrow.Type]base{
	arrow.BINARY: bytes, arrow.LARGE_BINARY: bytes, arrow.BINARY_VIEW: bytes, arrow.BOOL: boolean, arrow.DATE32: moment, arrow.DATE64: moment,
	arrow.TIMESTAMP: moment, arrow.TIME64: ofDay, arrow.INTERVAL_MONTH_DAY_NANO: interval,
}

// Named is the form of a type that a cast names, without its dimensions; list: it has some.
func Named(name string, list bool) Form {
	return Form{base: names[strings.ToLower(name)], list: list}
}

var names = map[string]base{
	"bytea": bytes, "blob": bytes, "bytes": bytes, "binary": bytes, "varbinary": bytes, "bool": boolean, "boolean": boolean, "logical": boolean,
	"date": moment, "timestamp": moment, "timestamptz": moment, "datetime": moment, "timestamp_s": moment, "timestamp_ms": moment,
	"timestamp_us": moment, "timestamp_ns": moment, "interval": interval, "time": ofDay, "timetz": ofDay, "json": json, "jsonb": json,
}

// Translates reports whether there is any text of the form that DuckDB does not read as it stands.
func (f Form) Translates() bool { return f.list || f.base != alike && f.base != json }

// Translate writes text, of a value of the form, for DuckDB.
func (f Form) Translate(text string) (string, error) {
	if f.list {
		return list(text, Form{base: f.base})
	}
	switch f.base {
	case bytes:
		return binary(text)
	case boolean:
		return truth(text), nil
	case moment:
		return iso(beforeChrist(text)), nil
	case ofDay:
		return timeOnly(text), nil
	case interval:
		return unsigned(text), nil
	}
	return text, nil
}

// Suspicious reports whether text may be of a form that translates it, whatever its type is: most is not.
func Suspicious(text string) bool {
	if text == "" {
		return false
	}
	last := text[len(text)-1]
	if strings.IndexByte(blanks, text[0]) >= 0 || strings.IndexByte(blanks, last) >= 0 || last|0x20 == 'c' && len(text) > 2 && text[len(text)-2]|0x20 == 'b' {
		return true
	}
	for i := range len(text) {
		if c := text[i]; c == '\\' || c == '{' || c == '+' || c >= 0x80 {
			return true
		}
	}
	return len(text) < len("false") && truth(text) != text || iso(text) != text || timeOnly(text) != text
}

// Ambiguous reports whether DuckDB would take text for another value than PostgreSQL does, or for none, if it is one of
// bytes, a boolean or a point in time. Six digits are more often a number than a time.
func Ambiguous(text string) bool {
	if strings.HasPrefix(text, `\x`) {
		by, err := binary(text)
		return err != nil || by != text
	}
	return beforeChrist(text) != text || iso(text) != text || strings.Contains(text, ":") && timeOnly(text) != text ||
		isTruth(text) && !truthInDuckDB.MatchString(text)
}

// truthInDuckDB are the words of booleans that DuckDB knows.
var truthInDuckDB = regexp.MustCompile(`^(?i:true|t|yes|y|1|false|f|no|n|0)$`)

// isTruth reports whether text is a boolean.
func isTruth(text string) bool {
	if text == "" || strings.IndexByte("tyonf10TYONF \t\n\r\v\f", text[0]) < 0 { // as most are
		return false
	}
	by := truth(text)
	return by == "true" || by == "false"
}

// Truth reads a boolean; false: it is none.
func Truth(text string) (value, ok bool) { return truth(text) == "true", isTruth(text) }

// Number reads the text of a number as PostgreSQL's numeric does: its digits before the point, with its sign, and behind
// it; an exponent has moved the point.
func Number(text string) (whole, fraction string, ok bool) {
	m := number.FindStringSubmatch(text)
	if m == nil || m[2]+m[3] == "" {
		return "", "", false
	}
	digits, point := m[2]+m[3], len(m[2])
	if m[4] != "" {
		exponent, _ := strconv.Atoi(m[4]) // of up to four digits
		point += exponent
	}
	digits = strings.Repeat("0", max(-point, 0)) + digits
	point = max(point, 0)
	digits += strings.Repeat("0", max(point-len(digits), 0))
	whole, fraction = strings.TrimLeft(digits[:point], "0"), digits[point:]
	return strings.TrimPrefix(m[1], "+") + cmp.Or(whole, "0"), fraction, true
}

var number = regexp.MustCompile(`^\s*([-+]?)([0-9]*)(?:\.([0-9]*))?(?:[eE]([-+]?[0-9]{1,4}))?\s*$`)

const blanks = " \t\n\r\v\f"

// truth takes the words of booleans and their beginnings, as PostgreSQL does.
func truth(text string) string {
	word := strings.ToLower(strings.Trim(text, blanks))
	if word == "" || word == "o" {
		return text
	}
	for _, by := range []struct{ word, value string }{
		{"true", "true"}, {"yes", "true"}, {"on", "true"}, {"1", "true"}, {"false", "false"}, {"no", "false"}, {"off", "false"}, {"0", "false"},
	} {
		if strings.HasPrefix(by.word, word) {
			return by.value
		}
	}
	return text
}

// unsigned takes the plus signs away from an interval's numbers.
func unsigned(text string) string {
	if !strings.Contains(text, "+") {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := range len(text) {
		sign := text[i] == '+' && i+1 < len(text) && text[i+1] >= '0' && text[i+1] <= '9' && (i == 0 || strings.IndexByte(blanks, text[i-1]) >= 0)
		if !sign {
			out = append(out, text[i])
		}
	}
	return string(out)
}

// beforeChrist moves the era behind the year's date, where DuckDB has it in parentheses. Elsewhere it would take it for
// nothing, or for a time zone.
func beforeChrist(text string) string {
	trimmed := strings.TrimRight(text, blanks)
	n := len(trimmed) - len("BC")
	if n < 1 || !strings.EqualFold(trimmed[n:], "bc") {
		return text
	}
	trimmed = strings.Trim(trimmed[:n], blanks)
	stop := 0
	for stop < len(trimmed) && (trimmed[stop] >= '0' && trimmed[stop] <= '9' || trimmed[stop] == '-' || trimmed[stop] == '/') {
		stop++
	}
	if stop < len("1-1-1") {
		return text
	}
	rest := trimmed[stop:]
	if strings.HasPrefix(rest, "T") || strings.HasPrefix(rest, "t") {
		rest = " " + rest[1:]
	}
	return trimmed[:stop] + " (BC)" + rest
}
