package statement

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// ignoredWords refuses what DuckDB's parser takes and forgets: VARIADIC before the last argument of a function.
func (s *Statement) ignoredWords() error {
	if s.Tree == nil || !lex.Mentions(s.Text, "variadic") {
		return nil
	}
	if at := variadicCall(s.Tree.ProtoReflect()); at >= 0 {
		return &sqlerror.Error{State: "0A000", Message: "VARIADIC is not supported", At: position(s.Text, at), HintText: "Write the elements of the list out, as arguments."}
	}
	return nil
}

// variadicCall finds a call with VARIADIC and says where it begins, in bytes; -1: there is none.
func variadicCall(parsed protoreflect.Message) int {
	for m := range tree.All(parsed) {
		if call, ok := m.Interface().(*pg.FuncCall); ok && call.FuncVariadic {
			return int(call.Location)
		}
	}
	return -1
}
