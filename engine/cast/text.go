package cast

import (
	"context"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
)

// Text lets DuckDB turn a batch of text, outside of Go's heap, into the types of a table's columns, and hands the rows
// over. columns are the table's that the batch fills, in its order; add's batches are released after it. Columns of the
// batch that are of the table's types already stay as they are.
func Text(ctx context.Context, conn *duckdb.Connection, batch arrow.RecordBatch, schema *arrow.Schema, columns []string,
	add func(arrow.RecordBatch) error) error {
	from, forget := conn.RegisterBatch(batch.Schema(), batch)
	defer forget()
	src, err := Query(TextQuery(from, schema, columns), schema, columns)
	if err != nil {
		return err
	}
	return src.run(ctx, conn, add)
}

// Complete says where the columns of a table are in a batch that has them all, of the table's types, so that nothing is
// left for Text to do; nil: it has not.
func Complete(batch arrow.RecordBatch, schema *arrow.Schema, columns []string) []int {
	if len(columns) != schema.NumFields() || Generates(schema) {
		return nil
	}
	order := make([]int, len(columns))
	for i, c := range columns {
		at := ingest.Index(schema, c)
		f := schema.Field(at)
		if !arrow.TypeEqual(batch.Column(i).DataType(), f.Type) {
			return nil
		}
		if name, err := columntype.SQL(f); err != nil || f.Type.ID() == arrow.STRING && name != "VARCHAR" {
			return nil // it is only stored as text
		}
		order[at] = i
	}
	return order
}

// TextQuery reads columns of text, which are still to be cast, from what FROM names.
func TextQuery(from string, schema *arrow.Schema, columns []string) string {
	return "SELECT " + textColumns(schema, columns) + " FROM " + from
}

// textColumns reads columns of text. Maps and structs are written to clients as JSON, which DuckDB casts to them; it
// has a spelling of its own, too. JSON's strings become bytes and times by our casts, not by those of JSON's own
// (Plain).
func textColumns(schema *arrow.Schema, columns []string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		name := duckdb.QuoteIdentifier(c)
		list[i] = name
		f := schema.Field(ingest.Index(schema, c))
		if id := f.Type.ID(); id == arrow.MAP || id == arrow.STRUCT {
			t, err := columntype.SQL(f)
			plain, failed := columntype.SQL(arrow.Field{Type: Plain(f.Type)})
			if err == nil && failed == nil {
				list[i] = "CASE WHEN json_valid(" + name + ") THEN CAST(CAST(CAST(" + name + " AS JSON) AS " + plain + ") AS " + t +
					") ELSE CAST(" + name + " AS " + t + ") END AS " + name
			}
		}
	}
	return strings.Join(list, ", ")
}

// Plain is a type with text in the place of what JSON has as strings that need reading.
func Plain(t arrow.DataType) arrow.DataType {
	field := func(f arrow.Field) arrow.Field {
		f.Type = Plain(f.Type)
		return f
	}
	switch t := t.(type) {
	case *arrow.MapType:
		return arrow.MapOfFields(field(t.KeyField()), field(t.ItemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), field(t.ElemField()))
	case arrow.ListLikeType:
		return arrow.ListOfField(field(t.ElemField()))
	case *arrow.StructType:
		fields := t.Fields()
		for i := range fields {
			fields[i] = field(fields[i])
		}
		return arrow.StructOf(fields...)
	}
	switch t.ID() {
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.DATE32, arrow.DATE64, arrow.TIMESTAMP, arrow.TIME32, arrow.TIME64,
		arrow.INTERVAL_MONTH_DAY_NANO:
		return arrow.BinaryTypes.String
	}
	return t
}
