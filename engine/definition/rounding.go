package definition

import (
	"fmt"
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/statement"
)

// Roundings warns of columns that are declared numeric without digits: in PostgreSQL they keep every digit of a value,
// here three behind the point. In DuckDB's dialect that is what is meant.
func Roundings(head *statement.CreateTable, postgres bool) (warnings []string) {
	for _, c := range head.Columns {
		switch strings.TrimRight(lex.Fold(c.Type), "[] ") {
		case "numeric", "decimal", "dec":
			if postgres {
				warnings = append(warnings, fmt.Sprintf("column %q rounds to three digits behind the point: its type is %s "+
					"without digits", c.Name, lex.Fold(c.Type)))
			}
		}
	}
	return warnings
}
