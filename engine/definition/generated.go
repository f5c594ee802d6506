package definition

import (
	"cmp"
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/engine/calling"
	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/constraint"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/sqlerror"
	"github.com/csmsql/csmsql/sql/statement"
)

// Generated is an error of a generated column of a table that has these columns; nil of another one.
func (r *Reader) Generated(table string, schema *arrow.Schema, c statement.Column) error {
	err := r.generated(table, schema, c)
	if e, ok := err.(*sqlerror.Error); ok && e.At == 0 {
		e.At = c.At
	}
	return err
}

func (r *Reader) generated(table string, schema *arrow.Schema, c statement.Column) error {
	if c.Generated == "" {
		return nil
	}
	with := "default"
	if c.Identity != nil {
		with = "identity"
	}
	if c.Default != "" || c.Identity != nil {
		return sqlerror.New("42601", "both %s and generation expression specified for column %q of table %q", with,
			c.Name, table)
	}
	for _, name := range columnsRead(c.Generated, schema) {
		if of := schema.Field(schema.FieldIndices(name)[0]); cast.Generated(of) != "" {
			e := sqlerror.New("42P17", "cannot use generated column %q in column generation expression", name)
			e.DetailText = "A generated column cannot reference another generated column."
			return e
		}
	}
	return r.computable(schema, c.Generated, schema.Field(schema.FieldIndices(c.Name)[0]))
}

// rowName is what the row is called whose columns an expression reads: they are not qualified.
const rowName = "csm_generated"

// computable is an error unless an expression gives values of a column, always the same for the same row.
func (r *Reader) computable(schema *arrow.Schema, expression string, f arrow.Field) error {
	var nulls []string
	for _, other := range schema.Fields() {
		name, err := columntype.SQL(other)
		if err != nil {
			return err
		}
		nulls = append(nulls, "CAST(NULL AS "+name+") AS "+duckdb.QuoteIdentifier(other.Name))
	}
	computes := calling.Computes(expression)
	text := "SELECT (" + dialect.Expression(computes) + "\n) IS NULL"
	tree := dialect.TreeOf(text)
	if ok, err := r.immutable(tree, schema, columnsRead(expression, schema)); !ok || err != nil {
		return cmp.Or[error](err, sqlerror.New("42P17", "generation expression is not immutable"))
	}
	// As a check, it may read one row and nothing else.
	as := constraint.Constraint{
		Name: f.Name, Kind: constraint.Check, Expression: "(" + computes + "\n) IS NULL", Table: rowName,
	}
	if err := r.Checks.Expression(schema, as, r.TypesOf()); err != nil {
		if e, ok := err.(*sqlerror.Error); ok {
			e.Message = strings.NewReplacer("check constraints", "column generation expressions",
				"a check constraint", "a column generation expression", "check constraint", "column generation expression").
				Replace(e.Message)
		}
		return err
	}
	value, err := cast.Computed(cast.WithGenerated(f, expression))
	if err != nil {
		return err
	}
	check, err := r.Conn.Prepare("SELECT " + value + " FROM (SELECT " + strings.Join(nulls, ", ") + ") AS " + rowName)
	if err != nil {
		if e := Shortage(err); e != nil {
			return e
		}
		return dialect.WithoutPosition(dialect.FromDuckDB(err, "", "", nil))
	}
	check.Close()
	return nil
}

// immutable reports whether an expression has the same value for the same columns at any time, and in any time zone.
func (r *Reader) immutable(tree *pg.ParseResult, schema *arrow.Schema, columns []string) (bool, error) {
	if tree == nil {
		return false, nil
	}
	for _, name := range columns {
		if t, is := schema.Field(schema.FieldIndices(name)[0]).Type.(*arrow.TimestampType); is && t.TimeZone != "" {
			return false, nil
		}
	}
	stays, names := true, []string{duckdb.QuoteLiteral("")}
	dialect.EachNode(tree.ProtoReflect(), func(node any) {
		switch n := node.(type) {
		case *pg.SQLValueFunction:
			stays = false
		case *pg.FuncCall:
			name := strings.ToLower(n.Funcname[len(n.Funcname)-1].GetString_().GetSval())
			stays = stays && !dialect.Changing(name, len(n.Args))
			names = append(names, duckdb.QuoteLiteral(name))
		case *pg.String:
			switch strings.ToLower(strings.TrimSpace(n.Sval)) {
			case "now", "today", "yesterday", "tomorrow", "timestamptz", "timetz":
				stays = false
			}
		}
	})
	changing, err := r.Conn.Texts(context.Background(), "SELECT function_name FROM system.main.duckdb_functions() "+
		"WHERE stability IN ('VOLATILE', 'CONSISTENT_WITHIN_QUERY') AND function_name IN ("+strings.Join(names, ", ")+")")
	return stays && len(changing) == 0, err
}

// ReadBy are the generated columns that read a column of a table.
func ReadBy(schema *arrow.Schema, column string) (names []string) {
	for _, f := range schema.Fields() {
		expression := cast.Generated(f)
		if expression == "" {
			continue
		}
		for _, name := range columnsRead(expression, schema) {
			if strings.EqualFold(name, column) {
				names = append(names, f.Name)
				break
			}
		}
	}
	return names
}
