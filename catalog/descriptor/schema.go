package descriptor

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/endian"

	"github.com/csmsql/csmsql/catalog/internal/message"
)

// Field numbers of Schema, Field, KeyValue and Type in descriptor.proto.
const (
	schemaFields, schemaMetadata                         = 1, 2
	fieldName, fieldNullable, fieldType, fieldMetadata   = 1, 2, 3, 4
	pairKey, pairValue                                   = 1, 2
	typeKind, typeWidth, typeUnit, typeTimezone          = 1, 2, 3, 4
	typePrecision, typeScale, typeOrdered, typeKeySorted = 5, 6, 7, 8
	typeValueNullable, typeChildren, typeCodes           = 9, 10, 11
	typeExtensionName, typeExtensionMetadata             = 12, 13
)

// AppendSchema encodes a schema (message Schema of descriptor.proto); the catalog stores logical schemas so as well.
func AppendSchema(buffer []byte, schema *arrow.Schema) ([]byte, error) {
	w := message.Writer{Buf: buffer}
	e := schemaEncoder{Writer: &w}
	e.schema(schema)
	return w.Buf, e.err
}

type schemaEncoder struct {
	*message.Writer
	fields, pairs int // as schemaDecoder counts them
	err           error
}

func (e *schemaEncoder) schema(schema *arrow.Schema) {
	if schema.Endianness() != endian.NativeEndian {
		e.fail(schema, "byte order differs from this machine's")
	}
	for i := range schema.NumFields() {
		e.field(schemaFields, schema.Field(i), 0)
	}
	e.metadata(schemaMetadata, schema.Metadata())
}

func (e *schemaEncoder) fail(what fmt.Stringer, why string) {
	if e.err == nil {
		e.err = fmt.Errorf("%w: %v: %s", ErrUnsupported, what, why)
	}
}

func (e *schemaEncoder) field(number int, f arrow.Field, depth int) {
	if e.fields++; e.fields > MaxNodes && e.err == nil {
		e.err = fmt.Errorf("%w: more than %d fields", ErrUnsupported, MaxNodes)
	}
	start := e.Begin(number)
	e.OptionalString(fieldName, f.Name)
	e.Bool(fieldNullable, f.Nullable)
	inner := e.Begin(fieldType)
	e.dataType(f.Type, depth)
	e.End(inner)
	e.metadata(fieldMetadata, f.Metadata)
	e.End(start)
}

func (e *schemaEncoder) metadata(number int, m arrow.Metadata) {
	if e.pairs += m.Len(); e.pairs > MaxNodes && e.err == nil {
		e.err = fmt.Errorf("%w: more than %d pairs of metadata", ErrUnsupported, MaxNodes)
	}
	for i := range m.Len() {
		start := e.Begin(number)
		e.OptionalString(pairKey, m.Keys()[i])
		e.OptionalString(pairValue, m.Values()[i])
		e.End(start)
	}
}

func (e *schemaEncoder) dataType(dt arrow.DataType, depth int) {
	if depth > MaxDepth {
		e.fail(dt, fmt.Sprintf("nested deeper than %d", MaxDepth))
		return
	}
	id := dt.ID()
	if id < 0 || int(id) >= len(kindOf) || kindOf[id] == 0 {
		e.fail(dt, "no such kind")
		return
	}
	e.Uint(typeKind, kindOf[id])
	e.parameters(dt)
	switch t := dt.(type) {
	case arrow.ExtensionType:
		e.anonymous(t.StorageType(), depth)
		e.OptionalString(typeExtensionName, t.ExtensionName())
		e.OptionalString(typeExtensionMetadata, t.Serialize())
	case *arrow.MapType:
		e.field(typeChildren, t.KeyField(), depth+1)
		e.field(typeChildren, t.ItemField(), depth+1)
	case *arrow.DictionaryType:
		e.anonymous(t.IndexType, depth)
		e.anonymous(t.ValueType, depth)
	case *arrow.RunEndEncodedType:
		e.anonymous(t.RunEnds(), depth)
		e.anonymous(t.Encoded(), depth)
	case arrow.ListLikeType:
		e.field(typeChildren, t.ElemField(), depth+1)
	case arrow.NestedType:
		for _, f := range t.Fields() {
			e.field(typeChildren, f, depth+1)
		}
		if union, ok := t.(arrow.UnionType); ok {
			e.Bytes(typeCodes, codeBytes(union))
		}
	}
}

func codeBytes(union arrow.UnionType) []byte {
	codes := make([]byte, len(union.TypeCodes()))
	for i, c := range union.TypeCodes() {
		codes[i] = byte(c)
	}
	return codes
}

func (e *schemaEncoder) anonymous(dt arrow.DataType, depth int) {
	e.field(typeChildren, arrow.Field{Type: dt}, depth+1)
}

func (e *schemaEncoder) parameters(dt arrow.DataType) {
	switch t := dt.(type) {
	case *arrow.FixedSizeBinaryType:
		e.Int(typeWidth, int64(t.ByteWidth))
	case *arrow.FixedSizeListType:
		e.Int(typeWidth, int64(t.Len()))
	case *arrow.TimestampType:
		e.Uint(typeUnit, uint64(t.Unit)+1)
		e.OptionalString(typeTimezone, t.TimeZone)
	case arrow.TemporalWithUnit:
		e.Uint(typeUnit, uint64(t.TimeUnit())+1)
	case arrow.DecimalType:
		e.Int(typePrecision, int64(t.GetPrecision()))
		if t.GetScale() != 0 {
			e.Sint(typeScale, int64(t.GetScale()))
		}
	case *arrow.DictionaryType:
		e.Bool(typeOrdered, t.Ordered)
	case *arrow.MapType:
		e.Bool(typeKeySorted, t.KeysSorted)
	case *arrow.RunEndEncodedType:
		e.Bool(typeValueNullable, t.ValueNullable)
	}
}
