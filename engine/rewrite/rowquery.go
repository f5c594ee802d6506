package rewrite

import (
	"fmt"
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/statement"
)

// SET (a, b) = (SELECT …): the query is asked once of each row that is hit, as a value that is a row of its own, and
// taken apart above that:
//
//	SELECT CAST((struct_extract(csm_set.r0, 'f0')) AS type), csm_set.v1, …, csm_set.o0 FROM (
//	  SELECT NULL, u.b, …, (SELECT struct_pack(f0 := f0, f1 := f1) FROM (query) AS q(f0, f1)), u.csm_row FROM …
//	) AS csm_set(v0, v1, …, r0, o0)
//
// The query has a UNION ALL with no row of as many columns as are assigned before it: DuckDB refuses one that has
// others. No row gives NULLs, and more than one is an error, as of each query that is a value.

// set is what the rows are called that are taken apart.
const set = "csm_set"

// rowsOf are the expressions of the queries that an UPDATE asks for rows.
func rowsOf(head *statement.Update) (rows []string) {
	var last *statement.RowQuery
	for _, a := range head.Set {
		if a.Row == nil || a.Row == last {
			continue
		}
		last = a.Row
		names := make([]string, last.Fields)
		packed := make([]string, last.Fields)
		for i := range names {
			names[i] = fmt.Sprintf("f%d", i)
			packed[i] = names[i] + " := " + names[i]
		}
		none := strings.TrimPrefix(strings.Repeat(", NULL", last.Fields), ", ")
		rows = append(rows, "(SELECT struct_pack("+strings.Join(packed, ", ")+") FROM (SELECT "+none+
			" WHERE false UNION ALL "+a.Value+") AS "+dialect.RowQuery+"("+strings.Join(names, ", ")+"))")
	}
	return rows
}

// RowsOf are the expressions of the queries that an UPDATE of a table asks for rows, for Select.
func RowsOf(head *statement.Update, table catalog.TableName) []string {
	rows := rowsOf(head)
	if head.Alias == "" {
		rows = withoutSchemas(table, rows)
	}
	return rows
}

func withoutSchemas(table catalog.TableName, texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i], _ = WithoutSchema(table, text)
	}
	return out
}

// fieldOf is the value of a column that a query's row gives.
func fieldOf(head *statement.Update, a statement.Assignment) string {
	row := -1
	var last *statement.RowQuery
	for _, other := range head.Set {
		if other.Row != nil && other.Row != last {
			row++
		}
		if last = other.Row; last == a.Row {
			break
		}
	}
	return fmt.Sprintf("struct_extract(%s.r%d, 'f%d')", set, row, a.Field)
}

// isField reports whether a value is fieldOf one.
func isField(value string) bool { return strings.HasPrefix(value, "struct_extract("+set+".r") }

// Select is a query of values, of which those of rows are taken apart, and of others behind them.
func Select(with string, values, rows, others []string, from string) string {
	if len(rows) == 0 {
		return with + " SELECT " + strings.Join(append(values, others...), ", ") + " FROM " + from
	}
	var inner, names, outer []string
	add := func(kind string, list []string, shown bool) {
		for i, value := range list {
			name := fmt.Sprint(kind, i)
			if shown && strings.Contains(value, "struct_extract("+set+".r") {
				outer = append(outer, value)
				continue
			}
			inner, names = append(inner, value), append(names, name)
			if shown {
				outer = append(outer, set+"."+name)
			}
		}
	}
	add("v", values, true)
	add("r", rows, false)
	add("o", others, true)
	query := with + " SELECT " + strings.Join(inner, ", ") + " FROM " + from
	return "SELECT " + strings.Join(outer, ", ") + " FROM (" + query + ") AS " + set + "(" + strings.Join(names, ", ") + ")"
}
