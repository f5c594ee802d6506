package pgcatalog

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// separator stands between the values of a column that is handed over as one string. DuckDB takes milliseconds to
// bind a VALUES list of thousands of constants (35 ms for 1,600 × 7), and a fraction of one to split a string (3 ms).
const (
	separator = "\x1f"
	nullMark  = "\x1e"
)

// columnLiteral writes a column of values as one string, a nil for NULL.
func columnLiteral(values []*string) string {
	var b strings.Builder
	b.WriteString("'")
	for i, v := range values {
		if i > 0 {
			b.WriteString(separator)
		}
		if v == nil {
			b.WriteString(nullMark)
		} else {
			b.WriteString(plain(*v))
		}
	}
	b.WriteString("'")
	return b.String()
}

// plain escapes v for a string literal. The two marks, which are not expected in values, and zero bytes, which SQL
// cannot carry, become spaces.
func plain(v string) string { return escapes.Replace(v) }

var escapes = strings.NewReplacer("'", "''", separator, " ", nullMark, " ", "\x00", " ")

func quoteLiteral(v string) string { return "'" + plain(v) + "'" }

// columnSource is one column of rows that are handed over as text.
type columnSource struct {
	name, duckType string
	values         []*string
}

// rowsQuery writes a SELECT that gives the rows with their types. All columns have the same number of values, at least
// one. The strings are a row that is read: of constants, DuckDB would compute the lists while it plans, value by value,
// which takes twice as long.
func rowsQuery(columns []columnSource) string {
	var outer, inner, row strings.Builder
	for i, c := range columns {
		if i > 0 {
			outer.WriteString(", ")
			inner.WriteString(", ")
			row.WriteString(", ")
		}
		name := lex.Quote(c.name)
		outer.WriteString("CAST(nullif(" + name + ", '" + nullMark + "') AS " + c.duckType + ") AS " + name)
		inner.WriteString("unnest(string_split(" + name + ", '" + separator + "')) AS " + name)
		row.WriteString(columnLiteral(c.values) + " AS " + name)
	}
	return "SELECT " + outer.String() + " FROM (SELECT " + inner.String() + " FROM (SELECT " + row.String() + "))"
}
