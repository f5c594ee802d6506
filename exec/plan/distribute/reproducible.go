package distribute

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	syntaxtree "github.com/csmsql/csmsql/sql/tree"
)

// Reproducible reports whether a statement gives the same rows whenever it is run over the same tables: every function
// is one of those that are known to give the same for the same arguments, or an aggregate or a window of DuckDB's, and
// no text means the present.
func Reproducible(parsed *pg.ParseResult) bool {
	for m := range syntaxtree.All(parsed.ProtoReflect()) {
		switch n := m.Interface().(type) {
		case *pg.FuncCall:
			if name := functionName(n); !pureFunctions[name] && !aggregateFunctions[name] && !windowFunctions[name] {
				return false
			}
		case *pg.SQLValueFunction:
			return false
		case *pg.String:
			if variableText[strings.ToLower(strings.TrimSpace(n.Sval))] {
				return false
			}
		}
	}
	return true
}
