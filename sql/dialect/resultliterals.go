package dialect

import (
	"cmp"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/literal"
)

// A string in an expression that goes into a column is of the column's type where the expression passes it on as it is:
// by itself, as a result of CASE, as an argument of COALESCE, in a scalar sub-query. Most types DuckDB would find out
// by a cast of the whole; not those whose values it spells in another way (package literal).

// eachResult visits the strings that an expression passes on.
func eachResult(n *pg.Node, visit func(*pg.A_Const)) {
	if c := n.GetAConst(); c.GetSval() != nil {
		visit(c)
	}
	if c := n.GetCaseExpr(); c != nil {
		for _, when := range c.Args {
			eachResult(when.GetCaseWhen().GetResult(), visit)
		}
		eachResult(c.Defresult, visit)
	}
	for _, argument := range n.GetCoalesceExpr().GetArgs() {
		eachResult(argument, visit)
	}
	if s := n.GetSubLink(); s != nil && s.SubLinkType == pg.SubLinkType_EXPR_SUBLINK {
		eachArm(s.Subselect.GetSelectStmt(), func(row []*pg.Node) {
			if len(row) == 1 {
				eachResult(row[0], visit)
			}
		})
	}
}

// eachArm visits the select lists, and the rows of VALUES, of a query and of those that a UNION is made of.
func eachArm(s *pg.SelectStmt, visit func(row []*pg.Node)) {
	if s == nil {
		return
	}
	if s.Op != pg.SetOperation_SETOP_NONE {
		eachArm(s.Larg, visit)
		eachArm(s.Rarg, visit)
		return
	}
	var values []*pg.Node
	for _, target := range s.TargetList {
		values = append(values, target.GetResTarget().GetVal())
	}
	if len(values) > 0 {
		visit(values)
	}
	for _, row := range s.ValuesLists {
		visit(row.GetList().GetItems())
	}
}

// SpelledFor writes an expression whose strings are values of a column as DuckDB reads them.
func SpelledFor(expression string, f arrow.Field) (string, error) {
	form := literal.Of(f)
	const before = "SELECT "
	if !form.Translates() || !mayTranslate(lex.Client.Text(before+expression)) {
		return expression, nil
	}
	tree := TreeOf(before + expression)
	if tree == nil || len(tree.Stmts) != 1 {
		return expression, nil
	}
	targets := tree.Stmts[0].GetStmt().GetSelectStmt().GetTargetList()
	if len(targets) != 1 {
		return expression, nil
	}
	at := map[int]string{} // offset of a literal → what stands for it
	var failed error
	eachResult(targets[0].GetResTarget().GetVal(), func(c *pg.A_Const) {
		by, err := form.Translate(c.GetSval().Sval)
		failed = cmp.Or(failed, err)
		if err == nil && by != c.GetSval().Sval {
			at[int(c.Location)] = duckdb.QuoteLiteral(by)
		}
	})
	if len(at) == 0 {
		return expression, failed
	}
	text, _ := ReplaceTokens(before+expression, func(_ string, offset int) (string, bool) {
		by, ok := at[offset]
		return by, ok
	})
	return strings.TrimPrefix(text, before), failed
}
