// Package deparse writes trees of PostgreSQL's parser as text that is read as the same tree.
//
//	tree ─► Text ─► text ─► PostgreSQL's parser ─► the same tree, except for WithoutPlaces
//
// Invariants:
//
//   - DP1: what is written is read as what was there, whatever stands in whatever.
//
// It has no locks and changes the tree that it is given.
package deparse

import (
	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/csmsql/csmsql/sql/tree"
)

// Text writes a tree. It changes the tree: the deparser leaves out parentheses that expressions need, so
// that (a OR b) IS NULL would become a OR b IS NULL, and (a = b) IN (c, d) would be no SQL. So operands that are
// more than a name or a value get their own.
func Text(parsed *pg.ParseResult) (string, error) {
	parenthesize(parsed.ProtoReflect())
	return pg.Deparse(parsed)
}

// WithoutPlaces takes the positions in the text out of a tree, and the modifiers of types, which a tree that was
// made need not have.
func WithoutPlaces(parsed *pg.ParseResult) *pg.ParseResult {
	forget(parsed.ProtoReflect())
	return parsed
}

func forget(message protoreflect.Message) {
	for _, name := range []protoreflect.Name{"location", "stmt_len", "stmt_location", "typemod"} {
		if field := message.Descriptor().Fields().ByName(name); field != nil {
			message.Clear(field)
		}
	}
	for child := range tree.Children(message) {
		forget(child)
	}
}

func parenthesize(message protoreflect.Message) {
	switch x := message.Interface().(type) {
	case *pg.A_Expr:
		operand(x.Lexpr)
		operand(x.Rexpr)
		operands(x.Rexpr.GetList().GetItems()) // of BETWEEN and IN
		switch x.Kind {
		case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE, pg.A_Expr_Kind_AEXPR_SIMILAR:
			operands(x.Rexpr.GetFuncCall().GetArgs()) // like_escape(pattern, character), which is written as SQL has it
		}
	case *pg.NullTest:
		operand(x.Arg)
	case *pg.BooleanTest:
		operand(x.Arg)
	case *pg.SubLink:
		operand(x.Testexpr)
	case *pg.CollateClause:
		operand(x.Arg)
	case *pg.JsonIsPredicate:
		operand(x.Expr)
	case *pg.XmlExpr:
		operands(x.Args)
	case *pg.FuncCall:
		if x.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX { // a AT TIME ZONE b, position(a IN b)
			operands(x.Args)
		}
	case *pg.A_Indirection:
		if !bare(x.Arg) {
			enclose(x.Arg)
		}
	}
	for child := range tree.Children(message) {
		parenthesize(child)
	}
}

func operands(list []*pg.Node) {
	for _, n := range list {
		operand(n)
	}
}

// operand gives an expression that binds its parts itself the parentheses in which it is one operand of another.
func operand(n *pg.Node) {
	switch x := n.GetNode().(type) {
	case *pg.Node_AExpr, *pg.Node_BoolExpr, *pg.Node_NullTest, *pg.Node_BooleanTest, *pg.Node_CollateClause, *pg.Node_JsonIsPredicate,
		*pg.Node_XmlExpr:
		enclose(n)
	case *pg.Node_SubLink:
		if k := x.SubLink.SubLinkType; k != pg.SubLinkType_EXPR_SUBLINK && k != pg.SubLinkType_EXISTS_SUBLINK {
			enclose(n)
		}
	case *pg.Node_FuncCall:
		f := x.FuncCall
		if f.Funcformat == pg.CoercionForm_COERCE_SQL_SYNTAX && len(f.Args) > 1 && isTimeZone(f.Funcname) {
			enclose(n)
		}
	}
}

func isTimeZone(name []*pg.Node) bool {
	return len(name) > 0 && name[len(name)-1].GetString_().GetSval() == "timezone"
}

// bare reports whether a field or an element of n, (…).f or (…)[1], needs no parentheses but the deparser's own.
func bare(n *pg.Node) bool {
	switch x := n.GetNode().(type) {
	case *pg.Node_ColumnRef:
		fields := x.ColumnRef.Fields
		return len(fields) == 0 || fields[len(fields)-1].GetAStar() == nil
	case *pg.Node_SubLink:
		return x.SubLink.SubLinkType == pg.SubLinkType_EXPR_SUBLINK
	case *pg.Node_ParamRef, *pg.Node_FuncCall, *pg.Node_RowExpr, *pg.Node_AArrayExpr, *pg.Node_AIndirection:
		return true
	}
	return false
}

// enclose puts an expression into parentheses: those of a row of one value, which are read as nothing else.
func enclose(n *pg.Node) {
	inner := &pg.Node{Node: n.Node}
	n.Node = &pg.Node_RowExpr{RowExpr: &pg.RowExpr{Args: []*pg.Node{inner}, RowFormat: pg.CoercionForm_COERCE_IMPLICIT_CAST}}
}
