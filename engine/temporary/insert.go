package temporary

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/dialect"
	"github.com/csmsql/csmsql/sql/edit"
	"github.com/csmsql/csmsql/sql/statement"
)

// Qualified is the name of a temporary table in DuckDB's text.
func Qualified(table string) string { return "temp.main." + duckdb.QuoteIdentifier(table) }

// Insert has DuckDB put a batch of text, outside of Go's heap, into columns of a temporary table, by its own casts.
// schema is the table's.
func Insert(ctx context.Context, conn *duckdb.Connection, table string, batch arrow.RecordBatch, schema *arrow.Schema,
	columns []string) error {
	from, forget := conn.RegisterBatch(batch.Schema(), batch)
	defer forget()
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = duckdb.QuoteIdentifier(c)
	}
	st, err := conn.Prepare("INSERT INTO " + Qualified(table) + " (" + strings.Join(names, ", ") + ") " +
		cast.TextQuery(from, schema, columns))
	if err != nil {
		return err
	}
	defer st.Close()
	rows, err := st.Execute(ctx)
	if err != nil {
		return err
	}
	rows.Close()
	return nil
}

// insertion is the text of an INSERT that lists the columns which it fills, the first ones if it names none: DuckDB wants
// a value for each column then. Texts in VALUES are as DuckDB writes values of their columns' types. What is wrong
// otherwise, DuckDB says of the text as it is.
func insertion(conn *duckdb.Connection, text string, head *statement.Insert) (string, edit.List, error) {
	if head.Query == "" || head.ByName || head.With != "" {
		return text, nil, nil
	}
	at := edit.Offset(text, head.Name.At)
	if at += strings.Index(text[at:], head.Query); !strings.HasPrefix(text[at:], head.Query) {
		return text, nil, nil
	}
	schema, err := schemaOf(conn, "SELECT * FROM "+Qualified(head.Name.Name))
	if err != nil {
		return text, nil, nil
	}
	unknown := false
	query, moved, columns, err := cast.Listed(head, schema, func(query string) (names []string, err error) {
		given, err := schemaOf(conn, query)
		if unknown = err != nil; unknown {
			return nil, err
		}
		for _, f := range given.Fields() {
			names = append(names, f.Name)
		}
		return names, nil
	})
	if unknown {
		return text, nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	text, moved = text[:at]+query+text[at+len(head.Query):], moved.Shift(at)
	if head.Columns != nil || len(columns) == schema.NumFields() {
		return text, moved, nil
	}
	for i, c := range columns {
		columns[i] = duckdb.QuoteIdentifier(c)
	}
	text, listed := dialect.Inserted(text, at, "("+strings.Join(columns, ", ")+") ")
	return text, moved.Then(listed), nil
}

// schemaOf is what a query gives.
func schemaOf(conn *duckdb.Connection, query string) (*arrow.Schema, error) {
	st, err := conn.Prepare(query)
	if err != nil {
		return nil, err
	}
	defer st.Close()
	return st.Stored(true)
}
