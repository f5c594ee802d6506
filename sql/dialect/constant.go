package dialect

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/tree"
)

// nameless are the messages of a query that names nothing. Operators are the system's alone.
var nameless = messageNames(
	&pg.ParseResult{}, &pg.RawStmt{}, &pg.SelectStmt{}, &pg.Node{}, &pg.ResTarget{}, &pg.List{}, &pg.A_Const{}, &pg.Integer{}, &pg.Float{},
	&pg.Boolean{}, &pg.String{}, &pg.BitString{}, &pg.A_Expr{}, &pg.BoolExpr{}, &pg.NullTest{}, &pg.BooleanTest{}, &pg.CaseExpr{},
	&pg.CaseWhen{}, &pg.CoalesceExpr{}, &pg.MinMaxExpr{})

func messageNames(messages ...proto.Message) map[protoreflect.FullName]bool {
	set := map[protoreflect.FullName]bool{}
	for _, m := range messages {
		set[m.ProtoReflect().Descriptor().FullName()] = true
	}
	return set
}

// NamesNothing reports whether a query names no relation, column, function or type, as SELECT 1 does: whatever is
// committed, it has the same answer. Of some that name nothing it does not know it.
func NamesNothing(st *statement.Statement) bool {
	read, is := st.Head.(*statement.Select)
	if !is || st.Tree == nil || len(st.Tree.Stmts) != 1 {
		return is && read.Constant
	}
	for m := range tree.All(st.Tree.ProtoReflect()) {
		if !nameless[m.Descriptor().FullName()] {
			return false
		}
	}
	return true
}
