package inline

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/tree"
)

// Expression is what a body that is a query selects: SELECT and an expression.
func Expression(function, query string) (string, error) {
	more := notOne(function)
	parsed, err := tree.Parse(query)
	if err != nil {
		return "", sqlerror.New("42601", "the body of function %s is not one SELECT", function).WithDetail(err.Error())
	}
	first := lex.Client.Next(query, 0)
	if len(parsed.Stmts) != 1 || !first.Is("select") || !isSingle(parsed.Stmts[0].Stmt.GetSelectStmt()) {
		return "", more
	}
	from := lex.Client.Next(query, first.End())
	if from.Is("all") {
		from = lex.Client.Next(query, from.End())
	}
	var tokens []lex.Token
	for t := from; !t.Ends(); t = lex.Client.Next(query, t.End()) {
		tokens = append(tokens, t)
	}
	for len(tokens) > 0 && tokens[len(tokens)-1].Is(";") {
		tokens = tokens[:len(tokens)-1]
	}
	if parsed.Stmts[0].Stmt.GetSelectStmt().TargetList[0].GetResTarget().GetName() != "" { // AS a
		if tokens = tokens[:len(tokens)-1]; len(tokens) > 0 && tokens[len(tokens)-1].Is("as") {
			tokens = tokens[:len(tokens)-1]
		}
	}
	if len(tokens) == 0 {
		return "", more
	}
	return query[from.Start:tokens[len(tokens)-1].End()], nil
}

func notOne(function string) error {
	e := sqlerror.New("0A000", "the body of function %s is not one expression, which is what is supported", function)
	return e.WithHint("SELECT and an expression of the parameters, without FROM.")
}

// isSingle reports whether a query selects one expression of nothing.
func isSingle(s *pg.SelectStmt) bool {
	return s != nil && len(s.TargetList) == 1 && s.Op == pg.SetOperation_SETOP_NONE && len(s.FromClause) == 0 &&
		s.WhereClause == nil && s.GroupClause == nil && s.HavingClause == nil && s.WithClause == nil &&
		s.LimitCount == nil && s.LimitOffset == nil && s.SortClause == nil && s.DistinctClause == nil &&
		s.IntoClause == nil && s.WindowClause == nil && s.LockingClause == nil && len(s.ValuesLists) == 0
}
