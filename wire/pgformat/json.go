package pgformat

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// JSONValues writes the values of an array as JSON. It is for one array; not for concurrent use.
type JSONValues struct {
	write   appendFunc
	failure error
}

// NewJSONValues chooses how to write an array's values, of a field that says what they are. Values of timestamptz are
// printed in the time zone that their type names.
func NewJSONValues(field arrow.Field, values arrow.Array) (*JSONValues, error) {
	j := &JSONValues{}
	c := column{failure: &j.failure}
	if c.instants.zone = zoneIn(field.Type); c.instants.zone == nil {
		c.instants.zone = time.UTC
	}
	write, err := c.jsonValue(values, typeOfField(field).OID)
	j.write = write
	return j, err
}

// Append writes the value of one row; a NULL is JSON's null.
func (j *JSONValues) Append(dst []byte, row int) ([]byte, error) {
	dst = j.write(dst, row)
	return dst, j.failure
}

// zoneIn is the time zone that a type names, or that a part of it does; nil: none.
func zoneIn(t arrow.DataType) *time.Location {
	switch t := t.(type) {
	case *arrow.TimestampType:
		if zone, err := LoadZone(t.TimeZone); err == nil && t.TimeZone != "" {
			return zone
		}
	case arrow.NestedType:
		for _, f := range t.Fields() {
			if zone := zoneIn(f.Type); zone != nil {
				return zone
			}
		}
	}
	return nil
}

// json chooses the encoder that writes a value as JSON, as PostgreSQL's to_json does: no spaces, numbers bare, all
// else that JSON does not know as strings.
func (c *column) json(values arrow.Array, oid uint32) (appendFunc, error) {
	values = storage(values)
	switch values := values.(type) {
	case *array.Struct:
		return c.jsonOfStruct(values)
	case *array.Map: // before ListLike, which it also is
		return c.jsonOfMap(values)
	case array.ListLike:
		return c.jsonOfList(values)
	case array.Union:
		return c.jsonOfUnion(values)
	case *array.RunEndEncoded:
		inner, err := c.jsonValue(values.Values(), oid)
		return func(dst []byte, row int) []byte { return inner(dst, values.GetPhysicalIndex(row)) }, err
	case *array.Dictionary:
		inner, err := c.jsonValue(values.Dictionary(), oid)
		return func(dst []byte, row int) []byte { return inner(dst, values.GetValueIndex(row)) }, err
	case *array.Int8:
		if oid == Bool { // the arrow.bool8 extension
			return func(dst []byte, row int) []byte { return fmt.Append(dst, values.Value(row) != 0) }, nil
		}
	case *array.Boolean:
		return func(dst []byte, row int) []byte { return fmt.Append(dst, values.Value(row)) }, nil
	}
	return c.jsonOfScalar(values, oid)
}

// jsonValue is json for values that may be null.
func (c *column) jsonValue(values arrow.Array, oid uint32) (appendFunc, error) {
	encoder, err := c.json(values, oid)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, row int) []byte {
		if nullAt(values, row) {
			return append(dst, "null"...)
		}
		return encoder(dst, row)
	}, nil
}

func (c *column) jsonOfStruct(values *array.Struct) (appendFunc, error) {
	fields := values.DataType().(*arrow.StructType).Fields()
	names, encoders := make([][]byte, len(fields)), make([]appendFunc, len(fields))
	for i, field := range fields {
		name := field.Name
		if name == "" { // of row(1, 2): as PostgreSQL's row_to_json has it
			name = "f" + strconv.Itoa(i+1)
		}
		names[i] = append(appendJSONString(nil, []byte(name)), ':')
		encoder, err := c.jsonValue(values.Field(i), typeOfField(field).OID)
		if err != nil {
			return nil, err
		}
		encoders[i] = encoder
	}
	return func(dst []byte, row int) []byte {
		dst = append(dst, '{')
		for i, encoder := range encoders {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = encoder(append(dst, names[i]...), row)
		}
		return append(dst, '}')
	}, nil
}

