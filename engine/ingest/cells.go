package ingest

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// cells are the strings or bytes of one array, whatever its layout, as slices: no call through an interface per row.
// They are valid as long as the array. Exactly one of narrow, wide, views and codes is set.
type cells struct {
	rows     int
	nulls    int
	validity []byte // nil: no NULL
	first    int    // the first row's bit in validity

	narrow []int32 // offsets into data
	wide   []int64
	data   []byte
	views  []arrow.ViewHeader
	raw    []byte // views as bytes
	pools  [][]byte
	codes  []int32 // rows of words
	words  *cells
}

// cellsOf is nil for arrays of other types.
func cellsOf(a arrow.Array) *cells {
	d := a.Data()
	c := &cells{rows: a.Len(), nulls: a.NullN()}
	if c.nulls > 0 {
		c.validity, c.first = d.Buffers()[0].Bytes(), d.Offset()
	}
	from, to := d.Offset(), d.Offset()+d.Len()
	switch a.DataType().ID() {
	case arrow.STRING, arrow.BINARY:
		if c.rows > 0 {
			c.narrow, c.data = arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[from:to+1], bytesOf(d, 2)
		}
	case arrow.LARGE_STRING, arrow.LARGE_BINARY:
		if c.rows > 0 {
			c.wide, c.data = arrow.Int64Traits.CastFromBytes(d.Buffers()[1].Bytes())[from:to+1], bytesOf(d, 2)
		}
	case arrow.STRING_VIEW, arrow.BINARY_VIEW:
		if c.rows > 0 {
			c.raw = d.Buffers()[1].Bytes()[viewSize*from : viewSize*to]
			c.views = arrow.ViewHeaderTraits.CastFromBytes(c.raw)
			for i := range d.Buffers()[2:] {
				c.pools = append(c.pools, bytesOf(d, 2+i))
			}
		}
	case arrow.DICTIONARY:
		return c.dictionary(a.(*array.Dictionary))
	default:
		return nil
	}
	return c
}

func bytesOf(d arrow.ArrayData, i int) []byte {
	if b := d.Buffers()[i]; b != nil {
		return b.Bytes()
	}
	return nil
}

// dictionary: a row is also NULL when its word is.
func (c *cells) dictionary(a *array.Dictionary) *cells {
	if c.words = cellsOf(a.Dictionary()); c.words == nil {
		return nil
	}
	c.codes = make([]int32, c.rows)
	valid := make([]byte, bitutil.BytesForBits(int64(c.rows)))
	nulls := 0
	for i := range c.codes {
		if c.valid(i) {
			c.codes[i] = int32(a.GetValueIndex(i))
			if c.words.valid(int(c.codes[i])) {
				bitutil.SetBit(valid, i)
				continue
			}
		}
		nulls++
	}
	c.nulls, c.validity, c.first = nulls, nil, 0
	if nulls > 0 {
		c.validity = valid
	}
	return c
}

func (c *cells) valid(i int) bool {
	return c.validity == nil || bitutil.BitIsSet(c.validity, c.first+i)
}

// at is row i, which is valid.
func (c *cells) at(i int) []byte {
	switch {
	case c.views != nil:
		h := &c.views[i]
		if h.IsInline() {
			return h.InlineBytes()
		}
		at := int(h.BufferOffset())
		return c.pools[h.BufferIndex()][at : at+h.Len()]
	case c.narrow != nil:
		return c.data[c.narrow[i]:c.narrow[i+1]]
	case c.codes != nil:
		return c.words.at(int(c.codes[i]))
	default:
		return c.data[c.wide[i]:c.wide[i+1]]
	}
}

// long is how many bytes do not fit into views.
func (c *cells) long() (n int64) {
	for i := range c.rows {
		if c.valid(i) {
			if l := len(c.at(i)); l > inlineMax {
				n += int64(l)
			}
		}
	}
	return n
}

// check is an error if a row is not valid UTF-8 (G3).
func (c *cells) check() error {
	if c.narrow != nil && ascii(c.data[c.narrow[0]:c.narrow[c.rows]]) || c.views != nil && c.asciiViews() {
		return nil
	}
	if c.codes != nil { // words that no row uses need not be text
		used := make([]bool, c.words.rows)
		for i, code := range c.codes {
			if c.valid(i) && !used[code] {
				used[code] = true
				if v := c.words.at(int(code)); !utf8.Valid(v) {
					return errNotText(v)
				}
			}
		}
		return nil
	}
	for i := range c.rows {
		if c.valid(i) {
			if v := c.at(i); !utf8.Valid(v) {
				return errNotText(v)
			}
		}
	}
	return nil
}

