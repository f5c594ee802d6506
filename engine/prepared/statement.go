package prepared

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/engine/revalidation"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Statement is a prepared statement under its name.
type Statement struct {
	Name string
	// Query is the statement itself, of DialectDuckDB, Source what the client sent: with PREPARE before it, if it
	// came by SQL.
	Query, Source string
	// Types are the SQL names of the parameters' types; empty where unknown.
	Types []string
	// OIDs are PostgreSQL's of the same, 0 where unknown.
	OIDs    []uint32
	FromSQL bool
	Since   time.Time

	Parameters int      // how many EXECUTE must give
	Declared   int      // how many of them PREPARE said the type of
	Names      []string // of the parameters, if they have names

	In      string               // the dialect of Source
	Grounds revalidation.Grounds // of Query
}

// Protocol are those that a session's client named itself, through the protocol that the session does not see.
type Protocol interface {
	// Find looks one up by its name.
	Find(name string) (*Statement, bool)
	// Forget removes one, or all if name is empty, and reports whether there was one.
	Forget(name string) bool
	// List is all of them.
	List() []*Statement
}

// none is for sessions whose client speaks none.
type none struct{}

func (none) Find(string) (*Statement, bool) { return nil, false }
func (none) Forget(string) bool             { return false }
func (none) List() []*Statement             { return nil }

// leastBytes is what a statement that PREPARE made takes beside its texts.
const leastBytes = 1 << 10

// Bytes is what is charged for it: its plan is not kept.
func (n *Statement) Bytes() int64 { return leastBytes + int64(len(n.Query)+len(n.Source)) }

// Check plans the statement to see what is wrong with it, and what types its parameters have. before is the text before
// it; plan gives the parameters' types, and whether it was planned as if all of them were text.
func (n *Statement) Check(before string, plan func(text string) ([]duckdb.ParameterType, bool, error)) error {
	given, changed, padded := n.Planned(before)
	parsed, err := statement.Parse(given)
	if err != nil {
		return dialect.InOriginal(err, changed, given, padded)
	}
	switch parsed.Head.(type) {
	case *statement.Select, *statement.Insert, *statement.Update, *statement.Delete, *statement.Merge:
	default:
		word := strings.Fields(n.Query)[0]
		e := sqlerror.New("42601", "syntax error at or near %q", word).
			WithHint("PREPARE takes SELECT, INSERT, UPDATE, DELETE, MERGE and VALUES.")
		e.At = utf8.RuneCountInString(before) + 1
		return e
	}
	types, asText, err := plan(given)
	switch {
	case err != nil && n.Open() && AboutTypes(err): // its values will say of what type they are
	case err != nil:
		return dialect.InOriginal(err, changed, given, padded)
	case !asText:
		n.Deduce(types)
	}
	return nil
}

// Deduce gives parameters whose type is not declared those that planning found.
func (n *Statement) Deduce(types []duckdb.ParameterType) {
	for i, t := range types {
		if i < n.Parameters && n.Types[i] == "" {
			n.Types[i], n.OIDs[i] = families[t].Name, families[t].OID
		}
	}
}

// Planned is the text by which the statement is checked, its parameters cast to the types that were declared, and
// what it was made of: the query behind as many blanks as there are characters before it. It counts the parameters.
func (n *Statement) Planned(before string) (given string, changed edit.List, padded string) {
	padded = strings.Repeat(" ", utf8.RuneCountInString(before)) + n.Query
	declared := n.Types
	given, changed = dialect.ReplaceTokens(padded, func(token string, _ int) (string, bool) {
		i := dialect.ParameterIndex(token)
		n.Parameters = max(n.Parameters, i+1)
		if i < 0 || i >= len(declared) || !Exact(declared[i]) {
			return "", false
		}
		return "CAST(" + token + " AS " + declared[i] + ")", true
	})
	n.Parameters = max(n.Parameters, len(declared))
	for len(n.Types) < n.Parameters {
		n.Types, n.OIDs = append(n.Types, ""), append(n.OIDs, 0)
	}
	return given, changed, padded
}

// postgresTypes are names that DuckDB lacks, and whose values it takes for others'. A parameter may have them; no
// column may (columntype).
var postgresTypes = map[string]string{
	"jsonb": "json", "money": "decimal(19,2)", "name": "varchar", "citext": "varchar", "bpchar": "varchar", "regclass": "varchar",
}

// TypeName is what DuckDB calls the type of a parameter that PREPARE declares.
func TypeName(declared string) string {
	return cmp.Or(postgresTypes[strings.ToLower(declared)], declared)
}

// Exact reports whether a value of the type keeps everything. DuckDB's numeric without digits is numeric(18,3),
// PostgreSQL's any number.
func Exact(name string) bool {
	lower := strings.TrimRight(strings.ToLower(name), "[] ")
	return lower != "" && lower != "numeric" && lower != "decimal" && lower != "dec"
}

// Open reports whether there are parameters whose type is not exactly declared.
func (n *Statement) Open() bool {
	for _, t := range n.Types {
		if !Exact(t) {
			return true
		}
	}
	return false
}

// AboutTypes reports whether an error may be due to a parameter without a declared type.
func AboutTypes(err error) bool {
	e, ok := err.(*sqlerror.Error)
	if !ok {
		return false
	}
	switch e.State {
	case "42883", "42804", "42846", "42P18", "22003", "22P02", "22007", "22023":
		return true
	}
	return false
}

// families are the types that DuckDB deduces for parameters. It does not report a numeric's digits, nor a timestamp's.
var families = map[duckdb.ParameterType]Family{
	duckdb.TypeBoolean: {"BOOLEAN", relation.OIDBool}, duckdb.TypeInt16: {"SMALLINT", relation.OIDInt2},
	duckdb.TypeInt32: {"INTEGER", relation.OIDInt4}, duckdb.TypeInt64: {"BIGINT", relation.OIDInt8},
	duckdb.TypeFloat32: {"REAL", relation.OIDFloat4}, duckdb.TypeFloat64: {"DOUBLE", relation.OIDFloat8},
	duckdb.TypeNumeric: {"", relation.OIDNumeric}, duckdb.TypeText: {"VARCHAR", relation.OIDText},
	duckdb.TypeBytes: {"BLOB", relation.OIDBytea}, duckdb.TypeDate: {"DATE", relation.OIDDate},
	duckdb.TypeTime: {"TIME", relation.OIDTime}, duckdb.TypeTimestamp: {"", relation.OIDTimestamp},
	duckdb.TypeTimestampTZ: {"TIMESTAMPTZ", relation.OIDTimestampTZ}, duckdb.TypeInterval: {"INTERVAL", relation.OIDInterval},
	duckdb.TypeUUID: {"UUID", relation.OIDUUID},
}

// Family is what SQL and PostgreSQL call a type that DuckDB deduces; Name is empty if DuckDB does not report all of it.
type Family struct {
	Name string
	OID  uint32
}

// FamilyOf is a type's.
func FamilyOf(t duckdb.ParameterType) Family { return families[t] }
