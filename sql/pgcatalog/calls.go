package pgcatalog

import (
	"strings"

	"github.com/csmsql/csmsql/sql/lex"
)

// implied are words of statements for which DuckDB calls macros that these do not name: LIKE is the operator ~~, and
// SHOW TABLES asks a list.
var implied = map[string]bool{
	"like": true, "ilike": true, "show": true, "describe": true, "summarize": true, "pragma": true,
	"information_schema": true,
}

// families begin the names of lists of DuckDB's, some of which are macros' by now, of PostgreSQL's catalogs, and of the
// schema of what is looked up with it.
var families = []string{"duckdb_", "pragma_", "sqlite_", "pg_", OncePrefix}

// Calls reports whether DuckDB may look something up for a text among Functions (P8): so are some texts for which it
// does not, because words in literals count, too.
func Calls(sql string) bool {
	names := macros().installed
	for at := 0; at < len(sql); {
		if c := sql[at]; !lex.IsNamePart(c) {
			if c == '~' || c == '!' || c == '`' {
				return true // operators that are macros
			}
			at++
			continue
		}
		start := at
		for at < len(sql) && lex.IsNamePart(sql[at]) {
			at++
		}
		word := lex.Fold(sql[start:at])
		if names[word] || implied[word] || word == "desc" && isCommand(sql[:start]) {
			return true
		}
		for _, family := range families {
			if strings.HasPrefix(word, family) && word != sessionSchema {
				return true
			}
		}
	}
	return false
}

// isCommand reports whether the text before DESC makes it DESCRIBE, and no order.
func isCommand(before string) bool {
	before = strings.TrimRight(before, " \t\r\n")
	ends := func(mark string) bool { return strings.HasSuffix(before, mark) }
	return before == "" || ends("(") || ends(";") || ends("*/")
}
