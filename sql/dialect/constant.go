package dialect

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/statement"
	"github.com/csmsql/csmsql/sql/tree"
)

// NamesNothing reports whether a query names no relation, column, function or type, as SELECT 1 does: whatever is
// committed, it has the same answer. Of some that name nothing it does not know it.
func NamesNothing(st *statement.Statement) bool {
	read, is := st.Head.(*statement.Select)
	if !is || st.Tree == nil || len(st.Tree.Stmts) != 1 {
		return is && read.Constant
	}
	for m := range tree.All(st.Tree.ProtoReflect()) {
		switch m.Interface().(type) {
		case *pg.ParseResult, *pg.RawStmt, *pg.SelectStmt, *pg.Node, *pg.ResTarget, *pg.List:
		case *pg.A_Const, *pg.Integer, *pg.Float, *pg.Boolean, *pg.String, *pg.BitString:
		case *pg.A_Expr, *pg.BoolExpr, *pg.NullTest, *pg.BooleanTest: // operators are the system's alone
		case *pg.CaseExpr, *pg.CaseWhen, *pg.CoalesceExpr, *pg.MinMaxExpr:
		default:
			return false
		}
	}
	return true
}
