package setting

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// DuckDB has settings that say what the text of a query means. They belong to a session, as PostgreSQL's do, and every
// node that runs a part of its query needs them.

// ofDuckDB are those of them that a session may set.
func ofDuckDB() (list []*Setting) {
	add := func(s *Setting) {
		s.Context, s.Category, s.Policy, s.ofDuckDB = "user", "DuckDB", Kept, true
		list = append(list, s)
	}
	truth := func(name, value, short string) { add(&Setting{Name: name, Kind: Bool, Default: value, Short: short}) }
	add(&Setting{
		Name: "calendar", Kind: Enum, Default: "gregorian", Short: "Chooses the calendar of dates that have a time zone.",
		Words: strings.Fields(`buddhist chinese coptic dangi ethiopic ethiopic-amete-alem gregorian hebrew indian islamic
			islamic-civil islamic-rgsa islamic-tbla islamic-umalqura iso8601 japanese persian roc`),
	})
	add(&Setting{
		Name: "default_null_order", Kind: Enum, Default: "nulls_last",
		Words: []string{"nulls_last", "nulls_first", "nulls_first_on_asc_last_on_desc", "nulls_last_on_asc_first_on_desc"},
		Short: "Says where NULLs come when ORDER BY does not.",
	})
	add(&Setting{
		Name: "default_order", Kind: Enum, Default: "asc", Words: []string{"asc", "desc"},
		Short: "Says which way ORDER BY sorts that says neither ASC nor DESC.",
	})
	truth("disable_timestamptz_casts", "off", "Refuses casts between a timestamp with time zone and what has none.")
	truth("ieee_floating_point_ops", "on", "Has a floating-point division by zero give infinity or NaN instead of NULL.")
	truth("integer_division", "off", "Has / of two integers give an integer.")
	add(&Setting{
		Name: "lambda_syntax", Kind: Enum, Default: "default",
		Words: []string{"default", "enable_single_arrow", "disable_single_arrow"},
		Short: "Says whether x -> y is a function.",
	})
	truth("order_by_non_integer_literal", "off", "Lets ORDER BY have constants that are no positions.")
	truth("scalar_subquery_error_on_multiple_rows", "on", "Has a sub-query that stands for a value and gives rows fail.")
	return list
}

// meanings are the names of ofDuckDB, in order.
var meanings = func() (names []string) {
	for _, s := range ofDuckDB() {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	return names
}()

// Meaning distinguishes the values by which the same text means different things to DuckDB; of the defaults it is
// empty.
func Meaning(values map[string]string) string {
	out := ""
	for _, name := range meanings {
		if value, ok := values[name]; ok && value != Find(name).Default {
			out += name + "=" + value + "\x00"
		}
	}
	return out
}

// Changed is the name of one of them that is not what it is by default, or empty.
func Changed(values map[string]string) string {
	name, _, _ := strings.Cut(Meaning(values), "=")
	return name
}

// CopyMeaning puts those of the values that Meaning distinguishes into to.
func CopyMeaning(to, values map[string]string) {
	for _, name := range meanings {
		if value, ok := values[name]; ok {
			to[name] = value
		}
	}
}

// ReadMeaning is CopyMeaning of values that come from outside, and may be of none of a setting's: those that are not
// there become the defaults.
func ReadMeaning(to, values map[string]string) error {
	read := map[string]string{}
	for _, name := range meanings {
		s := Find(name)
		value, ok := values[name]
		if !ok {
			read[name] = s.Default
			continue
		}
		value, err := s.ReadText(Values{}, value)
		if err != nil {
			return err
		}
		read[name] = value
	}
	maps.Copy(to, read)
	return nil
}

// SetStatements returns the SET statements that take DuckDB from the values before to those now; empty: there are none.
func SetStatements(before, now map[string]string) string {
	var b strings.Builder
	for _, name := range meanings {
		s := Find(name)
		if is := s.in(now); is != s.in(before) {
			if s.Kind == Bool {
				is = strconv.FormatBool(is == "on") // DuckDB knows no other words
			}
			b.WriteString("SET SESSION " + name + " = " + lex.QuoteString(is) + ";")
		}
	}
	return b.String()
}

func (s *Setting) in(values map[string]string) string {
	if value, ok := values[s.Name]; ok {
		return value
	}
	return s.Default
}
