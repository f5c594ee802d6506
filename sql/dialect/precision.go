package dialect

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// isTimes reports whether a type's first word is that of a time or an interval.
func isTimes(kind lex.Token) bool { return kind.IsAny("timestamp", "timestamptz", "time", "interval") }

// floats are the names of types with a floating point.
var floats = []string{"real", "float4", "float8", "float", "double"}

// precision reads timestamp(n), time(n), interval(n), bit(n) and the like, and gives the macro that casts to it, and
// where the type ends. bit alone is bit(1); of the others, what has no n is DuckDB's.
func (r *translation) precision(kind lex.Token) (name, n string, end int) {
	name, end = lex.Fold(kind.Text), kind.End()
	if varying := r.next(end); name == "bit" && varying.Is("varying") {
		name, end = "varbit", varying.End()
	}
	open := r.next(end)
	digits := r.next(open.End())
	closing := r.next(digits.End())
	switch {
	case open.Is("(") && digits.Kind == lex.Number && wholeNumber.MatchString(digits.Text) && closing.Is(")"):
		n, end = digits.Text, closing.End()
	case name == "bit" && !open.Is("("):
		n = "1"
	default:
		return "", "", end
	}
	with := r.next(end)
	if (name == "timestamp" || name == "time") && with.IsAny("with", "without") && r.next(with.End()).Is("time") {
		zone := r.next(r.next(with.End()).End())
		if end = zone.End(); with.Is("with") && name == "time" {
			return "", "", end
		} else if with.Is("with") {
			name = "timestamptz"
		}
	}
	return pgcatalog.TranslatedPrefix + name, n, end
}

// mayCut reports whether a string stands behind a type that has a length.
func (r *translation) mayCut(kind lex.Token) bool {
	name, _, end := r.cuts(kind)
	return name != "" && r.next(end).Kind == lex.String
}

// typedString reads timestamp(3) '…', from its type on.
func (r *translation) typedString(kind lex.Token) (end int) {
	name, n, end := r.cuts(kind)
	text := r.next(end)
	if isTimes(kind) {
		r.literal(text, kind, false)
	}
	r.replace(kind.Start, text.Start, name+"(")
	r.insert(text.End(), ", "+n+")", closes)
	return text.End()
}

// longFraction matches a fraction of seconds with more digits than are kept, at the end of a time, or before what
// stands behind it.
var longFraction = regexp.MustCompile(`(:\d{1,2}|^\s*[-+@]?\s*\d+|\s[-+]?\d+)\.(\d{7,})` +
	`(\s*(?:(?:s|secs?|seconds?)\b.*|[-+Zz].*|ago)?)$`)

// microseconds rounds what is behind the point of seconds to six digits, as PostgreSQL does; DuckDB cuts.
func (r *translation) microseconds(t lex.Token, value string) string {
	m := longFraction.FindStringSubmatchIndex(value)
	if m == nil {
		return value
	}
	fraction, _ := strconv.ParseFloat("0."+value[m[4]:m[5]], 64)
	rounded := int(math.RoundToEven(fraction * 1e6))
	if rounded == 1e6 {
		r.refuse(t, "0A000", "a fraction that is rounded to a second is not supported: "+strconv.Quote(value),
			"Write six digits behind the point.")
	}
	digits := strconv.Itoa(1e6 + rounded)[1:]
	return value[:m[4]] + digits + value[m[5]:]
}

// zonedTime is a time with the name of a zone behind it.
var zonedTime = regexp.MustCompile(`^(\d{4}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{2})(:\d{2}(?:\.\d+)?)?` +
	`\s+([A-Za-z][A-Za-z/_]*)$`)

// zoned writes the name of a zone behind a time as hours east of Greenwich, or as DuckDB reads one; timestamp without
// time zone takes no notice of it.
func (r *translation) zoned(kind lex.Token, value string) string {
	m := zonedTime.FindStringSubmatch(value)
	if m == nil || kind.Is("time") {
		return value
	}
	by := zoneOf(m[3])
	if by == "" && !strings.Contains(m[3], "/") {
		return value
	}
	if m[2] == "" {
		m[2] = ":00"
	}
	behind := r.next(kind.End())
	if behind.Is("(") {
		behind = r.next(r.next(r.next(behind.End()).End()).End())
	}
	switch {
	case kind.Is("timestamp") && !behind.Is("with"):
		return m[1] + m[2]
	case by == "":
		return m[1] + m[2] + " " + m[3]
	case by == "UTC":
		return m[1] + m[2] + "+00"
	}
	hours, _ := strconv.Atoi(strings.TrimPrefix(by, "Etc/GMT"))
	sign := "+"
	if hours > 0 {
		sign = "-"
	}
	return m[1] + m[2] + sign + strconv.Itoa(100 + max(hours, -hours))[1:]
}

var (
	yearsMonths = regexp.MustCompile(`^\s*([-+]?)(\d+)-(\d+)(?:\s+(.*))?$`)
	daysTime    = regexp.MustCompile(`^\s*([-+]?\d+)\s+([-+]?)(\d+):(\d+)(?::(\d+(?:\.\d+)?))?\s*$`)
)

// fields writes '1-2', years and months, and '3 4:05:06', days and a time, in words.
func (r *translation) fields(t lex.Token, value string) string {
	var years string
	rest := value
	if m := yearsMonths.FindStringSubmatch(value); m != nil {
		if months, _ := strconv.Atoi(m[3]); months > 11 || len(m[3]) > 2 {
			r.refuse(t, "22015", "interval field value out of range: "+strconv.Quote(value), "")
		}
		sign := strings.TrimPrefix(m[1], "+")
		years, rest = sign+m[2]+" years "+sign+m[3]+" months", m[4]
	}
	if m := daysTime.FindStringSubmatch(rest); m != nil {
		sign := strings.TrimPrefix(m[2], "+")
		rest = strings.TrimPrefix(m[1], "+") + " days " + sign + m[3] + " hours " + sign + m[4] + " minutes"
		if m[5] != "" {
			rest += " " + sign + m[5] + " seconds"
		}
	} else if years != "" && rest != "" {
		return value
	}
	return strings.TrimSpace(years + " " + rest)
}
