package temporary

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/cast"
	"github.com/csmsql/csmsql/exec/duckdb"
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
