package dialect

import (
	"regexp"
	"sort"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

// PostgreSQL's to_char is a macro (pgcatalog), which cuts the template into patterns for every row: right for every
// template, and slow; and DuckDB does not choose between macros by the type of an aggregate. Where the template is a
// constant, the call is rewritten before DuckDB sees it: to strftime and what else the template needs, if it is about a
// time, to the macro for numbers otherwise. What the argument is only DuckDB knows: if it does not fit, the statement
// is planned as it was written.

// timeFormats are the patterns that strftime knows; time names what the others are, of a value csm_time.
var timeFormats = map[string]string{
	"YYYY": "%Y", "YY": "%y", "MM": "%m", "DD": "%d", "HH24": "%H", "HH12": "%I", "HH": "%I", "MI": "%M", "SS": "%S", "US": "%f", "MS": "%g",
	"DDD": "%j", "IYYY": "%G", "IW": "%V", "ID": "%u", "AM": "%p", "PM": "%p",
	"FMMM": "%-m", "FMDD": "%-d", "FMHH24": "%-H", "FMHH12": "%-I", "FMHH": "%-I", "FMMI": "%-M", "FMSS": "%-S", "FMDDD": "%-j", "FMYYYY": "%Y",
	"Mon": "%b", "Dy": "%a", "FMMonth": "%B", "FMDay": "%A",
}

var timeNames = map[string]string{
	"Q": "CAST(quarter(csm_time) AS VARCHAR)", "am": "lower(strftime(csm_time, '%p'))", "pm": "lower(strftime(csm_time, '%p'))",
	"MON": "upper(strftime(csm_time, '%b'))", "mon": "lower(strftime(csm_time, '%b'))", "DY": "upper(strftime(csm_time, '%a'))", "dy": "lower(strftime(csm_time, '%a'))",
	"MONTH": "rpad(upper(strftime(csm_time, '%B')), 9, ' ')", "Month": "rpad(strftime(csm_time, '%B'), 9, ' ')", "month": "rpad(lower(strftime(csm_time, '%B')), 9, ' ')",
	"DAY": "rpad(upper(strftime(csm_time, '%A')), 9, ' ')", "Day": "rpad(strftime(csm_time, '%A'), 9, ' ')", "day": "rpad(lower(strftime(csm_time, '%A')), 9, ' ')",
	"FMMONTH": "upper(strftime(csm_time, '%B'))", "FMmonth": "lower(strftime(csm_time, '%B'))", "FMDAY": "upper(strftime(csm_time, '%A'))", "FMday": "lower(strftime(csm_time, '%A'))",
}

// timePatterns are both, the longest first. Those that are about numbers alone are written in either case.
var timePatterns = func() []string {
	var list []string
	for pattern := range timeFormats {
		list = append(list, pattern)
	}
	for pattern := range timeNames {
		list = append(list, pattern)
	}
	for _, pattern := range []string{"YYYY", "YY", "MM", "DD", "HH24", "HH12", "HH", "MI", "SS", "US", "MS", "DDD", "IYYY", "IW", "ID", "Q"} {
		list = append(list, strings.ToLower(pattern))
	}
	sort.Slice(list, func(i, j int) bool {
		return len(list[i]) > len(list[j]) || len(list[i]) == len(list[j]) && list[i] < list[j]
	})
	return list
}()

// timeExpression is a constant template as an expression of csm_time; not ok when it has anything in it that is left to
// the macro, or no pattern.
func timeExpression(template string) (string, bool) {
	var parts []string
	var format strings.Builder
	found := false
	flush := func() {
		if format.Len() > 0 {
			parts = append(parts, "strftime(csm_time, "+duckdb.QuoteLiteral(format.String())+")")
			format.Reset()
		}
	}
	for at := 0; at < len(template); {
		if template[at] == '"' {
			end := strings.IndexByte(template[at+1:], '"')
			if end < 0 || strings.Contains(template[at:at+1+end], `\`) {
				return "", false
			}
			format.WriteString(strings.ReplaceAll(template[at+1:at+1+end], "%", "%%"))
			at += end + 2
			continue
		}
		pattern := patternAt(template[at:])
		switch {
		case pattern == "" && (template[at] == '\\' || isAnyLetter(template[at])):
			return "", false // a pattern that is not here, or a letter that stands for itself: the macro knows
		case pattern == "":
			if template[at] == '%' {
				format.WriteByte('%')
			}
			format.WriteByte(template[at])
			at++
			continue
		}
		at += len(pattern)
		found = true
		if strings.HasPrefix(strings.ToUpper(template[at:]), "TH") {
			return "", false
		}
		if f, ok := timeFormats[pattern]; ok {
			format.WriteString(f)
		} else if f, ok := timeFormats[strings.ToUpper(pattern)]; ok && timeNames[pattern] == "" {
			format.WriteString(f)
		} else {
			flush()
			name := timeNames[pattern]
			if name == "" {
				name = timeNames[strings.ToUpper(pattern)]
			}
			parts = append(parts, name)
		}
	}
	flush()
	expression := strings.Join(parts, " || ")
	if yearFormat.MatchString(expression) {
		return "CASE WHEN date_part('year', csm_time) > 0 THEN " + expression + " WHEN isfinite(csm_time) THEN error('" +
			beforeChrist + "') END", found
	}
	return "CASE WHEN isfinite(csm_time) THEN " + expression + " END", found
}

// Of what is infinite PostgreSQL's text is NULL; of years before Christ DuckDB's strftime knows none.
const beforeChrist = "0A000: to_char() of a year before Christ needs BC in its template"

var yearFormat = regexp.MustCompile(`%[YyG]`)

// patternAt is the pattern that a template begins with, empty for one that is left to the macro and for what is none.
func patternAt(template string) string {
	for _, longer := range []string{"SSSS", "IDDD", "DDDD"} {
		if len(template) >= len(longer) && strings.EqualFold(template[:len(longer)], longer) {
			return ""
		}
	}
	for _, pattern := range timePatterns {
		if strings.HasPrefix(template, pattern) {
			return pattern
		}
	}
	return ""
}

func isAnyLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// Formats writes such calls in DuckDB's way, and reports whether there were any.
func Formats(s Source) (Source, bool) {
	if s.Tree == nil || !lex.Mentions(s.Text(), "to_char") {
		return s, false
	}
	calls := map[int]formatCall{} // by their offsets
	EachNode(s.Tree.ProtoReflect(), func(node any) {
		call, ok := node.(*pg.FuncCall)
		if !ok || len(call.Args) != 2 || len(call.Funcname) != 1 || call.Funcname[0].GetString_().GetSval() != "to_char" {
			return
		}
		if template := call.Args[1].GetAConst().GetSval(); template != nil {
			if expression, ok := timeExpression(template.Sval); ok {
				calls[int(call.Location)] = formatCall{"list_transform([", "], lambda csm_time: " + expression + ")[1]"} // computed once
			} else if numberTemplate.MatchString(template.Sval) {
				behind := ", " + duckdb.QuoteLiteral(template.Sval) + ")"
				format := formatCall{pgcatalog.NumberFormat + "(CAST((", ") AS DECIMAL(38, 10))" + behind}
				if mayBeVolatile(s.Text()) {
					format.before = "list_transform([CAST(("
					const list = ") AS DECIMAL(38, 10))], lambda csm_number: "
					format.after = list + pgcatalog.NumberFormat + "(csm_number" + behind + ")[1]"
				}
				calls[int(call.Location)] = format
			}
		}
	})
	if len(calls) == 0 {
		return s, false
	}
	scanned, err := tree.Scan(s.Text())
	if err != nil {
		return s, false
	}
	text, ok := rewriteCalls(s.Text(), scanned.Tokens, calls)
	if !ok {
		return s, false
	}
	return SourceOf(text), true
}

// formatCall is what stands before and behind the argument of a to_char.
type formatCall struct{ before, after string }

// numberTemplate has digits, and nothing that the macro would take for a time.
var numberTemplate = regexp.MustCompile(`^(?i:FM|TH|SG|PL|MI|PR|[90., GDSL$])*[90](?i:FM|TH|SG|PL|MI|PR|[90., GDSL$])*$`)

// rewriteCalls replaces to_char(argument, 'template').
func rewriteCalls(text string, tokens []*pg.ScanToken, calls map[int]formatCall) (string, bool) {
	type openCall struct {
		depth int
		after string
	}
	edited := edit.New(text)
	var open []openCall
	depth, done := 0, false
	is := func(i int, symbol string) bool {
		return i < len(tokens) && text[tokens[i].Start:tokens[i].End] == symbol
	}
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		call, found := calls[int(t.Start)]
		switch {
		case found && is(i+1, "("):
			i++
			edited.Replace(int(t.Start), int(tokens[i].End), call.before)
			depth++
			open = append(open, openCall{depth, call.after})
		case is(i, "("):
			depth++
		case is(i, ")"):
			depth--
		case is(i, ",") && len(open) > 0 && depth == open[len(open)-1].depth && is(i+2, ")"):
			i += 2 // the template and the closing parenthesis
			edited.Replace(int(t.Start), int(tokens[i].End), open[len(open)-1].after)
			depth--
			open, done = open[:len(open)-1], true
		}
	}
	if len(open) > 0 { // the template is no single token
		return text, false
	}
	text, _ = edited.Text()
	return text, done
}
