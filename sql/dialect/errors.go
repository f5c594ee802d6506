package dialect

import (
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/spelling"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/unsupported"
)

// RowQuery is what a query is called in DuckDB's text whose row gives several columns their values, behind a UNION ALL
// that says how many.
const RowQuery = "csm_row_of_values"

// FromDuckDB turns an error of DuckDB about the text that it was given into one about the user's text.
func FromDuckDB(err error, given, users string, made edit.List) error {
	d, ok := err.(*duckdb.Error)
	if !ok {
		return err
	}
	e := &sqlerror.Error{State: d.State, Message: PostgresWords(d.Message), HintText: hintOf(d), Cause: err}
	if csv := CSVFailure("", d); csv != nil {
		return csv
	}
	if unknown := notInDuckDB(d, given, users, made); unknown != nil {
		return unknown
	}
	if m := tooLong.FindStringSubmatch(d.Message); m != nil {
		e = sqlerror.New("22001", "value too long for type character varying(%s)", m[1])
		e.Cause = err
	}
	if m := noNumerics.FindStringSubmatch(d.Message); m != nil && strings.Contains(given, numericArrays[0]) {
		e = sqlerror.New("0A000", "a cast of %s to numeric[] is not supported", m[1]).WithHint("Write numeric(p, s)[].")
		e.Cause = err
	}
	if strings.HasPrefix(d.Message, "More than one row returned by a subquery") { // its hint is a setting of DuckDB's
		e.Message, e.HintText = "more than one row returned by a subquery used as an expression", ""
	}
	if strings.HasPrefix(d.Message, "Set operations can only apply") && strings.Contains(given, RowQuery) {
		e = sqlerror.New("42601", "number of columns does not match number of values")
		e.Cause = err
	}
	if strings.HasPrefix(d.Message, "Cannot prepare multiple statements") {
		e = sqlerror.New("0A000", "PIVOT without a list of values cannot be used here").WithHint(PivotAdvice)
	}
	if d.Byte >= 0 && d.Byte <= len(given) {
		back := *d
		back.Byte = made.Back(d.Byte)
		e.At = back.PositionIn(users)
	}
	return e
}

// notInDuckDB is the error that names a clause which PostgreSQL's parser understands and DuckDB's does not; nil: d is
// about something else.
func notInDuckDB(d *duckdb.Error, given, users string, made edit.List) *sqlerror.Error {
	if !IsParsers(d) && !unsupported.Refuses(d.Message) {
		return nil
	}
	tree := TreeOf(users)
	if tree == nil || len(tree.Stmts) == 0 {
		return nil
	}
	message, clause, named := PostgresWords(d.Message), unsupported.Clause{Byte: -1}, false
	if !strings.HasPrefix(d.Message, "syntax error") {
		clause, named = unsupported.InTree(tree, d.Message)
	} else if d.Byte >= 0 && d.Byte <= len(given) {
		clause, named = unsupported.InText(users, made.Back(d.Byte))
	}
	if !named && (!IsParsers(d) || !unsupported.IsSaid(d.Message)) {
		return nil
	}
	if named {
		message = clause.Name + " is not supported"
	}
	e := sqlerror.New("0A000", "%s", message).WithHint(clause.Advice)
	e.Cause = d
	if clause.Byte >= 0 && clause.Byte <= len(users) {
		e.At = utf8.RuneCountInString(users[:clause.Byte]) + 1
	}
	return e
}

// IsParsers reports whether DuckDB's parser said it.
func IsParsers(err error) bool {
	var d *duckdb.Error
	return errors.As(err, &d) && (d.Kind == "Parser" || d.Kind == "Syntax")
}

// UnlessParsers is err, unless DuckDB's parser made it: a text that it cannot read means nothing.
func UnlessParsers(err error) error {
	if IsParsers(err) {
		return nil
	}
	return err
}

// noNumerics is said of the macros that make numerics of what is no array of numbers.
var noNumerics = regexp.MustCompile(`^Cannot mix values of type (.+) and DECIMAL\(1,0\)(?:\[\])+ in COALESCE operator`)

