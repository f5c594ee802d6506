package descriptor

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/catalog/internal/message"
)

// DecodeSchema is the inverse of AppendSchema. Faults wrap ErrCorrupt.
func DecodeSchema(data []byte) (*arrow.Schema, error) {
	d := schemaDecoder{}
	schema, err := d.schema(data)
	if err != nil {
		return nil, fmt.Errorf("%w: schema: %w", ErrCorrupt, err)
	}
	return schema, nil
}

// schemaDecoder counts fields and their metadata over the whole schema, so that nesting cannot multiply the bound.
type schemaDecoder struct {
	fields   int
	pairs    int
	extended bool // an extension type was among them
}

func (d *schemaDecoder) schema(data []byte) (*arrow.Schema, error) {
	r := message.NewReader(data)
	var few [4]arrow.Field // NewSchema copies them
	fields := few[:0]
	var meta pairs
	for r.Next() {
		switch r.Field() {
		case schemaFields:
			f, err := d.field(r.Sub(), 0)
			r.Fail(err)
			fields = append(fields, f)
		case schemaMetadata:
			r.Fail(d.pair(&meta, r.Sub()))
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return arrow.NewSchema(fields, meta.metadata()), nil
}

func (d *schemaDecoder) field(r message.Reader, depth int) (arrow.Field, error) {
	var f arrow.Field
	if d.fields++; d.fields > MaxNodes {
		return f, fmt.Errorf("more than %d fields", MaxNodes)
	}
	var meta pairs
	for r.Next() {
		switch r.Field() {
		case fieldName:
			f.Name = r.String()
		case fieldNullable:
			f.Nullable = r.Bool()
		case fieldType:
			encoded := r.Bytes()
			if f.Type = plainType(encoded); f.Type == nil {
				dt, err := d.dataType(message.NewReader(encoded), depth)
				r.Fail(err)
				f.Type = dt
			}
		case fieldMetadata:
			r.Fail(d.pair(&meta, r.Sub()))
		default:
			r.Skip()
		}
	}
	if r.Err() == nil && f.Type == nil {
		r.Fail(fmt.Errorf("field %q has no type", f.Name))
	}
	if len(meta.keys) > 0 {
		f.Metadata = *meta.metadata()
	}
	return f, r.Err()
}

// plainType is what dataType makes of a message that names a type without parameters and nothing else; nil for others.
func plainType(encoded []byte) arrow.DataType {
	if len(encoded) != 2 || encoded[0] != typeKind<<3 || int(encoded[1]) >= len(typeOf) {
		return nil
	}
	if id := typeOf[encoded[1]]; id >= 0 {
		return plainTypes[id]
	}
	return nil
}

type pairs struct{ keys, values []string }

func (d *schemaDecoder) pair(p *pairs, r message.Reader) error {
	if d.pairs++; d.pairs > MaxNodes {
		return fmt.Errorf("more than %d pairs of metadata", MaxNodes)
	}
	var key, value string
	for r.Next() {
		switch r.Field() {
		case pairKey:
			key = r.String()
		case pairValue:
			value = r.String()
		default:
			r.Skip()
		}
	}
	p.keys, p.values = append(p.keys, key), append(p.values, value)
	return r.Err()
}

func (p *pairs) metadata() *arrow.Metadata {
	if len(p.keys) == 0 {
		return nil
	}
	m := arrow.NewMetadata(p.keys, p.values)
	return &m
}

// typeParts are the fields of message Type before they make a type.
type typeParts struct {
	id                            arrow.Type
	width                         int64
	unit                          uint64
	timezone                      string
	precision, scale              int64
	ordered, keysSorted, nullable bool
	children                      []arrow.Field
	codes                         []byte
	extensionName, extensionData  string
}

func (d *schemaDecoder) dataType(r message.Reader, depth int) (arrow.DataType, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("types nested deeper than %d", MaxDepth)
	}
	p := typeParts{id: -1}
	for r.Next() {
		switch r.Field() {
		case typeKind:
			if kind := r.Uint(); kind < uint64(len(typeOf)) {
				p.id = typeOf[kind]
			}
		case typeWidth:
			p.width = r.Int()
		case typeUnit:
			p.unit = r.Uint()
		case typeTimezone:
			p.timezone = r.String()
		case typePrecision:
			p.precision = r.Int()
		case typeScale:
			p.scale = r.Sint()
		case typeOrdered:
			p.ordered = r.Bool()
		case typeKeySorted:
			p.keysSorted = r.Bool()
		case typeValueNullable:
			p.nullable = r.Bool()
		case typeChildren:
			child, err := d.field(r.Sub(), depth+1)
			r.Fail(err)
			p.children = append(p.children, child)
		case typeCodes:
			p.codes = r.Bytes()
		case typeExtensionName:
			p.extensionName = r.String()
		case typeExtensionMetadata:
			p.extensionData = r.String()
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	d.extended = d.extended || p.id == arrow.EXTENSION
	return p.dataType()
}

func (p *typeParts) dataType() (arrow.DataType, error) {
	if p.id >= 0 && plainTypes[p.id] != nil {
		return plainTypes[p.id], p.wantChildren(0)
	}
	switch p.id {
	case arrow.FIXED_SIZE_BINARY:
		if p.width < 0 || p.width > 1<<31-1 {
			return nil, fmt.Errorf("fixed_size_binary of width %d", p.width)
		}
		return &arrow.FixedSizeBinaryType{ByteWidth: int(p.width)}, p.wantChildren(0)
	case arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP, arrow.DURATION:
		return p.temporal()
	case arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256:
		return p.decimal()
	case arrow.DICTIONARY:
		return p.dictionary()
	case arrow.RUN_END_ENCODED:
		return p.runEndEncoded()
	case arrow.EXTENSION:
		return p.extension()
	default:
		return p.nested()
	}
}

func (p *typeParts) wantChildren(n int) error {
	if len(p.children) != n {
		return fmt.Errorf("%v has %d child types, want %d", p.id, len(p.children), n)
	}
	return nil
}

func (p *typeParts) temporal() (arrow.DataType, error) {
	if p.unit < 1 || p.unit > 4 {
		return nil, fmt.Errorf("%v with unit %d", p.id, p.unit)
	}
	unit := arrow.TimeUnit(p.unit - 1)
	switch p.id {
	case arrow.TIMESTAMP:
		return &arrow.TimestampType{Unit: unit, TimeZone: p.timezone}, p.wantChildren(0)
	case arrow.DURATION:
		return &arrow.DurationType{Unit: unit}, p.wantChildren(0)
	case arrow.TIME32:
		if unit > arrow.Millisecond {
			return nil, fmt.Errorf("time32 in %v", unit)
		}
		return &arrow.Time32Type{Unit: unit}, p.wantChildren(0)
	default:
		if unit < arrow.Microsecond {
			return nil, fmt.Errorf("time64 in %v", unit)
		}
		return &arrow.Time64Type{Unit: unit}, p.wantChildren(0)
	}
}

func (p *typeParts) decimal() (arrow.DataType, error) {
	if p.precision < 0 || p.precision > 76 || p.scale < -1000 || p.scale > 1000 {
		return nil, fmt.Errorf("%v(%d, %d) is out of range", p.id, p.precision, p.scale)
	}
	dt, err := arrow.NewDecimalType(p.id, int32(p.precision), int32(p.scale))
	if err != nil {
		return nil, err
	}
	return dt, p.wantChildren(0)
}

func (p *typeParts) dictionary() (arrow.DataType, error) {
	if err := p.wantChildren(2); err != nil {
		return nil, err
	}
	if !arrow.IsInteger(p.children[0].Type.ID()) {
		return nil, fmt.Errorf("dictionary codes of type %v", p.children[0].Type)
	}
	return &arrow.DictionaryType{IndexType: p.children[0].Type, ValueType: p.children[1].Type, Ordered: p.ordered}, nil
}

func (p *typeParts) runEndEncoded() (arrow.DataType, error) {
	if err := p.wantChildren(2); err != nil {
		return nil, err
	}
	dt := arrow.RunEndEncodedOf(p.children[0].Type, p.children[1].Type)
	dt.ValueNullable = p.nullable
	if !dt.ValidRunEndsType(dt.RunEnds()) {
		return nil, fmt.Errorf("run ends of type %v", dt.RunEnds())
	}
	return dt, nil
}

func (p *typeParts) extension() (arrow.DataType, error) {
	if err := p.wantChildren(1); err != nil {
		return nil, err
	}
	if p.extensionName == "" {
		return nil, fmt.Errorf("an extension type without a name")
	}
	return resolveExtension(p.extensionName, p.children[0].Type, p.extensionData)
}

func (p *typeParts) nested() (arrow.DataType, error) {
	switch p.id {
	case arrow.STRUCT:
		return arrow.StructOf(p.children...), nil
	case arrow.SPARSE_UNION, arrow.DENSE_UNION:
		return p.union()
	case arrow.MAP:
		return p.mapType()
	}
	if err := p.wantChildren(1); err != nil {
		return nil, err
	}
	switch p.id {
	case arrow.LIST:
		return arrow.ListOfField(p.children[0]), nil
	case arrow.LARGE_LIST:
		return arrow.LargeListOfField(p.children[0]), nil
	case arrow.LIST_VIEW:
		return arrow.ListViewOfField(p.children[0]), nil
	case arrow.LARGE_LIST_VIEW:
		return arrow.LargeListViewOfField(p.children[0]), nil
	case arrow.FIXED_SIZE_LIST:
		if p.width < 1 || p.width > 1<<31-1 {
			return nil, fmt.Errorf("fixed_size_list of %d elements", p.width)
		}
		return arrow.FixedSizeListOfField(int32(p.width), p.children[0]), nil
	}
	return nil, fmt.Errorf("unknown kind of type")
}

func (p *typeParts) mapType() (arrow.DataType, error) {
	if err := p.wantChildren(2); err != nil {
		return nil, err
	}
	if p.children[0].Nullable {
		return nil, fmt.Errorf("a map with nullable keys")
	}
	dt := arrow.MapOfFields(p.children[0], p.children[1])
	dt.KeysSorted = p.keysSorted
	return dt, nil
}

func (p *typeParts) union() (arrow.DataType, error) {
	if len(p.codes) != len(p.children) {
		return nil, fmt.Errorf("a union of %d children with %d type codes", len(p.children), len(p.codes))
	}
	var seen [128]bool
	codes := make([]arrow.UnionTypeCode, len(p.codes))
	for i, c := range p.codes {
		if c > 127 || seen[c] {
			return nil, fmt.Errorf("union type code %d is out of range or there twice", c)
		}
		seen[c] = true
		codes[i] = arrow.UnionTypeCode(c)
	}
	if p.id == arrow.SPARSE_UNION {
		return arrow.SparseUnionOf(p.children, codes), nil
	}
	return arrow.DenseUnionOf(p.children, codes), nil
}
