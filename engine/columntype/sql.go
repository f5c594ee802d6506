package columntype

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// SQL is the DuckDB name of a column's logical type, such that CAST(x AS name) gives that type.
func SQL(f arrow.Field) (string, error) {
	if t := enumeration.Of(f); t != nil {
		return t.SQL(), nil
	}
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
		return SQL(arrow.Field{Type: t.ValueType})
	case *arrow.ListType:
		return ListOf(t.ElemField(), "[]")
	case *arrow.LargeListType:
		return ListOf(t.ElemField(), "[]")
	case *arrow.FixedSizeListType:
		return ListOf(t.ElemField(), fmt.Sprintf("[%d]", t.Len()))
	case *arrow.MapType:
		key, err := SQL(t.KeyField())
		if err != nil {
			return "", err
		}
		item, err := SQL(t.ItemField())
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

func timestampType(t *arrow.TimestampType) string {
	if t.TimeZone != "" {
		return "TIMESTAMP WITH TIME ZONE"
	}
	return map[arrow.TimeUnit]string{
		arrow.Second: "TIMESTAMP_S", arrow.Millisecond: "TIMESTAMP_MS", arrow.Microsecond: "TIMESTAMP", arrow.Nanosecond: "TIMESTAMP_NS",
	}[t.Unit]
}

func ListOf(element arrow.Field, suffix string) (string, error) {
	name, err := SQL(element)
	return name + suffix, err
}

func structType(t *arrow.StructType) (string, error) {
	parts := make([]string, t.NumFields())
	for i, f := range t.Fields() {
		if f.Name == "" { // how DuckDB writes a UNION to Parquet
			return "", sqlerror.New("0A000", "columns of STRUCTs whose fields have no name cannot be stored")
		}
		name, err := SQL(f)
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
