package duckdb

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is what DuckDB said, with what SQL clients need to know of it.
type Error struct {
	Message  string
	Kind     string // DuckDB's exception type: "Binder", "Catalog", …
	State    string // SQLSTATE
	Byte     int    // 0-based byte offset in the statement, -1 when unknown
	HintText string
}

func (e *Error) Error() string { return e.Message }

// SQLState is the five-character code of PostgreSQL's appendix A.
func (e *Error) SQLState() string { return e.State }

// Hint says what to do, or "".
func (e *Error) Hint() string { return e.HintText }

// Position in sql in characters counted from 1, as PostgreSQL's protocol wants it; 0 when unknown.
func (e *Error) PositionIn(sql string) int {
	if e.Byte < 0 || e.Byte > len(sql) {
		return 0
	}
	return utf8.RuneCountInString(sql[:e.Byte]) + 1
}

// kindStates maps DuckDB's exception types to SQLSTATEs where the kind alone decides.
var kindStates = map[string]string{
	"Out of Range":              "22003",
	"Conversion":                "22P02",
	"Invalid Input":             "22023",
	"Parser":                    "42601",
	"Syntax":                    "42601",
	"Binder":                    "42P10",
	"Catalog":                   "42P01",
	"Not implemented":           "0A000",
	"Divide by Zero":            "22012",
	"Constraint":                "23000",
	"TransactionContext":        "25000",
	"Transaction":               "40001",
	"INTERRUPT":                 "57014",
	"Interrupt":                 "57014",
	"Out of Memory":             "53200",
	"IO":                        "58030",
	"Permission":                "42501",
	"Mismatch Type":             "42804",
	"Parameter Not Resolved":    "42P18",
	"Parameter Not Allowed":     "42P02",
	"Missing Extension":         "0A000",
	"Extension Autoloading":     "0A000",
	"Invalid Configuration":     "22023",
	"Dependency":                "2BP01",
	"FATAL":                     "XX000",
	"INTERNAL":                  "XX000",
	"Invalid Configuration Err": "22023",
}

// phrases decide where the kind is too coarse; the first match wins.
var phrases = []struct{ phrase, state string }{
	{"already exists", "42P07"},
	{"Table Function with name", "42883"},
	{"Scalar Function with name", "42883"},
	{"Aggregate Function with name", "42883"},
	{"Macro Function with name", "42883"},
	{"No function matches", "42883"},
	{"does not support the supplied arguments", "42883"},
	{"does not support time travel", "0A000"},
	{"TRY can not be used in combination with a volatile function", "0A000"},
	{"Invalid type for index key", "0A000"},
	{"Unrecognized Regex option", "22023"},
	{"without an explicit time zone has been disabled", "0A000"},
	{"Deprecated lambda arrow (->) detected", "0A000"},
	{"No key with name", "22023"},
	{"Could not choose a best candidate function", "42725"},
	{"has multiple overloads that match the supplied arguments", "42725"},
	{"Table with name", "42P01"},
	{"Referenced table", "42P01"},
	{"Schema with name", "3F000"},
	{`Catalog "`, "3D000"},
	{"Type with name", "42704"},
	{"Referenced column", "42703"},
	{"does not have a column named", "42703"},
	{"cannot be referenced before it is defined", "42703"},
	{"was not found because the FROM clause is missing", "42703"},
	{"duplicate alias", "42712"},
	{"LIMIT/OFFSET cannot be negative", "2201W"},
	{"field value out of range", "22008"},
	{"is undefined outside [-1,1]", "22003"},
	{"divison by zero in based logarithm", "22012"},
	{"Invalid UTF8 Codepoint", "54000"},
	{"are only applicable to aggregate functions", "0A000"},
	{"Date out of range", "22008"},
	{"Time out of range", "22008"},
	{"Date and time not in timestamp range", "22008"},
	{"ICU date overflows timestamp range", "22008"},
	{"Overflow in multiplication of INTERVAL", "22008"},
	{"Overflow in INTERVAL division", "22008"},
	{"Interval value ", "22008"},
	{"interval value is out of range", "22008"},
	{"Interval micros subtraction out of range", "22008"},
	{"Interval days subtraction out of range", "22008"},
	{"Interval months subtraction out of range", "22008"},
	{"Cannot subtract infinite timestamps", "22008"},
	{"Period must be greater than 0", "22008"},
	{"extract specifier ", "22023"},
	{"interval cannot be 0!", "22023"},
	{"invalid hexadecimal d", "22023"},
	{"Could not find key", "42703"},
	{"Ambiguous reference", "42702"},
	{"must appear in the GROUP BY", "42803"},
	{"cannot contain aggregates", "42803"},
	{"aggregate function calls cannot", "42803"},
	{"cannot contain window functions", "42P20"},
	{"window function calls cannot be nested", "42P20"},
	{"window functions are not allowed", "42P20"},
	{"window expression is not supported here", "42P20"},
	{"ExpressionBinder::BindExpression: WINDOW", "42P20"},
	{"value is out of range", "22003"},
	{"Failed to cast decimal value", "22003"},
	{"Could not cast value", "22003"},
	{"date field format", "22007"},
	{"timestamp field format", "22007"},
	{"More than one row returned by a subquery", "21000"},
	{"cannot take square root of a negative number", "2201F"},
	{"cannot take logarithm of", "2201E"},
	{"to INTERVAL", "22007"},
	{"Unimplemented type for cast", "42846"},
	{"Duplicate key", "23505"},
	{"NOT NULL constraint", "23502"},
	{"value of sequence", "2200H"},
	{"CHECK constraint", "23514"},
	{"foreign key constraint", "23503"},
	{"no transaction is active", "25P01"},
	{"transaction within a transaction", "25001"},
	{"transaction is aborted", "25P02"},
	{"Values were not provided for", "08P01"},
	{"write-write conflict", "40001"},
	{"file system operations are disabled", "42501"},
	{"disabled by configuration", "42501"},
	{"has been locked", "55P02"},
	{"failed to allocate data", "53200"},
	{"could not allocate block", "53200"},
	{"failed to offload", "53200"},
	{"max_temp_directory_size", "53100"},
}

