package distribute

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	syntaxtree "github.com/csmsql/csmsql/sql/tree"
)

// Reproducible reports whether a statement gives the same rows whenever it is run over the same tables: every function
// is one of those that are known to give the same for the same arguments, or an aggregate or a window of DuckDB's, and
// no text means the present.
func Reproducible(parsed *pg.ParseResult) bool { return calls(parsed, nil, nil) }

// presentFunctions give what is now, or by chance, each time they are run. They look up no names.
var presentFunctions = map[string]bool{
	"now": true, "transaction_timestamp": true, "current_timestamp": true, "get_current_timestamp": true,
	"random": true, "gen_random_uuid": true, "uuid": true, "uuidv4": true, "uuidv7": true,
}

// presentValues are those of SQL's own names that are times. Not those of LOCALTIME and LOCALTIMESTAMP: DuckDB finds
// them out when it plans.
var presentValues = map[pg.SQLValueFunctionOp]bool{
	pg.SQLValueFunctionOp_SVFOP_CURRENT_DATE: true, pg.SQLValueFunctionOp_SVFOP_CURRENT_TIME: true,
	pg.SQLValueFunctionOp_SVFOP_CURRENT_TIMESTAMP: true,
}

// Replayable reports whether a plan of a statement may be run whenever the names in it mean what they did: it is
// Reproducible, but for what its functions say of the present.
func Replayable(parsed *pg.ParseResult) bool { return calls(parsed, presentFunctions, presentValues) }

// calls reports whether no value depends on more than arguments, but for those of other functions and values.
func calls(parsed *pg.ParseResult, functions map[string]bool, values map[pg.SQLValueFunctionOp]bool) bool {
	for m := range syntaxtree.All(parsed.ProtoReflect()) {
		switch n := m.Interface().(type) {
		case *pg.FuncCall:
			name := functionName(n)
			if !pureFunctions[name] && !aggregateFunctions[name] && !windowFunctions[name] && !functions[name] {
				return false
			}
		case *pg.SQLValueFunction:
			if !values[n.Op] {
				return false
			}
		case *pg.A_Const: // a bare string is a name
			if variableText[strings.ToLower(strings.TrimSpace(n.GetSval().GetSval()))] {
				return false
			}
		}
	}
	return true
}
