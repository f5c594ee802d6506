package ingest

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/internal/enumeration"
)

// stringKind says whether a column holds strings, bytes or something else.
type stringKind int

const (
	notString stringKind = iota
	text
	bytes
)

// Logical is the type under which a column is known to users, given the type in which it arrived: layouts that
// differ only in how they are stored become one.
func Logical(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.LargeStringType, *arrow.StringViewType:
		return arrow.BinaryTypes.String
	case *arrow.LargeBinaryType, *arrow.BinaryViewType:
		return arrow.BinaryTypes.Binary
	case *arrow.DictionaryType:
		return Logical(t.ValueType)
	case *arrow.RunEndEncodedType:
		return Logical(t.Encoded())
	case arrow.DecimalType:
		if t.GetPrecision() <= 18 {
			return &arrow.Decimal64Type{Precision: t.GetPrecision(), Scale: t.GetScale()}
		}
		return &arrow.Decimal128Type{Precision: t.GetPrecision(), Scale: t.GetScale()}
	case *arrow.Date64Type:
		return arrow.FixedWidthTypes.Date32
	case *arrow.Float16Type:
		return arrow.PrimitiveTypes.Float32
	}
	return t
}

// LogicalSchema is the schema of the table that rows of schema make. Metadata of fields (what arrow.uuid marks) stays,
// except that of a user-defined type, which becomes the column's.
func LogicalSchema(schema *arrow.Schema) *arrow.Schema {
	fields := schema.Fields()
	for i, f := range fields {
		if t := enumeration.Of(f); t != nil {
			fields[i].Type, fields[i].Metadata = t, arrow.Metadata{}
			continue
		}
		fields[i].Type = Logical(f.Type)
	}
	return arrow.NewSchema(fields, nil)
}

func kindOf(t arrow.DataType) stringKind {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW:
		return text
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW:
		return bytes
	}
	return notString
}