// familiar are messages that PostgreSQL has in other words, which users, and tools that read messages, know.
var familiar = []struct {
	theirs *regexp.Regexp
	ours   string
}{
	{regexp.MustCompile(`^No function matches .*'csm_divide\((.+), (.+)\)'\. .*$`), `operator does not exist: $1 / $2`},
	{regexp.MustCompile(`^Macro csm_([a-z0-9_]+?)(?:__\w+)?\(\) does not support`), `function $1 does not support`},
	{regexp.MustCompile(`^Function "csm_([a-z0-9_]+?)(?:__\w+)?" is a Macro Function\..*$`),
		`DISTINCT, FILTER and ORDER BY are not supported in $1() of such values`},
	{regexp.MustCompile(`"csm_divide\(([^,()]+), ([^,()]+)\)"`), `"$1 / $2"`},
	{regexp.MustCompile(`\bcsm_operator__power\(([^,()]+), ([^,()]+)\)`), `$1 ^ $2`},
	{regexp.MustCompile(`\bcsm_([a-z][a-z0-9_]*?)(?:__\w+)?\(`), `$1(`},
	{unknownTable, `relation "$1" does not exist`},
	{regexp.MustCompile(`^Referenced column "(.+)" not found in FROM clause!$`), `column "$1" does not exist`},
	{regexp.MustCompile(`^Referenced table "(.+)" not found!$`), `missing FROM-clause entry for table "$1"`},
	{regexp.MustCompile(`^Table with name "(.+)" does not exist because schema ".+" does not exist\.$`), `relation "$1" does not exist`},
	{regexp.MustCompile(`^Catalog "(.+)" does not exist!$`), `database "$1" does not exist`},
	{regexp.MustCompile(`^Schema with name (.+) does not exist!$`), `schema "$1" does not exist`},
	{regexp.MustCompile(`^(?:Scalar|Table|Aggregate|Macro|Table Macro) Function with name (.+) does not exist!$`), `function $1 does not exist`},
	{regexp.MustCompile(` when casting from source column c\d+$`), ""},
	{regexp.MustCompile(`^Referenced column "(.+)" was not found because the FROM clause is missing$`), `column "$1" does not exist`},
	{regexp.MustCompile(`^Table "(\w+)" does not have a column named "(\w+)"$`), `column $1.$2 does not exist`},
	{regexp.MustCompile(`^(column ".+" must appear in the GROUP BY clause or) must be part of an aggregate function\.$`), `$1 be used in an aggregate function`},
	{regexp.MustCompile(`^INSERT statement cannot contain`), `VALUES clause cannot contain`},
	{regexp.MustCompile(`^Table function cannot contain`), `functions in FROM clause cannot contain`},
	{regexp.MustCompile(`^(.+) clause cannot contain (aggregate|window)(?: function)?s!$`), `$2 functions are not allowed in $1`},
	{regexp.MustCompile(`^(?:window expression is not supported here|Unimplemented expression class in ExpressionBinder::BindExpression: WINDOW)$`), `window functions are not allowed here`},
	{regexp.MustCompile(`^Ambiguous reference to table "(.+)" \(duplicate alias .*$`), `table name "$1" specified more than once`},
	{regexp.MustCompile(`^LIMIT/OFFSET cannot be negative$`), `LIMIT and OFFSET must not be negative`},
	{regexp.MustCompile(`^Sequence with name (.+) does not exist!$`), `relation "$1" does not exist`},
	{regexp.MustCompile(`^Type with name (.+) does not exist!$`), `type "$1" does not exist`},
	{regexp.MustCompile(`^Catalog type does not support time travel$`), `AT (VERSION …) and AT (TIMESTAMP …) are not supported`},
	{regexp.MustCompile(`\bcsm_block_\d+\b`), duckdb.CatalogName}, // ownNames
	{regexp.MustCompile(`\bchar_typed\b`), "to_char"},             // pgcatalog
}

// internal matches the engine's own names, which DuckDB proposes for mistyped ones.
var internal = regexp.MustCompile(`(?i:\b(?:csm_scan|csm_table|` + pgcatalog.OwnNames + `)\b)`)

var (
	unknownTable = regexp.MustCompile(`^Table with name (.+) does not exist!$`)
	unknownName  = regexp.MustCompile(`^(?:Table|Schema|Type|(?:Scalar |Table |Aggregate |Macro |Table Macro )?Function) with name (.+) does not exist!$`)
	proposal     = regexp.MustCompile(`^Did you mean "(?:.+\.)?([^."]+)"\?$`)
)