// outOfRange matches DuckDB's message about a text that is a number out of the type's range.
var outOfRange = regexp.MustCompile(`^Could not convert string ['"][+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?['"] to '?(?:U?INT|DECIMAL)`)

// noExpression matches RE2's messages about a text that is no regular expression.
var noExpression = regexp.MustCompile(`^(?:(?:missing|unexpected) [\])]: |trailing \\|(?:invalid escape sequence|invalid character class|no argument for repetition operator|invalid repetition size|bad repetition operator|invalid perl operator|invalid named capture group)\b)`)

// tooDeep matches DuckDB's message about a text whose parts are nested too deeply: each level takes its planner longer
// than the one before.
var tooDeep = regexp.MustCompile(`^Max expression depth limit of (\d+) exceeded`)

const tooDeepHint = "Break the expression up, or keep what is inside in a temporary table."

var (
	stated = regexp.MustCompile(`\b([0-9A-Z]{5}): `) // "XX001: …", how our own scan marks its errors
	lineAt = regexp.MustCompile(`(?s)\n\nLINE \d+: .*$`)
)

// parseError understands an error text of DuckDB, JSON (errors_as_json) or prose.
func parseError(text string) error {
	// A statement that failed in a background thread before it was waited for: the cause stands behind that.
	if _, cause, found := strings.Cut(text, "unsuccessful or closed pending query result\nError: "); found {
		text = cause
	}
	if _, inner, found := strings.Cut(text, ` Error: {"exception_type"`); found { // a parser error is wrapped in prose
		text = `{"exception_type"` + inner
	}
	e := &Error{Message: text, Byte: -1, State: "XX000"}
	var doc struct {
		Type     string `json:"exception_type"`
		Message  string `json:"exception_message"`
		Position string `json:"position"`
	}
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &doc) == nil {
		e.Kind, e.Message = doc.Type, doc.Message
		if at, err := strconv.Atoi(doc.Position); err == nil {
			e.Byte = at
		}
	} else if kind, rest, found := strings.Cut(text, " Error: "); found && len(kind) < 40 {
		e.Kind, e.Message = kind, rest
	}
	e.Message = lineAt.ReplaceAllString(e.Message, "")
	if state, found := kindStates[e.Kind]; found {
		e.State = state
	}
	for _, p := range phrases {
		if strings.Contains(e.Message, p.phrase) {
			e.State = p.state
			break
		}
	}
	if e.Kind == "Conversion" && outOfRange.MatchString(e.Message) {
		e.State = "22003"
	}
	if e.Kind == "Invalid Input" && noExpression.MatchString(e.Message) {
		e.State, e.Message = "2201B", "invalid regular expression: "+e.Message
	}
	if e.Message == "Like pattern must not end with escape character!" {
		e.State, e.Message = "22025", "LIKE pattern must not end with escape character"
	}
	if m := tooDeep.FindStringSubmatch(e.Message); m != nil { // the setting that DuckDB advises is not a client's
		e.State, e.Message, e.HintText = "54001", "stack depth limit exceeded: expressions and queries may be nested "+m[1]+" deep", tooDeepHint
	}
	if e.Kind == kindFatal && strings.Contains(e.Message, invalidated) {
		e.explainFailed()
	}
	if m := nestedBetween.FindStringSubmatch(e.Message); m != nil && e.Kind == kindType {
		e.State, e.Message, e.HintText = "0A000", betweenRefused+m[1], betweenHint
	}
	if m := stated.FindStringSubmatchIndex(e.Message); m != nil && strings.ContainsAny(e.Message[m[2]:m[3]], "0123456789") {
		e.State, e.Message = e.Message[m[2]:m[3]], e.Message[m[1]:]
	}
	if message, hint, found := strings.Cut(e.Message, "\n"); found && e.HintText == "" {
		e.Message, e.HintText = message, strings.TrimSpace(hint)
	}
	if nothing := strings.Contains(text, "std::bad_alloc"); nothing || e.Kind == "Out of Memory" {
		if nothing || e.Message == "Allocation failure" { // also while it was writing another error
			e.Message, e.State = "out of memory", "53200"
		}
		if e.State == "53200" {
			e.HintText = memoryHint
		}
	}
	return e
}

// IsCanceled reports whether err is the end of an interrupted statement.
func IsCanceled(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.State == "57014"
}
