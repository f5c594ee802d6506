package ingest

import (
	"encoding/binary"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// dictionaryMax is how many distinct values a dictionary may hold: codes are one byte, and one stays free so that a
// scan's domain over several chunks may still fit.
const dictionaryMax = 255

// encodeDictionary writes the columns as one dictionary array, or tells that there are too many distinct values.
func encodeDictionary(mem memory.Allocator, columns []arrow.Array, rows int) (arrow.Array, bool, error) {
	codes := make([]uint8, 0, rows)
	seen := map[string]uint8{}
	var order []string
	var valid []bool
	nulls := false
	for _, c := range columns {
		read, ok := reader(c)
		if !ok {
			return nil, false, failure("42804", "values of type %s are not strings", c.DataType())
		}
		for i := range c.Len() {
			if c.IsNull(i) {
				if !nulls {
					nulls = true
					valid = make([]bool, len(codes), rows)
					for k := range valid {
						valid[k] = true
					}
				}
				valid, codes = append(valid, false), append(codes, 0)
				continue
			}
			v := read(i)
			code, ok := seen[v]
			if !ok {
				if len(order) == dictionaryMax {
					return nil, false, nil
				}
				code = uint8(len(order))
				v = strings.Clone(v) // the array may go before the map does
				order = append(order, v)
				seen[v] = code
			}
			codes = append(codes, code)
			if nulls {
				valid = append(valid, true)
			}
		}
	}
	return sortedDictionary(mem, codes, valid, order)
}

// sortedDictionary renumbers codes so that they sort as their values do (G2).
func sortedDictionary(mem memory.Allocator, codes []uint8, valid []bool, order []string) (arrow.Array, bool, error) {
	sorted := append([]string(nil), order...)
	sort.Strings(sorted)
	rank := make(map[string]uint8, len(sorted))
	for i, v := range sorted {
		if !utf8.ValidString(v) {
			return nil, false, failure("22021", "invalid byte sequence for encoding \"UTF8\" in %q", v)
		}
		rank[v] = uint8(i)
	}
	var renumber [256]uint8
	for code, v := range order {
		renumber[code] = rank[v]
	}
	indices := array.NewUint8Builder(mem)
	defer indices.Release()
	indices.Reserve(len(codes))
	for i, c := range codes {
		if valid != nil && !valid[i] {
			indices.UnsafeAppendBoolToBitmap(false)
			continue
		}
		indices.UnsafeAppend(renumber[c])
	}
	dictionary := array.NewStringBuilder(mem)
	defer dictionary.Release()
	dictionary.AppendValues(sorted, nil)
	index, words := indices.NewArray(), dictionary.NewArray()
	defer index.Release()
	defer words.Release()
	t := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	return array.NewDictionaryArray(t, index, words), true, nil
}

// viewBytesMax bounds one data buffer: views have 31-bit offsets.
const viewBytesMax = 1<<31 - 1

// encodeViews writes the columns as one view array: 16 bytes a row, and one data buffer for what does not fit in 12.
func encodeViews(mem memory.Allocator, columns []arrow.Array, rows int, kind stringKind) (arrow.Array, error) {
	long, nulls := int64(0), 0
	for _, c := range columns {
		read, ok := reader(c)
		if !ok {
			return nil, failure("42804", "values of type %s are not strings", c.DataType())
		}
		nulls += c.NullN()
		for i := range c.Len() {
			if c.IsNull(i) {
				continue
			}
			v := read(i)
			if kind == text && !utf8.ValidString(v) {
				return nil, failure("22021", "invalid byte sequence for encoding \"UTF8\" in %q", v)
			}
			if len(v) > 12 {
				long += int64(len(v))
			}
		}
	}
	if long > viewBytesMax {
		return nil, failure("54000", "the strings of one chunk take %d bytes, more than 2 GiB", long)
	}
	return fillViews(mem, columns, rows, int(long), nulls, kind), nil
}

func fillViews(mem memory.Allocator, columns []arrow.Array, rows, long, nulls int, kind stringKind) arrow.Array {
	views := memory.NewResizableBuffer(mem)
	views.Resize(16 * rows)
	data := memory.NewResizableBuffer(mem)
	data.Resize(long)
	var validity *memory.Buffer
	if nulls > 0 {
		validity = memory.NewResizableBuffer(mem)
		validity.Resize(int(bitutil.BytesForBits(int64(rows))))
		clear(validity.Bytes())
	}
	row, offset := 0, 0
	for _, c := range columns {
		read, _ := reader(c)
		for i := range c.Len() {
			cell := views.Bytes()[16*row : 16*row+16]
			clear(cell)
			if !c.IsNull(i) {
				v := read(i)
				binary.LittleEndian.PutUint32(cell, uint32(len(v)))
				if len(v) <= 12 {
					copy(cell[4:], v)
				} else {
					copy(cell[4:8], v)
					binary.LittleEndian.PutUint32(cell[12:], uint32(offset))
					offset += copy(data.Bytes()[offset:], v)
				}
				if validity != nil {
					bitutil.SetBit(validity.Bytes(), row)
				}
			}
			row++
		}
	}
	var t arrow.DataType = arrow.BinaryTypes.StringView
	if kind == bytes {
		t = arrow.BinaryTypes.BinaryView
	}
	d := array.NewData(t, rows, []*memory.Buffer{validity, views, data}, nil, nulls, 0)
	views.Release()
	data.Release()
	if validity != nil {
		validity.Release()
	}
	defer d.Release()
	return array.MakeFromData(d)
}
