package rewrite

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// beside is an entry of an UPDATE's FROM or a DELETE's USING, of whose columns RETURNING may list some (RW5).
type beside struct {
	alias  string
	fields []arrow.Field
}

// find asks what columns the entries have.
func (r *Returning) find(columns func(query string) (*arrow.Schema, error), target string) error {
	list, merged, ok := entriesOf(r.Using)
	if !ok {
		return sqlerror.New("0A000", "RETURNING with a FROM or USING that is written like this is not supported").
			WithHint("Give each of its entries an alias.")
	}
	if merged && len(statement.Stars(r.List)) > 0 {
		return sqlerror.New("0A000", "RETURNING * with JOIN … USING or a NATURAL JOIN is not supported").
			WithHint("List the columns.")
	}
	r.beside = nil
	for _, alias := range list {
		query := r.With + " SELECT " + duckdb.QuoteIdentifier(alias) + ".* FROM " + target + ", " + r.Using
		schema, err := columns(query)
		if err != nil {
			return dialect.WithoutPosition(err)
		}
		r.beside = append(r.beside, beside{alias, schema.Fields()})
	}
	return nil
}

// entriesOf are the names of a FROM's entries. merged: a join merges columns. Not ok: one has no name.
func entriesOf(from string) (names []string, merged, ok bool) {
	tree := dialect.TreeOf("SELECT 1 FROM " + from)
	if tree == nil || len(tree.Stmts) != 1 {
		return nil, false, false
	}
	ok = true
	var visit func(n *pg.Node)
	add := func(alias *pg.Alias, name string) {
		if alias != nil {
			name = alias.Aliasname
		}
		names, ok = append(names, name), ok && name != ""
	}
	visit = func(n *pg.Node) {
		switch x := n.GetNode().(type) {
		case *pg.Node_RangeVar:
			add(x.RangeVar.Alias, x.RangeVar.Relname)
		case *pg.Node_RangeSubselect:
			add(x.RangeSubselect.Alias, "")
		case *pg.Node_RangeFunction:
			add(x.RangeFunction.Alias, "")
		case *pg.Node_RangeTableSample:
			visit(x.RangeTableSample.Relation)
		case *pg.Node_JoinExpr:
			j := x.JoinExpr
			merged = merged || j.IsNatural || len(j.UsingClause) > 0
			if j.Alias != nil {
				add(j.Alias, "")
				return
			}
			visit(j.Larg)
			visit(j.Rarg)
		default:
			ok = false
		}
	}
	for _, n := range tree.Stmts[0].GetStmt().GetSelectStmt().GetFromClause() {
		visit(n)
	}
	return names, merged, ok
}

// withStars writes what RETURNING * means: the table's columns and those of the entries beside it.
func (r *Returning) withStars() (string, edit.List) {
	all := []string{duckdb.QuoteIdentifier(r.Alias) + ".*"}
	for _, b := range r.beside {
		all = append(all, duckdb.QuoteIdentifier(b.alias)+".*")
	}
	e := edit.New(r.List)
	for _, t := range statement.Stars(r.List) {
		e.Replace(t.Start, t.End(), strings.Join(all, ", "))
	}
	return e.Text()
}

// besides are the columns of the entries, as the query that finds rows lists them, named apart from all others.
func (r *Returning) besides(prefix string) (list []string, fields []arrow.Field) {
	if r == nil {
		return nil, nil
	}
	for _, b := range r.beside {
		for _, f := range b.fields {
			list = append(list, duckdb.QuoteIdentifier(b.alias)+"."+duckdb.QuoteIdentifier(f.Name))
			fields = append(fields, f)
			fields[len(fields)-1].Name = fmt.Sprint(prefix, "_", len(fields))
		}
	}
	return list, fields
}

// from is what the list is asked of: rows, which has columns of the table and those of the entries beside it, as the
// query that found them gave them.
func (r *Returning) from(columns *arrow.Schema, rows string) string {
	if r.beside == nil {
		return "(" + Columns(columns, rows) + ") AS " + duckdb.QuoteIdentifier(r.Alias)
	}
	var names, from []string
	entry := func(alias string, fields []arrow.Field) {
		list := make([]string, len(fields))
		for i, f := range fields {
			column := ofItsType(fmt.Sprint("csm_returned.k", len(names)), f)
			list[i] = column + " AS " + duckdb.QuoteIdentifier(f.Name)
			names = append(names, fmt.Sprint("k", len(names)))
		}
		from = append(from, "LATERAL (SELECT "+strings.Join(list, ", ")+") AS "+duckdb.QuoteIdentifier(alias))
	}
	entry(r.Alias, columns.Fields())
	for _, b := range r.beside {
		entry(b.alias, b.fields)
	}
	return rows + " AS csm_returned(" + strings.Join(names, ", ") + "), " + strings.Join(from, ", ")
}
