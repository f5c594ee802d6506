package cast

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/concatenation"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Batch lets DuckDB make rows of a table out of a batch's, wherever it lies, and hands them over. columns are the
// table's that the batch fills, in its order; add's batches are released after it.
func Batch(ctx context.Context, conn *duckdb.Connection, batch arrow.RecordBatch, schema *arrow.Schema,
	columns []string,
	add func(arrow.RecordBatch) error) error {
	for first := int64(0); first < batch.NumRows(); first += ingest.MorselRows { // which bounds what is copied at once
		piece := batch.NewSlice(first, min(first+ingest.MorselRows, batch.NumRows()))
		err := castPiece(ctx, conn, piece, schema, columns, add)
		piece.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func castPiece(ctx context.Context, conn *duckdb.Connection, piece arrow.RecordBatch, schema *arrow.Schema,
	columns []string,
	add func(arrow.RecordBatch) error) error {
	own, err := scannable(ctx, piece)
	if err != nil {
		return err
	}
	defer own.Release()
	from, forget := conn.RegisterBatch(ingest.LogicalSchema(own.Schema()), own)
	defer forget()
	src, err := Query("SELECT * FROM "+from, schema, columns)
	if err != nil {
		return err
	}
	return src.run(ctx, conn, add)
}

// scannable is a copy of a batch that DuckDB can scan: in memory that C may point to, under column names of its own,
// and JSON as the text that it may be.
func scannable(ctx context.Context, batch arrow.RecordBatch) (arrow.RecordBatch, error) {
	fields := make([]arrow.Field, batch.NumCols())
	columns := make([]arrow.Array, batch.NumCols())
	for i, c := range batch.Columns() {
		f := batch.Schema().Field(i)
		plain, err := ingest.Plain(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", f.Name, err)
		}
		defer plain.Release()
		copied, err := concatenation.Arrays([]arrow.Array{plain}, duckdb.Outside)
		if err != nil {
			return nil, sqlerror.New("0A000", "column %q: values of type %s cannot be stored: %v", f.Name, f.Type, err)
		}
		defer copied.Release()
		f.Name, f.Type, f.Nullable = fmt.Sprintf("c%d", i), copied.DataType(), true
		fields[i] = withoutJSON(f)
		data := descriptor.Retyped(copied.Data(), fields[i].Type)
		columns[i] = array.MakeFromData(data)
		data.Release()
		defer columns[i].Release()
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows()), nil
}

// withoutJSON is a field whose JSON is text.
func withoutJSON(f arrow.Field) arrow.Field {
	if name, _ := f.Metadata.GetValue(normal.ExtensionName); name == "arrow.json" {
		f.Metadata = arrow.Metadata{}
	}
	switch t := f.Type.(type) {
	case *arrow.ListType:
		f.Type = arrow.ListOfField(withoutJSON(t.ElemField()))
	case *arrow.LargeListType:
		f.Type = arrow.LargeListOfField(withoutJSON(t.ElemField()))
	case *arrow.FixedSizeListType:
		f.Type = arrow.FixedSizeListOfField(t.Len(), withoutJSON(t.ElemField()))
	case *arrow.MapType:
		f.Type = arrow.MapOfFields(withoutJSON(t.KeyField()), withoutJSON(t.ItemField()))
	case *arrow.StructType:
		fields := slices.Clone(t.Fields())
		for i := range fields {
			fields[i] = withoutJSON(fields[i])
		}
		f.Type = arrow.StructOf(fields...)
	}
	return f
}
