package engine

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// scanCall is what stands for a table in what DuckDB was given.
var scanCall = regexp.MustCompile(`csm_scan\((\d+)\)(?: AS ("(?:[^"]|"")*"|\w+))?`)

// userNames puts the tables' names back into columns that DuckDB named after an expression with a sub-query in it. The numbers of
// scans are nobody's business, and would make the same statement, planned anew, look like another.
func (q *query) userNames(schema *arrow.Schema) *arrow.Schema {
	fields := schema.Fields()
	for i, f := range fields {
		if strings.Contains(f.Name, "csm_scan(") {
			fields[i].Name = scanCall.ReplaceAllStringFunc(f.Name, q.tableOfCall)
		}
	}
	return arrow.NewSchema(fields, nil)
}

func (q *query) tableOfCall(call string) string {
	parts := scanCall.FindStringSubmatch(call)
	for _, t := range q.scans {
		if strconv.FormatUint(t.number, 10) != parts[1] {
			continue
		}
		name := t.facts.relation.Name
		if alias := parts[2]; alias != "" && alias != name && alias != duckdb.QuoteIdentifier(name) {
			return name + " AS " + alias
		}
		return name
	}
	return call
}
