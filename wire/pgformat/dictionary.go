package pgformat

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// dictionaryCache holds the encoded values of a dictionary, so that a row costs one copy.
type dictionaryCache struct {
	// of identifies the dictionary. Holding it keeps the address from being given to another one, so that equality of
	// pointers is equality of dictionaries: Arrow data never changes.
	of      arrow.ArrayData
	oid     uint32
	format  Format
	encoded []byte
	ends    []int // value i is encoded[ends[i]:ends[i+1]]
}

// dictionaryEncodedMax bounds what is encoded ahead; larger dictionaries are encoded row by row.
const dictionaryEncodedMax = 4096

func (c *column) textOfDictionary(values *array.Dictionary, oid uint32) (appendFunc, error) {
	c.plain = isPlain(values.Dictionary().DataType())
	return c.ofDictionary(values, oid, TextFormat)
}

// ofDictionary encodes by way of the dictionary's values.
func (c *column) ofDictionary(values *array.Dictionary, oid uint32, format Format) (appendFunc, error) {
	dictionary := values.Dictionary()
	inner := c.child()
	if err := inner.bind(dictionary, oid, format); err != nil {
		return nil, err
	}
	if dictionary.Len() > dictionaryEncodedMax || dictionary.Len() > 2*values.Len()+256 {
		return func(dst []byte, row int) []byte { return inner.append(dst, values.GetValueIndex(row)) }, nil
	}
	cache := &c.dictionary
	if cache.of != dictionary.Data() || cache.oid != oid || cache.format != format {
		cache.of, cache.oid, cache.format = dictionary.Data(), oid, format
		cache.fill(inner, dictionary.Len())
	}
	return cache.encoder(values), nil
}

func (d *dictionaryCache) fill(values *column, count int) {
	d.encoded, d.ends = d.encoded[:0], append(d.ends[:0], 0)
	for row := range count {
		if !values.null(row) {
			d.encoded = values.append(d.encoded, row)
		}
		d.ends = append(d.ends, len(d.encoded))
	}
}

func (d *dictionaryCache) encoder(values *array.Dictionary) appendFunc {
	switch indices := values.Indices().(type) {
	case *array.Uint8:
		return copyEncoded(d.encoded, d.ends, indices.Uint8Values())
	case *array.Int8:
		return copyEncoded(d.encoded, d.ends, indices.Int8Values())
	case *array.Uint16:
		return copyEncoded(d.encoded, d.ends, indices.Uint16Values())
	case *array.Int32:
		return copyEncoded(d.encoded, d.ends, indices.Int32Values())
	case *array.Uint32:
		return copyEncoded(d.encoded, d.ends, indices.Uint32Values())
	}
	encoded, ends := d.encoded, d.ends
	return func(dst []byte, row int) []byte {
		index := values.GetValueIndex(row)
		return append(dst, encoded[ends[index]:ends[index+1]]...)
	}
}

func copyEncoded[T int8 | uint8 | uint16 | int32 | uint32](encoded []byte, ends []int, indices []T) appendFunc {
	return func(dst []byte, row int) []byte {
		index := int(indices[row])
		return append(dst, encoded[ends[index]:ends[index+1]]...)
	}
}
