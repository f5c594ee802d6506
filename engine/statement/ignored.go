package statement

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// ignoredWords refuses what DuckDB's parser takes and forgets: VARIADIC before the last argument of a function.
func (s *Statement) ignoredWords() error {
	if s.Tree == nil || !strings.Contains(strings.ToLower(s.Text), "variadic") {
		return nil
	}
	if at := variadicCall(s.Tree.ProtoReflect()); at >= 0 {
		return &sqlerror.Error{State: "0A000", Message: "VARIADIC is not supported", At: position(s.Text, at), HintText: "Write the elements of the list out, as arguments."}
	}
	return nil
}

// variadicCall finds a call with VARIADIC and says where it begins, in bytes; -1: there is none.
func variadicCall(m protoreflect.Message) int {
	if call, ok := m.Interface().(*pg.FuncCall); ok && call.FuncVariadic {
		return int(call.Location)
	}
	at := -1
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			for i := 0; i < v.List().Len() && at < 0; i++ {
				at = variadicCall(v.List().Get(i).Message())
			}
		default:
			at = variadicCall(v.Message())
		}
		return at < 0
	})
	return at
}
