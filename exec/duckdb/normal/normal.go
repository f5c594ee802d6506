package normal

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// DuckDB is set to lose nothing on its way to Arrow (a UUID stays a UUID), and then writes some types in a way that
// readers of Arrow do not expect: BOOLEAN as bytes marked arrow.bool8, HUGEINT and others as opaque bytes (opaque.go).
// In results they become standard types: Boolean, decimals, text. Other marks (arrow.uuid, arrow.json) stay in the
// field's metadata, which DuckDB also reads on the way back.

// ExtensionName and ExtensionMetadata are where a field's metadata says which extension type it is of: the marks.
const ExtensionName, ExtensionMetadata = "ARROW:extension:name", "ARROW:extension:metadata"

const extensionName, extensionMetadata = ExtensionName, ExtensionMetadata

// JSON is the mark of JSON.
const JSON = "arrow.json"

var hugeint = &arrow.Decimal128Type{Precision: 38, Scale: 0}

// normalField is f as users see it.
func normalField(f arrow.Field) arrow.Field {
	if name, _ := f.Metadata.GetValue(extensionName); name == "arrow.bool8" {
		return arrow.Field{Name: f.Name, Type: arrow.FixedWidthTypes.Boolean, Nullable: f.Nullable}
	}
	if name := opaqueName(f); name != "" {
		return arrow.Field{Name: f.Name, Type: opaqueTypes[name], Nullable: f.Nullable}
	}
	switch t := f.Type.(type) {
	case *arrow.ListType:
		f.Type = arrow.ListOfField(normalField(t.ElemField()))
	case *arrow.FixedSizeListType:
		f.Type = arrow.FixedSizeListOfField(t.Len(), normalField(t.ElemField()))
	case *arrow.MapType:
		item := normalField(t.ItemField())
		f.Type = arrow.MapOfFields(normalField(t.KeyField()), item)
	case *arrow.StructType:
		f.Type = arrow.StructOf(normalFields(t.Fields())...)
	case *arrow.SparseUnionType:
		f.Type = arrow.SparseUnionOf(normalFields(t.Fields()), t.TypeCodes())
	}
	return f
}

func normalFields(fields []arrow.Field) []arrow.Field {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		out[i] = normalField(f)
	}
	return out
}

// Schema is the schema that columns so marked have as results: the same one where nothing differs. Preconditions of
// this and of Batch: CheckMarks.
func Schema(raw *arrow.Schema) *arrow.Schema {
	if n := arrow.NewSchema(normalFields(raw.Fields()), nil); !n.Equal(raw) {
		return n
	}
	return raw
}

// Batch takes over a batch of schema raw and gives one of its Schema, with marks as metadata.
func Batch(batch arrow.RecordBatch, raw, normal *arrow.Schema) arrow.RecordBatch {
	if raw == normal {
		return batch
	}
	defer batch.Release()
	columns := make([]arrow.Array, batch.NumCols())
	for i := range columns {
		data := normalData(batch.Column(i).Data(), raw.Field(i), normal.Field(i))
		columns[i] = array.MakeFromData(data)
		data.Release()
		defer columns[i].Release()
	}
	return array.NewRecordBatch(normal, columns, batch.NumRows())
}

// normalData returns d as an array of normal's type. The caller releases the result.
func normalData(d arrow.ArrayData, raw, normal arrow.Field) arrow.ArrayData {
	if arrow.TypeEqual(raw.Type, normal.Type) {
		d.Retain()
		return d
	}
	if normal.Type.ID() == arrow.BOOL {
		return packBooleans(d)
	}
	if name := opaqueName(raw); name != "" && name != "hugeint" {
		return opaqueData(d, name)
	}
	rawFields, normalFields := childFields(raw.Type), childFields(normal.Type)
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, c := range d.Children() {
		children[i] = normalData(c, rawFields[i], normalFields[i])
		defer children[i].Release()
	}
	return array.NewData(normal.Type, d.Len(), d.Buffers(), children, d.NullN(), d.Offset())
}

func childFields(t arrow.DataType) []arrow.Field {
	if nested, ok := t.(arrow.NestedType); ok {
		return nested.Fields()
	}
	return nil
}

func packBooleans(d arrow.ArrayData) arrow.ArrayData {
	bytes := array.NewInt8Data(d)
	defer bytes.Release()
	b := array.NewBooleanBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(bytes.Len())
	for i, v := range bytes.Int8Values() {
		if bytes.IsNull(i) {
			b.UnsafeAppendBoolToBitmap(false)
			continue
		}
		b.UnsafeAppend(v != 0)
	}
	packed := b.NewBooleanArray()
	defer packed.Release()
	packed.Data().Retain()
	return packed.Data()
}
