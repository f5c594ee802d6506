package pgformat

import (
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/internal/enumeration"
)

// Keys of Arrow field metadata that override how a column is described to the client.
const (
	MetadataOID         = "pg.oid"          // type OID, decimal
	MetadataTypmod      = "pg.typmod"       // type modifier, decimal (varchar(20): 24)
	MetadataTableOID    = "pg.table_oid"    // pg_class.oid of the table the column comes from
	MetadataTableColumn = "pg.table_column" // pg_attribute.attnum there
)

// Type is what RowDescription says about a column.
type Type struct {
	OID    uint32
	Typmod int32 // -1: none
}

// TypeOf returns the PostgreSQL type that shows an Arrow field's values.
func TypeOf(field arrow.Field) Type {
	shown := typeOfField(field)
	if text, ok := field.Metadata.GetValue(MetadataOID); ok {
		if oid, err := strconv.ParseUint(text, 10, 32); err == nil {
			shown = Type{OID: uint32(oid), Typmod: -1}
		}
	}
	if text, ok := field.Metadata.GetValue(MetadataTypmod); ok {
		if typmod, err := strconv.ParseInt(text, 10, 32); err == nil {
			shown.Typmod = int32(typmod)
		}
	}
	return shown
}

// OriginOf returns the table and the column that a field shows, zeros when it is computed.
func OriginOf(field arrow.Field) (table uint32, column uint16) {
	if text, ok := field.Metadata.GetValue(MetadataTableOID); ok {
		oid, _ := strconv.ParseUint(text, 10, 32) // 0 on error: no origin
		table = uint32(oid)
	}
	if text, ok := field.Metadata.GetValue(MetadataTableColumn); ok {
		number, _ := strconv.ParseUint(text, 10, 16)
		column = uint16(number)
	}
	return table, column
}

// metadataExtension is where Arrow keeps the name of an extension type that the process has not registered.
const metadataExtension = "ARROW:extension:name"

// typeOfField maps the type of a field, column or part of one.
func typeOfField(field arrow.Field) Type {
	if is := enumeration.Of(field); is != nil {
		return Type{enumeration.ObjectID(is.Number()), -1}
	}
	if name, ok := field.Metadata.GetValue(metadataExtension); ok {
		if oid := extensionOID(name); oid != 0 {
			return Type{oid, -1}
		}
	}
	return typeOfData(field.Type)
}

// typeOfData maps Arrow types; the table is in doc.go.
func typeOfData(data arrow.DataType) Type {
	switch data := data.(type) {
	case *arrow.DictionaryType:
		return typeOfData(data.ValueType)
	case *arrow.RunEndEncodedType:
		return typeOfData(data.Encoded())
	case arrow.ExtensionType:
		return typeOfExtension(data)
	case *arrow.TimestampType:
		if data.TimeZone != "" {
			return Type{TimestampTZ, -1}
		}
		return Type{TimestampNT, -1}
	case arrow.DecimalType:
		return Type{NumericOID, numericTypmod(data.GetPrecision(), data.GetScale())}
	case arrow.ListLikeType:
		return typeOfList(data)
	}
	return Type{scalarOID(data.ID()), -1}
}

func scalarOID(id arrow.Type) uint32 {
	switch id {
	case arrow.BOOL:
		return Bool
	case arrow.INT8, arrow.INT16, arrow.UINT8:
		return Int2
	case arrow.INT32, arrow.UINT16:
		return Int4
	case arrow.INT64, arrow.UINT32:
		return Int8
	case arrow.UINT64:
		return NumericOID
	case arrow.FLOAT16, arrow.FLOAT32:
		return Float4
	case arrow.FLOAT64:
		return Float8
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
		return Bytea
	case arrow.DATE32, arrow.DATE64:
		return DateOID
	case arrow.TIME32, arrow.TIME64:
		return Time
	case arrow.INTERVAL_MONTHS, arrow.INTERVAL_DAY_TIME, arrow.INTERVAL_MONTH_DAY_NANO, arrow.DURATION:
		return IntervalOID
	case arrow.STRUCT, arrow.SPARSE_UNION, arrow.DENSE_UNION:
		return JSON
	}
	return Text
}

func typeOfExtension(data arrow.ExtensionType) Type {
	if oid := extensionOID(data.ExtensionName()); oid != 0 {
		return Type{oid, -1}
	}
	return typeOfData(data.StorageType())
}

// extensionOID is the type of an extension's values, 0 for that of their storage.
func extensionOID(name string) uint32 {
	switch name {
	case "arrow.uuid":
		return UUIDOID
	case "arrow.json":
		return JSON
	case "arrow.bool8":
		return Bool
	}
	return 0
}

// typeOfList gives an array type where every level below is a list and the innermost type has an array type; all
// else is JSON. PostgreSQL has one array type for all numbers of dimensions.
func typeOfList(data arrow.ListLikeType) Type {
	if data.ID() == arrow.MAP {
		return Type{JSON, -1}
	}
	element := typeOfField(data.ElemField())
	if _, nested := ElementOID(element.OID); nested {
		return Type{element.OID, -1}
	}
	_, text := storageType(data.Elem()).(arrow.BinaryDataType)
	if array, ok := ArrayOID(element.OID); ok && (element.OID != JSON || text) {
		return Type{array, -1}
	}
	return Type{JSON, -1}
}

func storageType(data arrow.DataType) arrow.DataType {
	if extension, ok := data.(arrow.ExtensionType); ok {
		return extension.StorageType()
	}
	return data
}

// numericTypmod packs precision and scale as PostgreSQL does; it knows precisions up to 1000.
func numericTypmod(precision, scale int32) int32 {
	if precision <= 0 || precision > 1000 || scale < 0 || scale > precision {
		return -1
	}
	return precision<<16 | scale + 4
}
