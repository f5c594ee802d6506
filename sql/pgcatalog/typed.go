package pgcatalog

import (
	"cmp"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/tree"
)

// Typed writes a text of PostgreSQL's dialect whose meaning depends on types as one that means the same in DuckDB, as far
// as the text and the catalog say what types there are. It is sql itself, and nil, if there is nothing to write.
//
//	small * 10          small * 10::integer             DuckDB's 10 is of the type of what stands beside it
//	real * 10           real * 10::double precision     DuckDB's is a real
//	sum(i) / 2          CAST(sum(i) AS bigint) / 2      DuckDB's sum is a HUGEINT, whatever i is: sum(big) / 2 has
//	sum(big) / 2        CAST(sum(big) AS numeric(38)) / 2       a fraction in PostgreSQL, sum(i) / 2 has none
//
// A sum that is a column of the result by itself stays: Origins says what it is.
func Typed(sql string, parsed *pg.ParseResult, find Find) (string, edit.List) {
	bound, err := bind.Bind(sql, parsed, bind.CatalogFunc(func(database, schema, name string) *bind.Table {
		return find(database, schema, name).bindTable()
	}))
	if err != nil {
		return sql, nil
	}
	w := &widening{typing: typing{bound: bound}, sql: sql, stays: map[*pg.Node]bool{}, unnamed: map[*pg.Node]bool{}}
	for _, q := range bound.Queries {
		w.targets(q, slices.Contains(bound.Top, q) && !q.Stored)
	}
	for m := range tree.All(parsed.ProtoReflect()) {
		if n, ok := m.Interface().(*pg.Node); ok {
			w.node(n)
		}
	}
	slices.SortStableFunc(w.inserts, func(a, b insert) int { return cmp.Compare(a.at, b.at) })
	edited := edit.New(sql)
	for _, i := range w.inserts {
		edited.Replace(i.at, i.at, i.text)
	}
	return edited.Text()
}

// NeedsTypes tells whether types may say what a text means, without asking what is in the catalog.
func NeedsTypes(parsed *pg.ParseResult) bool {
	if len(parsed.GetStmts()) == 0 {
		return false
	}
	switch parsed.Stmts[0].GetStmt().GetNode().(type) {
	case *pg.Node_SelectStmt, *pg.Node_ExplainStmt, *pg.Node_DeclareCursorStmt, *pg.Node_PrepareStmt, *pg.Node_CopyStmt,
		*pg.Node_CreateTableAsStmt, *pg.Node_InsertStmt, *pg.Node_ViewStmt:
	default: // has no query
		return false
	}
	for m := range tree.All(parsed.ProtoReflect()) {
		switch x := m.Interface().(type) {
		case *pg.A_Expr:
			if isArithmetic(x) {
				return true
			}
		case *pg.FuncCall:
			if name := lastText(x.Funcname); name == "sum" || name == "csm_divide" {
				return true
			}
		case *pg.CoalesceExpr, *pg.MinMaxExpr, *pg.CaseExpr:
			return true
		}
	}
	return false
}

// widening is a text that is being widened.
type widening struct {
	typing
	sql     string
	stays   map[*pg.Node]bool // sums that are no operand
	unnamed map[*pg.Node]bool // columns of inner queries that have no name but that of their function
	inserts []insert
}

type insert struct {
	at   int
	text string
}

// targets finds the sums of a query that are columns by themselves, and what it is ordered by.
func (w *widening) targets(q *bind.Query, shown bool) {
	for _, target := range q.Stmt.GetTargetList() {
		t := target.GetResTarget()
		w.stays[t.GetVal()] = shown
		w.unnamed[t.GetVal()] = !shown && t.GetName() == ""
	}
	for _, s := range q.Stmt.GetSortClause() {
		w.stays[s.GetSortBy().GetNode()] = shown
	}
}

func (w *widening) node(x *pg.Node) {
	switch e := x.GetNode().(type) {
	case *pg.Node_AExpr:
		switch {
		case isArithmetic(e.AExpr):
			w.operands(e.AExpr.Lexpr, e.AExpr.Rexpr)
		case e.AExpr.Kind == pg.A_Expr_Kind_AEXPR_OP: // a comparison is the same of any type
			w.keep(e.AExpr.Lexpr, e.AExpr.Rexpr)
		}
	case *pg.Node_CoalesceExpr:
		w.choices(e.CoalesceExpr.Args)
	case *pg.Node_MinMaxExpr:
		w.choices(e.MinMaxExpr.Args)
	case *pg.Node_CaseExpr:
		w.choices(results(e.CaseExpr))
	case *pg.Node_FuncCall:
		if _, name := functionName(e.FuncCall); name == "csm_divide" && len(e.FuncCall.Args) == 2 {
			w.operands(e.FuncCall.Args[0], e.FuncCall.Args[1])
		}
		w.sum(x)
	}
}

