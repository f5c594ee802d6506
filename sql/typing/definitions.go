package typing

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/tree"
)

// The expressions of a table's definition are read over the columns that the same text gives it: those of
//
//	CREATE TABLE t (a text, b int DEFAULT …, c int GENERATED ALWAYS AS (a::int), CHECK (a::int > 1))
//	ALTER TABLE t ADD d text CHECK (d::int > b), ALTER a TYPE int USING a::int
//
// and those of CREATE DOMAIN n AS text CHECK (VALUE::int > 1) over VALUE.

// definition is what a text says of a table that it makes or alters, or of a domain that it makes.
type definition struct {
	table       *pg.RangeVar // nil: of a domain
	value       uint32       // the type of that one's values
	alters      bool
	like        bool // others give it columns, too
	columns     []pgcatalog.Column
	expressions []*pg.Node
}

// definitionIn is the one of a statement; nil: it has none.
func definitionIn(parsed *pg.ParseResult) *definition {
	if len(parsed.GetStmts()) == 0 {
		return nil
	}
	s := parsed.Stmts[0].GetStmt()
	switch create, alter := s.GetCreateStmt(), s.GetAlterTableStmt(); {
	case create != nil && create.Relation != nil:
		d := &definition{table: create.Relation, like: len(create.InhRelations) > 0 || create.OfTypename != nil}
		for _, element := range create.TableElts {
			d.element(element)
		}
		d.constraints(create.Constraints)
		return d
	case s.GetCreateDomainStmt() != nil:
		d := &definition{value: columnType(s.GetCreateDomainStmt().TypeName)}
		d.constraints(s.GetCreateDomainStmt().Constraints)
		return d
	case alter != nil && alter.Relation != nil:
		d := &definition{table: alter.Relation, alters: true}
		for _, n := range alter.Cmds {
			c := n.GetAlterTableCmd()
			switch c.GetSubtype() {
			case pg.AlterTableType_AT_AddColumn, pg.AlterTableType_AT_AddConstraint:
				d.element(c.Def)
			case pg.AlterTableType_AT_AlterColumnType:
				d.expression(c.Def.GetColumnDef().GetRawDefault())
			case pg.AlterTableType_AT_ColumnDefault:
				d.expression(c.Def)
			}
		}
		return d
	}
	return nil
}

// element reads a column, or a constraint of the table.
func (d *definition) element(n *pg.Node) {
	switch c := n.GetColumnDef(); {
	case n.GetTableLikeClause() != nil:
		d.like = true
	case c != nil:
		of := pgcatalog.Column{Name: c.Colname, Type: columnType(c.TypeName), Typmod: -1}
		if digits, fraction, is := numericDigits(c.TypeName); is {
			of.Typmod = int32(digits<<16|fraction) + typmodHeader
		}
		d.columns = append(d.columns, of)
		d.expression(c.RawDefault)
		d.constraints(c.Constraints)
	case n.GetConstraint() != nil:
		d.expression(n.GetConstraint().RawExpr)
	}
}

func (d *definition) constraints(list []*pg.Node) {
	for _, n := range list {
		d.expression(n.GetConstraint().GetRawExpr())
	}
}

func (d *definition) expression(x *pg.Node) {
	if x != nil {
		d.expressions = append(d.expressions, x)
	}
}

// columnType is the type of a column, 0 if it is not certain.
func columnType(t *pg.TypeName) uint32 {
	_, name := tree.TypeName(t)
	of := namedTypes[name]
	switch name {
	case "varchar":
		of = varcharType
	case "bpchar":
		of = bpcharType
	}
	if len(t.GetArrayBounds()) > 0 {
		return arraysOf[of]
	}
	return of
}

// found is the table that is defined where that is asked for, and what find finds elsewhere.
func (d *definition) found(find Find) Find {
	if d.table == nil {
		return find
	}
	return func(database, schema, name string) *pgcatalog.Relation {
		before := (*pgcatalog.Relation)(nil)
		if d.alters || !lex.Same(name, d.table.Relname) {
			before = find(database, schema, name)
		}
		if !lex.Same(name, d.table.Relname) || d.like || d.alters && before == nil {
			return before
		}
		of := pgcatalog.Relation{Schema: schema, Name: name, Kind: 'r'}
		if before != nil {
			of = *before
		}
		of.Columns = append(append([]pgcatalog.Column{}, of.Columns...), d.columns...)
		return &of
	}
}
