package ingest

import (
	"encoding/binary"
	"sort"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// dictionaryMax is how many distinct values a dictionary may hold: codes are one byte, and one stays free so that a
// scan's domain over several chunks may still fit.
const dictionaryMax = 255

// vocabulary numbers the distinct values of a column in the order in which they come. A value's length and its first
// and last eight bytes stand in an open-addressed table: they are all there is of values up to 16 bytes, so that most
// look-ups compare three numbers and touch no string.
type vocabulary struct {
	slots [4 * (dictionaryMax + 1)]slot
	order []string
}

type slot struct {
	first, last uint64
	length      uint32
	code        uint32 // plus one; zero: free
}

// code is the number of v, or false when there are too many values already.
func (y *vocabulary) code(v []byte) (uint8, bool, error) {
	first, last := ends(v)
	hash := (first*0x9E3779B97F4A7C15 ^ last*0xC2B2AE3D27D4EB4F ^ uint64(len(v))) * 0xD6E8FEB86659FD93
	for at := hash >> 54; ; at = (at + 1) % uint64(len(y.slots)) {
		s := &y.slots[at]
		if s.code == 0 {
			return y.add(s, v, first, last)
		}
		if s.first == first && s.last == last && s.length == uint32(len(v)) && (len(v) <= 16 || y.order[s.code-1] == string(v)) {
			return uint8(s.code - 1), true, nil
		}
	}
}

func (y *vocabulary) add(s *slot, v []byte, first, last uint64) (uint8, bool, error) {
	if len(y.order) == dictionaryMax {
		return 0, false, nil
	}
	if !utf8.Valid(v) {
		return 0, false, errNotText(v)
	}
	y.order = append(y.order, string(v))
	*s = slot{first, last, uint32(len(v)), uint32(len(y.order))}
	return uint8(len(y.order) - 1), true, nil
}

// ends identifies, together with the length, values of up to 16 bytes.
func ends(v []byte) (first, last uint64) {
	switch n := len(v); {
	case n >= 8:
		return binary.LittleEndian.Uint64(v), binary.LittleEndian.Uint64(v[n-8:])
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(v)) | uint64(binary.LittleEndian.Uint32(v[n-4:]))<<32, 0
	case n > 0:
		return uint64(v[0]) | uint64(v[n/2])<<8 | uint64(v[n-1])<<16, 0
	}
	return 0, 0
}

// encodeDictionary writes the columns as one dictionary array, or gives nil when there are too many distinct values.
func encodeDictionary(mem memory.Allocator, parts []*cells, rows int) (arrow.Array, error) {
	buffer := memory.NewResizableBuffer(mem)
	defer buffer.Release()
	buffer.Resize(rows)
	codes := buffer.Bytes()
	y := &vocabulary{}
	row := 0
	for _, c := range parts {
		ok, err := y.encode(c, codes[row:row+c.rows])
		if err != nil || !ok {
			return nil, err
		}
		row += c.rows
	}
	renumber, sorted := y.sorted()
	for i, c := range codes {
		codes[i] = renumber[c]
	}
	validity, nulls := joinValidity(mem, parts, rows)
	if validity != nil {
		defer validity.Release()
	}
	words := wordArray(mem, sorted)
	defer words.Release()
	t := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	d := array.NewDataWithDictionary(t, rows, []*memory.Buffer{validity, buffer}, nulls, 0, words.Data().(*array.Data))
	defer d.Release()
	return array.NewDictionaryData(d), nil
}

// encode writes the codes of one part; what a NULL's code is does not matter as long as it is one.
func (y *vocabulary) encode(c *cells, codes []byte) (bool, error) {
	if c.codes != nil {
		return y.translate(c, codes)
	}
	if c.narrow != nil && c.validity == nil {
		return y.encodeNarrow(c, codes)
	}
	for i := range codes {
		if !c.valid(i) {
			codes[i] = 0
			continue
		}
		code, ok, err := y.code(c.at(i))
		if !ok {
			return false, err
		}
		codes[i] = code
	}
	return true, nil
}

// encodeNarrow is encode for what DuckDB sends most.
func (y *vocabulary) encodeNarrow(c *cells, codes []byte) (bool, error) {
	from := c.narrow[0]
	for i, to := range c.narrow[1 : len(codes)+1] {
		code, ok, err := y.code(c.data[from:to])
		if !ok {
			return false, err
		}
		codes[i], from = code, to
	}
	return true, nil
}

// translate encodes a part that is a dictionary already: one look-up per word in use.
func (y *vocabulary) translate(c *cells, codes []byte) (bool, error) {
	to := make([]int16, c.words.rows)
	for i := range codes {
		if !c.valid(i) {
			codes[i] = 0
			continue
		}
		known := &to[c.codes[i]]
		if *known == 0 {
			code, ok, err := y.code(c.words.at(int(c.codes[i])))
			if !ok {
				return false, err
			}
			*known = int16(code) + 1
		}
		codes[i] = byte(*known - 1)
	}
	return true, nil
}

// sorted gives every code its rank, so that codes sort as their values do (G2).
func (y *vocabulary) sorted() (renumber [256]uint8, words []string) {
	by := make([]int, len(y.order))
	for i := range by {
		by[i] = i
	}
	sort.Slice(by, func(i, j int) bool { return y.order[by[i]] < y.order[by[j]] })
	for rank, code := range by {
		renumber[code] = uint8(rank)
		words = append(words, y.order[code])
	}
	return renumber, words
}

func wordArray(mem memory.Allocator, words []string) arrow.Array {
	b := array.NewStringBuilder(mem)
	defer b.Release()
	b.AppendValues(words, nil)
	return b.NewArray()
}

// joinValidity is the bitmap of all parts, nil without NULLs.
func joinValidity(mem memory.Allocator, parts []*cells, rows int) (*memory.Buffer, int) {
	nulls := 0
	for _, c := range parts {
		nulls += c.nulls
	}
	if nulls == 0 {
		return nil, 0
	}
	b := memory.NewResizableBuffer(mem)
	b.Resize(int(bitutil.BytesForBits(int64(rows))))
	bits, row := b.Bytes(), 0
	clear(bits)
	for _, c := range parts {
		if c.validity == nil {
			bitutil.SetBitsTo(bits, int64(row), int64(c.rows), true)
		} else {
			bitutil.CopyBitmap(c.validity, c.first, c.rows, bits, row)
		}
		row += c.rows
	}
	return b, nulls
}
