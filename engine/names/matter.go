package names

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/sql/dialect"
)

// Matter reports whether DuckDB resolves names of a statement for which it can make a difference that some were
// redefined: itself, or a view, which may read it. redefined is nil if all may have been. spliced says which relations,
// by where their names stand, are not DuckDB's to resolve.
func Matter(tree *pg.ParseResult, spliced map[int]bool, redefined []catalog.TableName, views []*catalog.View) bool {
	matters := func(name string) bool {
		same := func(n catalog.TableName) bool { return strings.EqualFold(n.Name, name) }
		return redefined == nil || slices.ContainsFunc(redefined, same) ||
			slices.ContainsFunc(views, func(w *catalog.View) bool { return same(w.Name) })
	}
	found := false
	dialect.EachNode(tree.ProtoReflect(), func(node any) {
		switch node := node.(type) {
		case *pg.RangeVar:
			found = found || !spliced[int(node.Location)] && matters(node.Relname)
		case *pg.RangeFunction:
			found = found || !Unaffected(node)
		}
	})
	return found
}
