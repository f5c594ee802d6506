package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/engine/columntype"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// sqlType is the DuckDB name of a column's logical type, such that CAST(x AS name) gives that type.
func sqlType(f arrow.Field) (string, error) {
	if name, ok := f.Metadata.GetValue("ARROW:extension:name"); ok {
		switch name {
		case "arrow.uuid":
			return "UUID", nil
		case "arrow.json":
			return "JSON", nil
		default:
			return "", sqlerror.New("0A000", "columns of type %s cannot be stored", opaqueName(f))
		}
	}
	if name, ok := plainTypes[f.Type.ID()]; ok {
		return name, nil
	}
	switch t := f.Type.(type) {
	case arrow.DecimalType:
		if t.GetPrecision() > 38 { // UHUGEINT; DuckDB itself knows no such decimal
			return "", sqlerror.New("0A000", "columns of more than 38 digits cannot be stored").WithHint("CAST the column to DECIMAL(38,0), DOUBLE or VARCHAR.")
		}
		return fmt.Sprintf("DECIMAL(%d,%d)", t.GetPrecision(), t.GetScale()), nil
	case *arrow.TimestampType:
		return timestampType(t), nil
	case *arrow.DictionaryType:
		return sqlType(arrow.Field{Type: t.ValueType})
	case *arrow.ListType:
		return listType(t.ElemField(), "[]")
	case *arrow.LargeListType:
		return listType(t.ElemField(), "[]")
	case *arrow.FixedSizeListType:
		return listType(t.ElemField(), fmt.Sprintf("[%d]", t.Len()))
	case *arrow.MapType:
		key, err := sqlType(t.KeyField())
		if err != nil {
			return "", err
		}
		item, err := sqlType(t.ItemField())
		return "MAP(" + key + ", " + item + ")", err
	case *arrow.StructType:
		return structType(t)
	case arrow.UnionType:
		return "", sqlerror.New("0A000", "columns of type UNION cannot be stored").WithHint("Store each member in a column of its own.")
	}
	return "", sqlerror.New("0A000", "columns of Arrow type %s cannot be stored", f.Type)
}

var plainTypes = map[arrow.Type]string{
	arrow.NULL: "INTEGER", arrow.BOOL: "BOOLEAN",
	arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT",
	arrow.UINT8: "UTINYINT", arrow.UINT16: "USMALLINT", arrow.UINT32: "UINTEGER", arrow.UINT64: "UBIGINT",
	arrow.FLOAT16: "FLOAT", arrow.FLOAT32: "FLOAT", arrow.FLOAT64: "DOUBLE",
	arrow.STRING: "VARCHAR", arrow.LARGE_STRING: "VARCHAR", arrow.STRING_VIEW: "VARCHAR",
	arrow.BINARY: "BLOB", arrow.LARGE_BINARY: "BLOB", arrow.BINARY_VIEW: "BLOB", arrow.FIXED_SIZE_BINARY: "BLOB",
	arrow.DATE32: "DATE", arrow.DATE64: "DATE", arrow.TIME32: "TIME", arrow.TIME64: "TIME",
	arrow.INTERVAL_MONTH_DAY_NANO: "INTERVAL", arrow.INTERVAL_MONTHS: "INTERVAL", arrow.INTERVAL_DAY_TIME: "INTERVAL", arrow.DURATION: "INTERVAL",
}

// limitsOf are the limits of a table's strings.
func limitsOf(schema *arrow.Schema) (list []ingest.Limit) {
	for i, f := range schema.Fields() {
		if d, ok := columntype.Of(f); ok && d.Length > 0 {
			list = append(list, ingest.Limit{Column: i, Characters: d.Length, Blanks: d.Fixed(), Type: d.String()})
		}
	}
	return list
}

// fitting gives what next gives, within limits.
func fitting(next func(context.Context) (arrow.RecordBatch, error), limits []ingest.Limit) func(context.Context) (arrow.RecordBatch, error) {
	return func(ctx context.Context) (arrow.RecordBatch, error) {
		batch, err := next(ctx)
		if err != nil {
			return nil, err
		}
		defer batch.Release()
		return ingest.Fit(ctx, batch, limits)
	}
}

func timestampType(t *arrow.TimestampType) string {
	if t.TimeZone != "" {
		return "TIMESTAMP WITH TIME ZONE"
	}
	return map[arrow.TimeUnit]string{
		arrow.Second: "TIMESTAMP_S", arrow.Millisecond: "TIMESTAMP_MS", arrow.Microsecond: "TIMESTAMP", arrow.Nanosecond: "TIMESTAMP_NS",
	}[t.Unit]
}

func listType(element arrow.Field, suffix string) (string, error) {
	name, err := sqlType(element)
	return name + suffix, err
}

func structType(t *arrow.StructType) (string, error) {
	parts := make([]string, t.NumFields())
	for i, f := range t.Fields() {
		if f.Name == "" { // how DuckDB writes a UNION to Parquet
			return "", sqlerror.New("0A000", "columns of STRUCTs whose fields have no name cannot be stored")
		}
		name, err := sqlType(f)
		if err != nil {
			return "", err
		}
		parts[i] = duckdb.QuoteIdentifier(f.Name) + " " + name
	}
	return "STRUCT(" + strings.Join(parts, ", ") + ")", nil
}

func opaqueName(f arrow.Field) string {
	parameters, _ := f.Metadata.GetValue("ARROW:extension:metadata")
	if _, rest, ok := strings.Cut(parameters, `"type_name":"`); ok {
		name, _, _ := strings.Cut(rest, `"`)
		return name
	}
	return f.Type.String()
}

// isText tells whether values of a type are text, or lists of it.
func isText(t arrow.DataType) bool {
	if list, ok := t.(arrow.ListLikeType); ok {
		return isText(list.Elem())
	}
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return true
	}
	return false
}
