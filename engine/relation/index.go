package relation

import (
	"strings"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// orders are PostgreSQL's bits of an index' columns.
var orders = map[string]int{"": 0, "DESC": 3, "DESC NULLS LAST": 1, "NULLS FIRST": 2}

// Indexes are a table's indexes as PostgreSQL's catalogs show them, those of its keys among them. Keys that rows are
// not held to have invalid ones. What cannot be read is not shown, as of Constraints.
func Indexes(table catalog.Table) (shown []pgcatalog.Index) {
	list, err := constraint.Of(table.Columns)
	if err != nil {
		return nil
	}
	for _, k := range list {
		if !k.IsIndex() && !k.Unique() {
			continue
		}
		x := pgcatalog.Index{
			Name: k.Name, FirstName: k.FirstName(), Columns: columnNumbers(table.Columns, k.Columns), Classes: k.Classes,
			Method: k.AccessMethod(), Options: k.Options, Unique: k.Unique(), Primary: k.Kind == constraint.PrimaryKey,
			Immediate: !k.Deferrable, Valid: k.Held || k.Kind == constraint.Index, NullsNotDistinct: k.NullsNotDistinct,
			Comment: k.IndexComment,
		}
		if k.IsIndex() {
			x.Comment = k.Comment
		}
		for i := range k.Columns {
			x.Orders = append(x.Orders, orders[constraint.At(k.Orders, i)])
		}
		const here = "\x00" // no name has one
		x.Head, x.Tail, _ = strings.Cut(k.IndexDefinition(here, dialect.PlainIdentifier), here)
		shown = append(shown, x)
	}
	return shown
}
