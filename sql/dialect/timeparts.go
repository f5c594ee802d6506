package dialect

import (
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// truncated are the units to which date_trunc goes in another way than DuckDB's.
var truncated = wordSet("decade century millennium")

// timeParts are the fields of EXTRACT and date_part that DuckDB has with another meaning, or of another type, by the
// words for them: the macros csm_extract__… and csm_date_part__… give them.
var timeParts = map[string]string{
	"year": "year", "years": "year", "decade": "decade", "decades": "decade", "century": "century",
	"centuries": "century", "millennium": "millennium", "isoyear": "isoyear", "quarter": "quarter", "month": "month",
	"months": "month", "week": "week", "weeks": "week", "day": "day", "days": "day", "dow": "dow", "isodow": "isodow",
	"doy": "doy", "hour": "hour", "hours": "hour", "minute": "minute", "minutes": "minute", "second": "second",
	"seconds": "second", "millisecond": "milliseconds", "milliseconds": "milliseconds",
	"microsecond": "microseconds", "microseconds": "microseconds", "epoch": "epoch", "julian": "julian",
	"timezone": "timezone", "timezone_hour": "timezone_hour", "timezone_minute": "timezone_minute",
}

// extract writes EXTRACT(year FROM a) as csm_extract__year(a).
func (r *translation) extract(c *call) {
	if len(c.arguments) != 1 {
		return
	}
	field := c.arguments[0]
	from := r.next(field.End())
	if part := timePart(field); part != "" && from.Is("from") {
		r.replace(c.from, from.End(), pgcatalog.TranslatedPrefix+"extract__"+part+"(")
	}
}

// datePart writes date_part('year', a) as csm_date_part__year(a).
func (r *translation) datePart(c *call) {
	by := pgcatalog.TranslatedPrefix + "date_part"
	if c.text(0) && len(c.commas) == 1 {
		if part := timePart(c.arguments[0]); part != "" {
			r.replace(c.from, c.commas[0].End(), by+"__"+part+"(")
			return
		}
	}
	r.replace(c.from, c.open.End(), by+"(")
}

// timePart is the field that a word or a string names.
func timePart(t lex.Token) string {
	name := lex.Fold(t.Text)
	if t.Kind == lex.String {
		value, ok := t.Value()
		if !ok {
			return ""
		}
		name = lex.Fold(value)
	}
	return timeParts[name]
}

// relatives are the words for points in time that depend on when they are read.
var relatives = wordSet("now today tomorrow yesterday")

// today is no name by itself, after which DuckDB would name a column.
const today = "current_date + 0"

// relative is a word for a point in time as an expression of DuckDB's; empty: it is none. Where a text is kept,
// PostgreSQL keeps the time at which that was: it is refused.
//
//	'tomorrow'::date    (current_date + 1)::date
//	timestamp 'now'     CAST (current_localtimestamp() AS timestamp)
func (r *translation) relative(t, kind lex.Token, value string) string {
	if len(value) < len("now") || len(value) > len(" yesterday ") || !kind.IsAny("date", "timestamp", "timestamptz") {
		return ""
	}
	word := strings.ToLower(strings.TrimSpace(value))
	if relatives[word] && r.next(0).IsAny("create", "alter", "prepare") {
		r.refuse(t, "0A000", strconv.Quote(value)+" in a statement whose text is kept is not supported",
			"Write the date, or current_date or now().")
		return ""
	}
	switch word {
	case "now":
		switch {
		case kind.Is("date"):
			return today
		case kind.Is("timestamp") && !r.next(kind.End()).Is("with"):
			return "current_localtimestamp()"
		}
		return "now()"
	case "today":
		return today
	case "tomorrow":
		return "current_date + 1"
	case "yesterday":
		return "current_date - 1"
	}
	return ""
}
