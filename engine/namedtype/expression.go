package namedtype

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/relation"
	"github.com/csmsql/csmsql/engine/snapshot"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/sql/pgcatalog"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Expressions reads the expressions of a table's definition.
type Expressions struct {
	View *snapshot.View
	Conn *duckdb.Connection // on which nothing streams
}

// rowName is what the row is called whose columns an expression reads.
const rowName = "csm_row"

// Labelled is an expression over the columns of a table that says of which types its labels are: it is kept, and so
// means them whatever the strings beside it are taken for.
func (e Expressions) Labelled(columns *arrow.Schema, expression string) (string, error) {
	if expression == "" || !e.View.Contents.HasTypes() {
		return expression, nil
	}
	if err := e.refuseDomains(expression); err != nil {
		return expression, err
	}
	row := &pgcatalog.Relation{Name: rowName, Kind: 'r'}
	var nulls []string
	for _, f := range columns.Fields() {
		oid, modifier := relation.Type(f)
		row.Columns = append(row.Columns, pgcatalog.Column{Name: f.Name, Type: oid, Typmod: modifier})
		name, err := columntype.SQL(f)
		if err != nil {
			return expression, err
		}
		nulls = append(nulls, "CAST(NULL AS "+name+") AS "+duckdb.QuoteIdentifier(f.Name))
	}
	const before, behind = "SELECT (", "\n) FROM " + rowName
	reading := Reading{View: e.View,
		Relations: func(_, _, name string) *pgcatalog.Relation {
			if name == rowName {
				return row
			}
			return nil
		},
		Ask: func(text string) ([]*enumeration.Type, error) {
			text, ok := strings.CutSuffix(text, behind)
			if !ok {
				return nil, nil
			}
			duck, err := e.Conn.Prepare(text + "\n) FROM (SELECT " + strings.Join(nulls, ", ") + ") AS " + rowName)
			if err != nil {
				return nil, nil // the caller that keeps the expression asks what is wrong with it
			}
			defer duck.Close()
			return duck.UserTypes(), nil
		},
	}
	out, made, err := reading.Text(dialect.SourceOf(before + expression + behind))
	if err != nil {
		return expression, dialect.WithoutPosition(err)
	}
	text, ok := strings.CutSuffix(out.Text(), behind)
	if made == nil || !ok {
		return expression, nil
	}
	return strings.TrimPrefix(text, before), nil
}

// Default is a column's default that says of which type its label is.
func (e Expressions) Default(f arrow.Field, expression string) (string, error) {
	t := enumeration.Of(f)
	if t == nil {
		return e.Labelled(arrow.NewSchema(nil, nil), expression)
	}
	literal := lex.Client.Next(expression, 0)
	text, ok := literal.Value()
	if literal.Kind == lex.String && ok && lex.Client.Next(expression, literal.End()).Ends() {
		if _, ok := t.Code(text); !ok {
			return expression, sqlerror.New("22P02", "%s", t.Refusal(text))
		}
		return expression[:literal.End()] + "::" + enumeration.NameOf(t.Number()), nil
	}
	return e.Labelled(arrow.NewSchema(nil, nil), expression)
}
