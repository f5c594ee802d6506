package typing

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/bind"
	"github.com/csmsql/csmsql/sql/pgcatalog"
)

// Origin is the column of a table or view that a result column shows as it is; drivers ask for it (getTableName,
// isAutoIncrement). Its zero value is that of a column that is computed, or of which that is not certain.
type Origin struct {
	Table  uint32 // pg_class.oid
	Column uint16 // pg_attribute.attnum
	// Type and Typmod are the column's atttypid and atttypmod. Of a computed column, whose Table is 0, Type is bigint
	// if that is what PostgreSQL gives for its sum of whole numbers.
	Type   uint32
	Typmod int32
}

// Find gives the relation that a name means in a statement; nil: none that users made.
type Find func(database, schema, name string) *pgcatalog.Relation

// bound resolves the names of a text.
func bound(sql string, parsed *pg.ParseResult, find Find) (*bind.Statement, error) {
	return bind.Bind(sql, parsed, bind.CatalogFunc(func(database, schema, name string) *bind.Table {
		r := find(database, schema, name)
		if r == nil {
			return nil
		}
		t := &bind.Table{Schema: r.Schema, Name: r.Name, Columns: make([]string, len(r.Columns)), Of: r}
		for i, c := range r.Columns {
			t.Columns[i] = c.Name
		}
		return t
	}))
}

// Origins returns where the result columns of the first statement, a SELECT, come from; sql is the text that the tree
// was parsed from. As with PostgreSQL (parse_target.c, markTargetListOrigin) that is followed through joins,
// sub-selects and WITH, and not through UNION and the like. It is nil if no column comes from a table, or if the text
// does not determine the columns.
func Origins(sql string, parsed *pg.ParseResult, find Find) []Origin {
	if len(parsed.GetStmts()) == 0 {
		return nil
	}
	s := parsed.Stmts[0].GetStmt().GetSelectStmt()
	if s == nil || len(s.FromClause) == 0 {
		return nil
	}
	names, err := bound(sql, parsed, find)
	if err != nil {
		return nil
	}
	q := names.Query(s)
	if q.Open || q.Dialect {
		return nil
	}
	origins, sums := make([]Origin, len(q.Outputs)), &inference{bound: names}
	for i, o := range q.Outputs {
		if base := o.Column.Base(); base.Item != nil {
			r := base.Item.Table.Of.(*pgcatalog.Relation)
			if c := r.Columns[base.Index]; r.OID != 0 { // a temporary one is in no catalog
				origins[i] = Origin{r.OID, uint16(base.Index + 1), c.Type, c.Typmod}
			}
		} else if o.Target < len(s.TargetList) && sums.isBigint(s.TargetList[o.Target].GetResTarget().GetVal()) {
			origins[i] = Origin{Type: bigintType, Typmod: -1}
		}
	}
	if !slices.ContainsFunc(origins, func(o Origin) bool { return o != Origin{} }) {
		return nil
	}
	return origins
}
