package columntype

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// SQL is the DuckDB name of a column's logical type, such that CAST(x AS name) gives that type.
func SQL(f arrow.Field) (string, error) {
	if t, ok := f.Type.(*arrow.SparseUnionType); ok {
		members, err := listed(t.Fields())
		return "UNION(" + members + ")", err
	}
	return inner(f)
}

// inner is SQL of a type that may be within another one.
func inner(f arrow.Field) (string, error) {
	if t := enumeration.Of(f); t != nil {
		return t.SQL(), nil
	}
	if name, ok := f.Metadata.GetValue("ARROW:extension:name"); ok {
		switch name {
		case "arrow.uuid":
			return "UUID", nil
		case "arrow.json":
			return "JSON", nil
		}
		if known := opaque[opaqueName(f)]; known != "" && normal.IsOpaque(f) {
			if err := normal.CheckMarks(f); err != nil { // of a Go program's
				return "", sqlerror.New("0A000", "%v", err)
			}
			return known, nil
		}
		return "", sqlerror.New("0A000", "columns of type %s cannot be stored", opaqueName(f))
	}
	if t, ok := f.Type.(*arrow.Time64Type); ok && t.Unit == arrow.Nanosecond {
		return "TIME_NS", nil
	}
	if name, ok := plainTypes[f.Type.ID()]; ok {
		return name, nil
	}
	switch t := f.Type.(type) {
	case arrow.DecimalType:
		if t.GetPrecision() > 38 { // DuckDB knows no such decimal
			return "", sqlerror.New("0A000", "columns of more than 38 digits cannot be stored").WithHint("CAST the column to DECIMAL(38,0), DOUBLE or VARCHAR.")
		}
		return fmt.Sprintf("DECIMAL(%d,%d)", t.GetPrecision(), t.GetScale()), nil
	case *arrow.TimestampType:
		return timestampType(t), nil
	case *arrow.DictionaryType:
		return inner(arrow.Field{Type: t.ValueType})
	case *arrow.ListType:
		return ListOf(t.ElemField(), "[]")
	case *arrow.LargeListType:
		return ListOf(t.ElemField(), "[]")
	case *arrow.FixedSizeListType:
		return ListOf(t.ElemField(), fmt.Sprintf("[%d]", t.Len()))
	case *arrow.MapType:
		key, err := inner(t.KeyField())
		if err != nil {
			return "", err
		}
		item, err := inner(t.ItemField())
		return "MAP(" + key + ", " + item + ")", err
	case *arrow.StructType:
		return structType(t)
	case arrow.UnionType:
		return "", sqlerror.New("0A000", "columns of UNIONs within other types cannot be stored").
			WithHint("Store the union, or each of its members, in a column of its own.")
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

// Shown is the type of a column as errors show it.
func Shown(f arrow.Field) string {
	name, err := SQL(f)
	if err != nil {
		return normal.TypeName(f)
	}
	return strings.ToLower(name)
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
	name, err := inner(element)
	return name + suffix, err
}

func structType(t *arrow.StructType) (string, error) {
	fields, err := listed(t.Fields())
	return "STRUCT(" + fields + ")", err
}

func listed(fields []arrow.Field) (string, error) {
	parts := make([]string, len(fields))
	for i, f := range fields {
		if f.Name == "" { // how DuckDB writes a UNION to Parquet
			return "", sqlerror.New("0A000", "columns of STRUCTs whose fields have no name cannot be stored")
		}
		name, err := inner(f)
		if err != nil {
			return "", err
		}
		parts[i] = duckdb.QuoteIdentifier(f.Name) + " " + name
	}
	return strings.Join(parts, ", "), nil
}

// opaque are the names of DuckDB's types that Arrow lacks, by those in their marks.
var opaque = map[string]string{
	"hugeint": "HUGEINT", "uhugeint": "UHUGEINT", "time_tz": "TIME WITH TIME ZONE", "bit": "BIT", "bignum": "BIGNUM",
}

func opaqueName(f arrow.Field) string {
	parameters, _ := f.Metadata.GetValue("ARROW:extension:metadata")
	if _, rest, ok := strings.Cut(parameters, `"type_name":"`); ok {
		name, _, _ := strings.Cut(rest, `"`)
		return name
	}
	return f.Type.String()
}
