package typing

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

// exactReal is beyond which whole numbers a real has not all of.
const exactReal = 1 << 24

// compares reports whether types may say what a comparison means: one with a number that a real may not be, or with a
// text that ends with a blank or is a number; or whether it may be one of types that are not compared.
func compares(e *pg.A_Expr) bool {
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL:
		return e.Rexpr.GetAConst().GetSval() != nil || isTelling(e.Lexpr) || isTelling(e.Rexpr)
	case pg.A_Expr_Kind_AEXPR_NULLIF,
		pg.A_Expr_Kind_AEXPR_BETWEEN_SYM, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
	default:
		if !isComparison(e) {
			return false
		}
	}
	return isTelling(e.Lexpr) || isTelling(e.Rexpr) || mayBeText(e.Lexpr) || mayBeText(e.Rexpr) ||
		mayDiffer(e.Lexpr, e.Rexpr)
}

// mayDiffer reports whether two sides of a comparison are columns, or a column and a boolean or a cast. Of a column and
// a number, as keys are looked up by, the types are not looked at for this.
func mayDiffer(a, b *pg.Node) bool {
	if list := b.GetList().GetItems(); list != nil {
		return slices.ContainsFunc(list, func(x *pg.Node) bool { return mayDiffer(a, x) })
	}
	if row, other := a.GetRowExpr().GetArgs(), b.GetRowExpr().GetArgs(); len(row) > 0 && len(row) == len(other) {
		for i := range row {
			if mayDiffer(row[i], other[i]) {
				return true
			}
		}
	}
	typed := func(x *pg.Node) bool {
		return isColumn(x) || x.GetTypeCast() != nil || x.GetAConst().GetBoolval() != nil
	}
	return isColumn(a) && typed(b) || isColumn(b) && typed(a)
}

// mayBeText reports whether a side of a comparison is computed, and may be a text.
func mayBeText(x *pg.Node) bool {
	if f := x.GetFuncCall(); f != nil {
		name := tree.LastText(f.Funcname)
		return textFunctions[name] || ourTextFunctions[strings.TrimPrefix(name, pgcatalog.TranslatedPrefix)]
	}
	_, name := tree.TypeName(x.GetTypeCast().GetTypeName())
	return x.GetSubLink() != nil || textTypes[name] != 0
}

func isComparison(e *pg.A_Expr) bool {
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_OP:
		switch tree.LastText(e.Name) {
		case "=", "<>", "<", ">", "<=", ">=":
			return e.Lexpr != nil
		}
	case pg.A_Expr_Kind_AEXPR_IN, pg.A_Expr_Kind_AEXPR_DISTINCT, pg.A_Expr_Kind_AEXPR_NOT_DISTINCT,
		pg.A_Expr_Kind_AEXPR_BETWEEN, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN:
		return true
	}
	return false
}

// isTest reports whether an operator that compares no two values of a type gives a boolean.
func isTest(e *pg.A_Expr) bool {
	switch e.Kind {
	case pg.A_Expr_Kind_AEXPR_LIKE, pg.A_Expr_Kind_AEXPR_ILIKE, pg.A_Expr_Kind_AEXPR_SIMILAR,
		pg.A_Expr_Kind_AEXPR_OP_ANY, pg.A_Expr_Kind_AEXPR_OP_ALL,
		pg.A_Expr_Kind_AEXPR_BETWEEN_SYM, pg.A_Expr_Kind_AEXPR_NOT_BETWEEN_SYM:
		return true
	case pg.A_Expr_Kind_AEXPR_OP:
		switch tree.LastText(e.Name) {
		case "~", "~*", "!~", "!~*", "@>", "<@", "&&", "~~", "!~~", "~~*", "!~~*", "^@":
			return e.Lexpr != nil
		}
	}
	return false
}

func isTelling(x *pg.Node) bool {
	if slices.ContainsFunc(x.GetList().GetItems(), isTelling) || slices.ContainsFunc(x.GetRowExpr().GetArgs(), isTelling) {
		return true
	}
	c := x.GetAConst()
	text := c.GetSval().GetSval()
	return mayRound(c) || isNumeric(x) || strings.HasSuffix(text, " ") || mayBeRounded(text) || strings.HasPrefix(text, "{")
}