// hintOf is DuckDB's hint, if it is of use to users: DuckDB proposes the nearest name that it has, however far that is.
func hintOf(d *duckdb.Error) string {
	if internal.MatchString(d.HintText) {
		return ""
	}
	if d.Message == "Type with name jsonb does not exist!" {
		return "Use json, whose text is kept as it is written; the functions jsonb_… give json."
	}
	if typed, near := unknownName.FindStringSubmatch(d.Message), proposal.FindStringSubmatch(d.HintText); typed != nil && near != nil {
		name := strings.Trim(typed[1], `"`)
		if spelling.Distance(strings.ToLower(name), strings.ToLower(near[1])) > spelling.Near(name) {
			return ""
		}
		return strings.Replace(d.HintText, `"main.`, `"`, 1) // DuckDB's own schema, which users do not write
	}
	return PostgresWords(strings.Replace(d.HintText, ": : ", ": ", 1)) // what DuckDB 1.5 writes of a table that has a name of its own
}

// tooLong matches DuckDB's message about a check that definition.Limited wrote.
var tooLong = regexp.MustCompile(`^CHECK constraint failed on table .+ with expression CHECK\(\(length\(.+\) <= (\d+)\)\)$`)

// What DuckDB says of values that a type does not have, in the names of its own memory's types.
var (
	noValue       = regexp.MustCompile(`(?s)^Could not convert string ['"](.*)['"] to '?(\w+(?:\(\d+,\d+\))?)'?(?: when casting from source column .*)?$`)
	tooLarge      = regexp.MustCompile(`^(?:Type \w+ with|Failed to cast decimal) value (\S+) (?:can't be cast because the value is out of range for the destination|to) type (\w+)$`)
	tooLargeText  = regexp.MustCompile(`^Could not convert string ['"]([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)['"] to '?(\w+)'?$`)
	noDecimal     = regexp.MustCompile(`^(?:Could not convert string|Could not cast value|Casting value) ['"]?([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)['"]? to (?:type )?(DECIMAL\(\d+,\d+\))(?: failed: value is out of range!)?$`)
	notFinite     = regexp.MustCompile(`(?i)^\s*(nan|[-+]?inf(inity)?)\s*$`) // a numeric of PostgreSQL's can be so
	physicalTypes = map[string]string{"INT16": "smallint", "INT32": "integer", "INT64": "bigint", "BOOL": "boolean", "FLOAT": "real", "DOUBLE": "double precision",
		"SMALLINT": "smallint", "INTEGER": "integer", "BIGINT": "bigint", "BOOLEAN": "boolean"}
)

// PostgresWords translates a message of DuckDB's into PostgreSQL's words, which users, and tools that read messages,
// know.
func PostgresWords(message string) string {
	for _, f := range familiar {
		message = f.theirs.ReplaceAllString(message, f.ours)
	}
	if m := noDecimal.FindStringSubmatch(message); m != nil {
		return "numeric field overflow: " + m[1] + " does not fit " + m[2]
	}
	if m := tooLargeText.FindStringSubmatch(message); m != nil && physicalTypes[m[2]] != "" {
		return "value \"" + m[1] + "\" is out of range for type " + physicalTypes[m[2]]
	}
	if m := noValue.FindStringSubmatch(message); m != nil && physicalTypes[m[2]] != "" {
		return "invalid input syntax for type " + physicalTypes[m[2]] + ": \"" + m[1] + "\""
	} else if m != nil && strings.HasPrefix(m[2], "DECIMAL(") && !notFinite.MatchString(m[1]) {
		return "invalid input syntax for type numeric: \"" + m[1] + "\""
	}
	if m := tooLarge.FindStringSubmatch(message); m != nil && physicalTypes[m[2]] != "" {
		return "value \"" + m[1] + "\" is out of range for type " + physicalTypes[m[2]]
	}
	return message
}

// InOriginal makes an error's position in an edited text one in the original.
func InOriginal(err error, made edit.List, edited, original string) error {
	e, ok := err.(*sqlerror.Error)
	if !ok || e.At == 0 {
		return err
	}
	moved := *e
	moved.At = made.BackPosition(e.At, edited, original)
	return &moved
}

// WithoutPosition drops a position that is one in a text of ours.
func WithoutPosition(err error) error {
	if e, ok := err.(*sqlerror.Error); ok && e.At != 0 {
		moved := *e
		moved.At = 0
		return &moved
	}
	return err
}