// jsonOfMap writes an object; keys that are not strings become their text.
func (c *column) jsonOfMap(values *array.Map) (appendFunc, error) {
	keys, data := c.child(), values.DataType().(*arrow.MapType)
	if err := keys.bind(values.Keys(), typeOfField(data.KeyField()).OID, TextFormat); err != nil {
		return nil, err
	}
	items, err := c.jsonValue(values.Items(), typeOfField(data.ItemField()).OID)
	if err != nil {
		return nil, err
	}
	var key []byte
	return func(dst []byte, row int) []byte {
		dst = append(dst, '{')
		from, to := values.ValueOffsets(row)
		for at := int(from); at < int(to); at++ {
			if at > int(from) {
				dst = append(dst, ',')
			}
			key = keys.append(key[:0], at)
			dst = items(append(appendJSONString(dst, key), ':'), at)
		}
		return append(dst, '}')
	}, nil
}

func (c *column) jsonOfList(values array.ListLike) (appendFunc, error) {
	elements, err := c.jsonValue(values.ListValues(), typeOfField(values.DataType().(arrow.ListLikeType).ElemField()).OID)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, row int) []byte {
		dst = append(dst, '[')
		from, to := values.ValueOffsets(row)
		for at := int(from); at < int(to); at++ {
			if at > int(from) {
				dst = append(dst, ',')
			}
			dst = elements(dst, at)
		}
		return append(dst, ']')
	}, nil
}

func (c *column) jsonOfUnion(values array.Union) (appendFunc, error) {
	encoders := make([]appendFunc, values.NumFields())
	for i, field := range values.DataType().(arrow.UnionType).Fields() {
		encoder, err := c.jsonValue(values.Field(i), typeOfField(field).OID)
		if err != nil {
			return nil, err
		}
		encoders[i] = encoder
	}
	return func(dst []byte, row int) []byte {
		_, at := unionChild(values, row)
		return encoders[values.ChildID(row)](dst, at)
	}, nil
}

// jsonOfScalar writes finite numbers and JSON as they are and all else as a string.
func (c *column) jsonOfScalar(values arrow.Array, oid uint32) (appendFunc, error) {
	inner := c.child()
	if err := inner.bind(values, oid, TextFormat); err != nil {
		return nil, err
	}
	if oid == JSON || oid == JSONB {
		return inner.append, nil
	}
	id := values.DataType().ID()
	if arrow.IsInteger(id) || arrow.IsDecimal(id) {
		return inner.append, nil
	}
	isNumber := func(int) bool { return false }
	if read := floatOf(values); read != nil {
		isNumber = func(row int) bool { v := read(row); return !math.IsNaN(v) && !math.IsInf(v, 0) }
	}
	var text []byte
	isTime := id == arrow.TIMESTAMP
	return func(dst []byte, row int) []byte {
		if isNumber(row) {
			return inner.append(dst, row)
		}
		text = inner.append(text[:0], row)
		if isTime {
			text = xmlTime(text)
		}
		return appendJSONString(dst, text)
	}, nil
}

// xmlTime writes 2020-01-02 03:04:05+00 as JSON has it, 2020-01-02T03:04:05+00:00: as XML Schema does.
func xmlTime(text []byte) []byte {
	at := bytes.IndexByte(text, ' ')
	if at < 0 { // infinity
		return text
	}
	text[at] = 'T'
	sign := bytes.LastIndexAny(text, "+-")
	if sign < at || sign+3 > len(text) || sign+3 < len(text) && text[sign+3] == ':' {
		return text
	}
	return slices.Insert(text, sign+3, []byte(":00")...)
}

// appendJSONString quotes text; bytes that are not UTF-8 become U+FFFD, since JSON could not carry them.
func appendJSONString(dst, text []byte) []byte {
	dst = append(dst, '"')
	for len(text) > 0 {
		b := text[0]
		if b >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(text)
			dst = utf8.AppendRune(dst, r)
			text = text[size:]
			continue
		}
		dst = appendJSONByte(dst, b)
		text = text[1:]
	}
	return append(dst, '"')
}

func appendJSONByte(dst []byte, b byte) []byte {
	switch b {
	case '"', '\\':
		return append(dst, '\\', b)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	}
	if b < 0x20 {
		return append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
	}
	return append(dst, b)
}