// mayRound reports whether a constant may be another number as a real.
func mayRound(c *pg.A_Const) bool {
	whole := c.GetIval().GetIval()
	return c.GetFval() != nil || whole > exactReal || whole < -exactReal
}

// compared are the sides of a comparison. PostgreSQL compares a real and a number as double precisions, DuckDB as
// reals; and a character(n) without the blanks at the end of either side, which DuckDB has as they are. Beside a list
// of several numbers a real is compared as one in PostgreSQL, too.
func (w *translation) compared(e *pg.A_Expr) {
	list := e.Rexpr.GetList().GetItems()
	sides := append([]*pg.Node{e.Lexpr}, list...)
	if len(sides) == 1 {
		sides = append(sides, e.Rexpr)
	}
	reals := e.Kind == pg.A_Expr_Kind_AEXPR_IN && len(list) > 1
	for _, side := range sides {
		t := w.of(side)
		if t != realType && t != bpcharType || t == realType && reals {
			continue
		}
		for _, other := range sides {
			switch c := other.GetAConst(); {
			case t == bpcharType:
				w.trimmed(other)
			case mayRound(c), c == nil && w.of(other) == numericType:
				_ = w.cast(other, "double precision") || w.wrap(other, "CAST(", " AS double precision)")
			}
		}
	}
}

// caseCompared are the values of CASE x WHEN, beside which x stands.
func (w *translation) caseCompared(c *pg.CaseExpr) {
	if c.Arg == nil || w.of(c.Arg) != realType && w.of(c.Arg) != bpcharType {
		return
	}
	for _, when := range c.Args {
		x := when.GetCaseWhen().GetExpr()
		w.compared(&pg.A_Expr{Kind: pg.A_Expr_Kind_AEXPR_OP, Lexpr: c.Arg, Rexpr: x})
	}
}

// trimmed writes a string without the blanks at its end.
func (w *translation) trimmed(x *pg.Node) {
	text := x.GetAConst().GetSval().GetSval()
	if !strings.HasSuffix(text, " ") {
		return
	}
	if t := lex.Client.Next(w.sql, int(x.GetAConst().Location)); t.Kind == lex.String {
		by := lex.QuoteString(strings.TrimRight(text, " "))
		w.edits = append(w.edits, change{t.Start, t.End(), by, len(w.edits)})
	}
}

// unitedNames are the types that a string may be given in a set operation, as DuckDB has them.
var unitedNames = map[uint32]string{
	smallType: "smallint", integerType: "integer", bigintType: "bigint", realType: "real",
	doubleType: "double precision", booleanType: "boolean",
	dateType: "date", timestampType: "timestamp", timestampTZType: "timestamptz", intervalType: "interval",
}

// unite casts the strings that stand by themselves in one of the queries of a set operation to what the other puts
// out: DuckDB makes texts of both.
func (w *translation) unite(arm, beside *bind.Query) {
	list := arm.Stmt.GetTargetList()
	if arm.Left != nil || arm.Open || beside.Open || len(list) != len(arm.Outputs) || len(list) != len(beside.Outputs) {
		return
	}
	for i, n := range list {
		target := n.GetResTarget()
		value := target.GetVal().GetAConst().GetSval()
		if value == nil {
			continue
		}
		name := ""
		if target.Name == "" {
			name = " AS " + lex.Quote(pgcatalog.NoName)
		}
		t := w.query(beside, i)
		by := w.number(target.Val, t, false)
		if by == "" && unitedNames[t] != "" {
			by = lex.QuoteString(value.Sval) + "::" + unitedNames[t]
		}
		if by != "" {
			w.replaceString(target.GetVal().GetAConst(), by+name)
		}
	}
}

// isNumeric reports whether x is a cast to numeric.
func isNumeric(x *pg.Node) bool {
	if cast := x.GetTypeCast(); cast != nil {
		_, name := tree.TypeName(cast.TypeName)
		return namedTypes[name] == numericType
	}
	name := tree.LastText(x.GetFuncCall().GetFuncname())
	return name == "csm_numeric" || name == "csm_numeric__exact" || name == "csm_numeric__parameter" ||
		name == "csm_numeric__of_text"
}