// asciiViews reports whether all views are plainly ASCII, looking at data buffers as a whole where they are not too
// large.
func (c *cells) asciiViews() bool {
	size := 0
	for _, p := range c.pools {
		size += len(p)
	}
	if size > poolShare*c.rows {
		return false
	}
	for _, p := range c.pools {
		if !ascii(p) {
			return false
		}
	}
	var inline uint64
	for i := range c.views {
		if c.views[i].IsInline() { // twelve bytes behind the length
			inline |= binary.LittleEndian.Uint64(c.raw[viewSize*i+4:]) | binary.LittleEndian.Uint64(c.raw[viewSize*i+8:])
		}
	}
	return inline&highBits == 0
}

const highBits = 0x8080808080808080

// ascii reports whether no byte has its highest bit set.
func ascii(b []byte) bool {
	for len(b) >= 32 {
		if (binary.LittleEndian.Uint64(b)|binary.LittleEndian.Uint64(b[8:])|
			binary.LittleEndian.Uint64(b[16:])|binary.LittleEndian.Uint64(b[24:]))&highBits != 0 {
			return false
		}
		b = b[32:]
	}
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// check says which values a writer does not take.
type check struct {
	anyDigits bool // decimals may have more digits than their type says
}

// nested looks for strings inside of lists, structs and maps (G3), and for decimals of too many digits anywhere: a
// HUGEINT comes as decimal(38,0) and may have 39, and files say what they like. A dictionary is checked with the words
// that nothing refers to: it is stored as it is.
func (c check) nested(d arrow.ArrayData) error {
	if d.Len() == 0 || !isFallible(d.DataType()) {
		return nil
	}
	switch t := d.DataType().(type) {
	case *arrow.Decimal128Type:
		if c.anyDigits {
			return nil
		}
		return checkDigits(d, t)
	case *arrow.StringType, *arrow.LargeStringType, *arrow.StringViewType:
		a := array.MakeFromData(d)
		defer a.Release()
		return cellsOf(a).check()
	}
	if d.DataType().ID() == arrow.DICTIONARY {
		return c.nested(d.Dictionary())
	}
	from, to := d.Offset(), d.Offset()+d.Len()
	switch t := d.DataType().(type) {
	case *arrow.ListType, *arrow.MapType:
		offsets := arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())
		from, to = int(offsets[from]), int(offsets[to])
	case *arrow.LargeListType:
		offsets := arrow.Int64Traits.CastFromBytes(d.Buffers()[1].Bytes())
		from, to = int(offsets[from]), int(offsets[to])
	case *arrow.FixedSizeListType:
		from, to = from*int(t.Len()), to*int(t.Len())
	case *arrow.StructType:
	default: // whose rows may be anywhere in the children
		return c.children(d)
	}
	for _, child := range d.Children() {
		piece := array.NewSliceData(child, int64(from), int64(to))
		err := c.nested(piece)
		piece.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// fits reports whether a number has no more digits than that. The smallest one of 128 bits has no negation, which
// arrow-go forgets.
func fits(v decimal128.Num, digits int32) bool {
	return v != decimal128.New(math.MinInt64, 0) && v.FitsInPrecision(digits)
}

// checkDigits is an error if a decimal has more digits than its type says.
func checkDigits(d arrow.ArrayData, t *arrow.Decimal128Type) error {
	a := array.NewDecimal128Data(d)
	defer a.Release()
	for i := range a.Len() {
		if v := a.Value(i); a.IsValid(i) && !fits(v, t.Precision) {
			return overflow(v, t)
		}
	}
	return nil
}

func (c check) children(d arrow.ArrayData) error {
	for _, child := range d.Children() {
		if err := c.nested(child); err != nil {
			return err
		}
	}
	return nil
}

func isFallible(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return isFallible(t.ValueType)
	case arrow.NestedType:
		for _, f := range t.Fields() {
			if isFallible(f.Type) {
				return true
			}
		}
		return false
	}
	return kindOf(t) == text || t.ID() == arrow.DECIMAL128
}
