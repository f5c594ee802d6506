package duckdb

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/exec/duckdb/normal"
)

// fixedWidth gives the bytes per value of columns that lie in memory the same way in Arrow and in DuckDB's vectors,
// else 0.
func fixedWidth(f arrow.Field) int {
	if f.Metadata.FindKey(normal.ExtensionName) >= 0 {
		return 0 // DuckDB knows what it is
	}
	switch t := f.Type.(type) {
	case *arrow.Int8Type, *arrow.Uint8Type:
		return 1
	case *arrow.Int16Type, *arrow.Uint16Type:
		return 2
	case *arrow.Int32Type, *arrow.Uint32Type, *arrow.Float32Type, *arrow.Date32Type:
		return 4
	case *arrow.Int64Type, *arrow.Uint64Type, *arrow.Float64Type:
		return 8
	case *arrow.Time64Type:
		if t.Unit == arrow.Microsecond {
			return 8
		}
	case *arrow.TimestampType:
		if t.TimeZone == "" || t.Unit == arrow.Microsecond {
			return 8 // TIMESTAMP_S, _MS, _NS keep their unit; TIMESTAMPTZ has microseconds only
		}
	case arrow.DecimalType:
		return decimalWidth(t)
	}
	return 0
}

// decimalWidth: DuckDB chooses the width by the precision, Arrow by the type.
func decimalWidth(t arrow.DecimalType) int {
	width := 16
	switch p := t.GetPrecision(); {
	case p <= 4:
		width = 2
	case p <= 9:
		width = 4
	case p <= 18:
		width = 8
	case p > 38 || t.GetScale() < 0 || t.GetScale() > p:
		return 0
	}
	if t.BitWidth() != 8*width {
		return 0
	}
	return width
}

func floatWidth(t arrow.DataType) int {
	switch t.ID() {
	case arrow.FLOAT32:
		return 4
	case arrow.FLOAT64:
		return 8
	}
	return 0
}

// shapeOf writes a type's structs and unions for convert.c (csm_column.shape).
func shapeOf(t arrow.DataType) string {
	switch t := t.(type) {
	case arrow.ExtensionType:
		return shapeOf(t.StorageType())
	case *arrow.StructType:
		return "s" + shapesOf(t.Fields())
	case *arrow.SparseUnionType:
		return "u" + shapesOf(t.Fields())
	}
	return "-"
}

func shapesOf(fields []arrow.Field) (out string) {
	for _, f := range fields {
		out += shapeOf(f.Type)
	}
	return out
}