func (w *widening) keep(list ...*pg.Node) {
	for _, x := range list {
		if isSum(x) {
			w.stays[x] = true
		}
	}
}

// operands are two that something is computed of.
func (w *widening) operands(a, b *pg.Node) {
	s, t := w.of(a), w.of(b)
	switch {
	case s == smallType && isWhole(b):
		w.cast(b, "integer")
	case t == smallType && isWhole(a):
		w.cast(a, "integer")
	case s == realType && t != realType && t != doubleType && t != 0 && t != unknownType,
		t == realType && s != realType && s != doubleType && s != 0 && s != unknownType:
		_ = w.cast(b, "double precision") || w.cast(a, "double precision")
	}
}

// choices are several of which one is taken.
func (w *widening) choices(list []*pg.Node) {
	small := false
	for _, x := range list {
		t := w.of(x)
		small = small || t == smallType
		if t != smallType && t != unknownType && !isWhole(x) {
			return
		}
	}
	for _, x := range list {
		if small && isWhole(x) {
			w.cast(x, "integer")
		}
	}
}

func isWhole(x *pg.Node) bool { return x.GetAConst().GetIval() != nil }

// cast casts a number or a column, whose ends the text shows; false: it is neither.
func (w *widening) cast(x *pg.Node, to string) bool {
	end := 0
	switch e := x.GetNode().(type) {
	case *pg.Node_AConst:
		t := lex.Client.Next(w.sql, int(e.AConst.Location))
		for t.IsAny("-", "+") {
			t = lex.Client.Next(w.sql, t.End())
		}
		if t.Kind != lex.Number {
			return false
		}
		end = t.End()
	case *pg.Node_ColumnRef:
		name, ok := bind.NameAt(w.sql, int(e.ColumnRef.Location))
		if !ok {
			return false
		}
		end = name.End
	default:
		return false
	}
	w.inserts = append(w.inserts, insert{end, "::" + to})
	return true
}

// sum casts one of whole numbers.
func (w *widening) sum(x *pg.Node) {
	if w.stays[x] || !isSum(x) {
		return
	}
	to := ""
	switch w.of(x.GetFuncCall().Args[0]) {
	case smallType, integerType:
		to = "bigint"
	case bigintType:
		to = "numeric(38, 0)"
	default:
		return
	}
	start := int(x.GetFuncCall().Location)
	end, ok := callEnd(w.sql, start)
	if !ok {
		return
	}
	to = " AS " + to + ")"
	if w.unnamed[x] {
		to += " AS sum"
	}
	w.inserts = append(w.inserts, insert{start, "CAST("}, insert{end, to})
}

// callEnd passes the call of an aggregate that begins at an offset, with what stands behind its arguments.
func callEnd(sql string, at int) (end int, ok bool) {
	t := lex.Client.Next(sql, at)
	for t.Kind == lex.Word || t.Kind == lex.Quoted || t.Is(".") {
		t = lex.Client.Next(sql, t.End())
	}
	if end, ok = closing(sql, t); !ok {
		return 0, false
	}
	for {
		word := lex.Client.Next(sql, end)
		next := lex.Client.Next(sql, word.End())
		switch {
		case word.Is("over") && (next.Kind == lex.Word || next.Kind == lex.Quoted):
			end = next.End()
		case word.IsAny("filter", "over") && next.Is("("):
			if end, ok = closing(sql, next); !ok {
				return 0, false
			}
		default:
			return end, true
		}
	}
}

// closing is behind what closes a parenthesis.
func closing(sql string, open lex.Token) (end int, ok bool) {
	if !open.Is("(") {
		return 0, false
	}
	for depth, t := 0, open; !t.Ends(); t = lex.Client.Next(sql, t.End()) {
		switch {
		case t.IsAny("(", "["):
			depth++
		case t.IsAny(")", "]"):
			if depth--; depth == 0 {
				return t.End(), true
			}
		}
	}
	return 0, false
}
