package typing

import (
	"cmp"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// shownNames are the types of numbers, and booleans, as errors name them.
var shownNames = map[uint32]string{
	smallType: "smallint", integerType: "integer", bigintType: "bigint", numericType: "numeric", realType: "real",
	doubleType: "double precision", booleanType: "boolean",
}

// mismatch is what PostgreSQL refuses of a part of a text by the types of what stands side by side, and DuckDB does
// not: a boolean beside a number is one there, and what stands beside a text is a text; and of names for more columns
// than there are.
func (w *translation) mismatch(part any, parsed *pg.ParseResult, find Find) error {
	switch x := part.(type) {
	case *pg.CoalesceExpr:
		return w.matched("COALESCE", x.Args)
	case *pg.MinMaxExpr:
		if x.Op == pg.MinMaxOp_IS_LEAST {
			return w.matched("LEAST", x.Args)
		}
		return w.matched("GREATEST", x.Args)
	case *pg.CaseExpr:
		list := results(x)
		if x.Defresult != nil { // it is looked at first
			list = append([]*pg.Node{x.Defresult}, list[:len(list)-1]...)
		}
		return w.matched("CASE", list)
	case *pg.A_ArrayExpr:
		return w.matched("ARRAY", x.Elements)
	case *pg.CommonTableExpr:
		return tooMany("WITH query", x.Ctename, outputs(x.Ctequery.GetSelectStmt()), len(x.Aliascolnames))
	case *pg.RangeVar:
		if named := len(x.Alias.GetColnames()); named > 0 && !namesQuery(parsed, x.Relname) {
			if r := find(x.Catalogname, x.Schemaname, x.Relname); r != nil {
				return tooMany("table", x.Alias.Aliasname, len(r.Columns), named)
			}
		}
	}
	return nil
}

// namesQuery reports whether a WITH query has a name, anywhere in a text.
func namesQuery(parsed *pg.ParseResult, name string) bool {
	for m := range tree.All(parsed.ProtoReflect()) {
		if c, ok := m.Interface().(*pg.CommonTableExpr); ok && c.Ctename == name {
			return true
		}
	}
	return false
}

// mismatchedQuery looks at the columns of VALUES, and of the queries of a set operation.
func (w *translation) mismatchedQuery(q *bind.Query) error {
	switch {
	case q.Left != nil && !q.Left.Open && !q.Right.Open:
		for i := range min(len(q.Left.Outputs), len(q.Right.Outputs)) {
			if err := matchedTypes(setNames[q.Stmt.Op], w.query(q.Left, i), w.query(q.Right, i)); err != nil {
				return err
			}
		}
	case len(q.Stmt.GetValuesLists()) > 1:
		for i := range q.Stmt.ValuesLists[0].GetList().GetItems() {
			if err := w.matched("VALUES", valuesAt(q.Stmt.ValuesLists, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

var setNames = map[pg.SetOperation]string{
	pg.SetOperation_SETOP_UNION: "UNION", pg.SetOperation_SETOP_INTERSECT: "INTERSECT",
	pg.SetOperation_SETOP_EXCEPT: "EXCEPT",
}

// matched are expressions of which one is taken.
func (w *translation) matched(what string, list []*pg.Node) error {
	var first uint32
	for _, x := range list {
		t := w.comparedType(x)
		if err := matchedTypes(what, first, t); err != nil {
			return err
		}
		if kinds[first] == 0 {
			first = t
		}
	}
	return nil
}

func matchedTypes(what string, a, b uint32) error {
	bytes := kinds[a] == kindBytes || kinds[b] == kindBytes // of functions that have the names of those of texts, too
	if mayCompare(a, b) || bytes {
		return nil
	}
	return sqlerror.New("42804", "%s types %s and %s cannot be matched", what, typeText(a), typeText(b))
}

// comparable are expressions that are compared with the first of them: PostgreSQL has no operator for a text, which is
// no constant, and a number, or a date and a boolean. DuckDB reads the one as the other, row by row.
func (w *translation) comparable(list []*pg.Node, op string, at int32) error {
	for _, x := range list[1:] {
		if err := w.operatorFor(list[0], op, x, at); err != nil {
			return err
		}
	}
	return nil
}

// operatorFor is the error of two expressions for which there is no operator that compares; nil: there may be one.
func (w *translation) operatorFor(a *pg.Node, op string, b *pg.Node, at int32) error {
	if s, t := w.of(a), w.of(b); s == byteaType && t == 0 || s == 0 && t == byteaType {
		return nil // btrim(x, y) is of bytes, too
	}
	return w.noOperator(w.comparedType(a), op, w.comparedType(b), at)
}

// comparedRows is the same of what is looked for in the rows of a query.
func (w *translation) comparedRows(s *pg.SubLink, q *bind.Query) error {
	sides := []*pg.Node{s.Testexpr}
	if row := s.Testexpr.GetRowExpr(); row != nil {
		sides = row.Args
	}
	for i, x := range sides {
		t, list := w.query(q, i), q.Stmt.GetTargetList()
		if t == unknownType || t == 0 && len(list) == len(sides) && w.isText(list[i].GetResTarget().GetVal()) {
			t = textType
		}
		if err := w.noOperator(w.comparedType(x), cmp.Or(tree.LastText(s.OperName), "="), t, s.Location); err != nil {
			return err
		}
	}
	return nil
}

// noOperator is the error of an operator that compares values of two types, and that is not there; nil: it may be.
func (w *translation) noOperator(a uint32, op string, b uint32, at int32) error {
	if mayCompare(a, b) {
		return nil
	}
	return w.withoutOperator(a, op, b, at)
}

func (w *translation) withoutOperator(a uint32, op string, b uint32, at int32) error {
	e := sqlerror.New("42883", "operator does not exist: %s %s %s", typeText(a), op, typeText(b)).
		WithHint("No operator matches the given name and argument types. You might need to add explicit type casts.")
	e.At = edit.Position(w.sql, int(at))
	return e
}

// notJoined is the error of || between types of which neither is a text or an array.
func (w *translation) notJoined(e *pg.A_Expr) error {
	a, b := w.of(e.Lexpr), w.of(e.Rexpr)
	if kinds[a] == 0 || kinds[b] == 0 || kinds[a] == kindText || kinds[b] == kindText ||
		a == byteaType && b == byteaType {
		return nil
	}
	return w.withoutOperator(a, "||", b, e.Location)
}

// merged refuses columns that USING or NATURAL compare and that cannot be.
func (w *translation) merged(f *bind.From) error {
	if f == nil || f.Join == nil {
		return nil
	}
	for _, pair := range f.Using {
		a, b := w.column(pair[0]), w.column(pair[1])
		if !mayCompare(a, b) {
			return sqlerror.New("42804", "JOIN/USING types %s and %s cannot be matched", typeText(a), typeText(b))
		}
	}
	return cmp.Or(w.merged(f.Left), w.merged(f.Right))
}

// kind is a group of types that are compared with each other.
type kind int

const (
	kindText kind = iota + 1
	kindNumber
	kindBoolean
	kindTime
	kindInterval // and the time of day, which becomes one
	kindBytes
	kindUUID
)

var kinds = map[uint32]kind{
	textType: kindText, varcharType: kindText, bpcharType: kindText, smallType: kindNumber, integerType: kindNumber,
	bigintType: kindNumber, numericType: kindNumber, realType: kindNumber, doubleType: kindNumber,
	booleanType: kindBoolean, dateType: kindTime, timestampType: kindTime, timestampTZType: kindTime,
	intervalType: kindInterval, timeType: kindInterval, byteaType: kindBytes, uuidType: kindUUID,
}

const (
	timeType = 1083
	uuidType = 2950
)

// mayCompare reports whether there may be operators that compare values of two types.
func mayCompare(a, b uint32) bool {
	switch {
	case arrays[a] && arrays[b]:
		return mayCompare(elementsOf[a], elementsOf[b])
	case arrays[a] || arrays[b]:
		return kinds[a] == 0 && kinds[b] == 0
	}
	return kinds[a] == 0 || kinds[b] == 0 || kinds[a] == kinds[b]
}

// typeText is the name of a type in an error.
func typeText(t uint32) string {
	if element := elementsOf[t]; element != 0 {
		return typeTexts[element] + "[]"
	}
	return typeTexts[t]
}

// comparedType is the type of a side of a comparison, 0 if it is not certain. What a query gives without a type is a
// text.
func (w *translation) comparedType(x *pg.Node) uint32 {
	if x.GetParamRef() != nil || x.GetRowExpr() != nil {
		return 0
	}
	t := w.of(x)
	switch {
	case x.GetAConst() != nil:
		return t // of a string, or NULL, it is of no kind
	case t == unknownType && (x.GetColumnRef() != nil || x.GetSubLink() != nil), t == 0 && w.isText(x):
		return textType
	case t == unknownType:
		return 0
	}
	return t
}

func tooMany(what, name string, available, named int) error {
	if available < 0 || named <= available {
		return nil
	}
	return sqlerror.New("42P10", "%s %q has %d columns available but %d columns specified", what, name, available, named)
}

// outputs is how many columns a query puts out, -1 if the text does not say it.
func outputs(s *pg.SelectStmt) int {
	switch {
	case s == nil:
		return -1
	case s.Larg != nil:
		return outputs(s.Larg)
	case len(s.ValuesLists) > 0:
		return len(s.ValuesLists[0].GetList().GetItems())
	}
	for _, n := range s.TargetList {
		if tree.IsStar(n.GetResTarget().GetVal()) || n.GetResTarget().GetVal().GetFuncCall() != nil {
			return -1 // DuckDB's COLUMNS(…) is a call
		}
	}
	return len(s.TargetList)
}

// mayMismatch reports whether mismatches may find something in a query by itself.
func mayMismatch(s *pg.SelectStmt) bool {
	for _, arm := range []*pg.SelectStmt{s.Larg, s.Rarg} {
		for _, target := range arm.GetTargetList() {
			if target.GetResTarget().GetVal().GetAConst().GetBoolval() != nil {
				return true
			}
		}
	}
	if len(s.ValuesLists) < 2 {
		return false
	}
	booleans, numbers := map[int]bool{}, map[int]bool{}
	for _, row := range s.ValuesLists {
		for i, item := range row.GetList().GetItems() {
			switch c := item.GetAConst(); {
			case mayBeRounded(c.GetSval().GetSval()):
				return true
			case c.GetBoolval() != nil:
				booleans[i] = true
			case c.GetIval() != nil || c.GetFval() != nil:
				numbers[i] = true
			}
			if booleans[i] && numbers[i] {
				return true
			}
		}
	}
	return false
}

// mixes reports whether a list has constants of both kinds.
func mixes(list []*pg.Node) bool {
	booleans, numbers := false, false
	for _, x := range list {
		c := x.GetAConst()
		booleans = booleans || c.GetBoolval() != nil
		numbers = numbers || c.GetIval() != nil || c.GetFval() != nil
	}
	return booleans && numbers
}

// insertedRows is the query of an INSERT, of whose VALUES each is assigned to a column by itself; nil: there is none.
func insertedRows(parsed *pg.ParseResult) *pg.SelectStmt {
	if len(parsed.GetStmts()) == 0 {
		return nil
	}
	return unwrapped(parsed.Stmts[0].GetStmt()).GetInsertStmt().GetSelectStmt().GetSelectStmt()
}
