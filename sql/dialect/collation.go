package dialect

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// A column keeps no collation: a query whose result has one becomes no table. What DuckDB's own tables and views bring
// with them shows in no text, and is not seen here.

// RefuseCollations is the error of a query whose columns would have a collation of their own. tree may be nil.
func RefuseCollations(query string, tree *pg.ParseResult) error {
	name, found := statement.Collation(query)
	if found && tree != nil {
		name, found = collationOfColumn(tree)
	}
	if !found {
		return nil
	}
	return sqlerror.New("0A000", "COLLATE %s of a column is not supported", name).WithHint(statement.CollationAdvice)
}

// collationOfColumn looks for one that is not plain in the select lists of a tree: elsewhere it only says how something
// is compared.
func collationOfColumn(tree *pg.ParseResult) (name string, found bool) {
	list := func(nodes []*pg.Node) {
		for _, n := range nodes {
			EachNode(n.ProtoReflect(), func(node any) {
				c, ok := node.(*pg.CollateClause)
				if !ok || found {
					return
				}
				parts := make([]string, len(c.Collname))
				for i, part := range c.Collname {
					parts[i] = part.GetString_().GetSval()
				}
				schema := ""
				if len(parts) > 1 {
					schema = parts[0]
				}
				name = parts[len(parts)-1]
				found = !statement.IsPlainCollation(schema, name)
			})
		}
	}
	EachNode(tree.ProtoReflect(), func(node any) {
		if s, ok := node.(*pg.SelectStmt); ok {
			list(s.TargetList)
			list(s.ValuesLists)
		}
	})
	return name, found
}
