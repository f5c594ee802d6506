package distribute

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Reproducible says that nothing in a statement depends on when it is run but the rows of its tables: every function is one of those
// that are known to give the same for the same arguments, or an aggregate or a window of DuckDB's, and no text means the present.
func Reproducible(tree *pg.ParseResult) bool { return reproducible(tree.ProtoReflect()) }

func reproducible(m protoreflect.Message) bool {
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
	same := true
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Kind() != protoreflect.MessageKind:
		case field.IsList():
			for i := range value.List().Len() {
				same = same && reproducible(value.List().Get(i).Message())
			}
		default:
			same = same && reproducible(value.Message())
		}
		return same
	})
	return same
}
