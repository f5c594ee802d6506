package pgformat

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// listShape is a list array resolved down to its elements: levels[0] is the outermost list.
type listShape struct {
	levels   []array.ListLike
	elements *column
}

// arrayDimensionsMax is PostgreSQL's MAXDIM.
const arrayDimensionsMax = 6

func (c *column) shape(list array.ListLike, elementOID uint32, format Format) (*listShape, error) {
	shape := &listShape{}
	for {
		shape.levels = append(shape.levels, list)
		values := storage(list.ListValues())
		inner, ok := values.(array.ListLike)
		if !ok {
			shape.elements = c.child()
			return shape, shape.elements.bind(values, elementOID, format)
		}
		list = inner
	}
}

// textOfList writes "{1,NULL,{…}}" as array_out does.
func (c *column) textOfList(list array.ListLike, oid uint32) (appendFunc, error) {
	element, ok := ElementOID(oid)
	if !ok {
		element = Text
	}
	shape, err := c.shape(list, element, TextFormat)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, row int) []byte { return shape.appendText(dst, 0, row) }, nil
}

func (s *listShape) appendText(dst []byte, level, row int) []byte {
	dst = append(dst, '{')
	from, to := s.levels[level].ValueOffsets(row)
	for at := int(from); at < int(to); at++ {
		if at > int(from) {
			dst = append(dst, ',')
		}
		switch {
		case level+1 < len(s.levels):
			if s.levels[level+1].IsNull(at) {
				dst = append(dst, "NULL"...)
			} else {
				dst = s.appendText(dst, level+1, at)
			}
		case s.elements.null(at):
			dst = append(dst, "NULL"...)
		default:
			start := len(dst)
			dst = s.elements.append(dst, at)
			dst = quoteElement(dst, start)
		}
	}
	return append(dst, '}')
}

// quoteElement puts the element at dst[start:] in quotes if the array syntax needs it.
func quoteElement(dst []byte, start int) []byte {
	element := dst[start:]
	escapes, quote := 0, len(element) == 0 || isNullWord(element)
	for _, b := range element {
		switch b {
		case '"', '\\':
			escapes++
			quote = true
		case '{', '}', ',', ' ', '\t', '\n', '\r', '\v', '\f':
			quote = true
		}
	}
	if !quote {
		return dst
	}
	size := len(element)
	dst = appendZeros(dst, escapes+2)
	out := len(dst) - 1
	dst[out] = '"'
	for in := start + size - 1; in >= start; in-- { // backwards: the text moves to the right in its own buffer
		out--
		dst[out] = dst[in]
		if dst[out] == '"' || dst[out] == '\\' {
			out--
			dst[out] = '\\'
		}
	}
	dst[start] = '"'
	return dst
}

func isNullWord(word []byte) bool {
	return len(word) == 4 && word[0]|0x20 == 'n' && word[1]|0x20 == 'u' && word[2]|0x20 == 'l' && word[3]|0x20 == 'l'
}

// errRagged is raised only in binary: the text of a ragged array can be written, though PostgreSQL could not read it.
var errRagged = &ValueError{
	State:   "2202E",
	Message: "multidimensional arrays must have sub-arrays with matching dimensions, and no NULL ones, to be sent in binary format",
	Help:    "Ask for the text format, or convert the value to text or json in the query.",
}

// binaryOfList writes PostgreSQL's array header and elements:
//
//	int32 dimensions | int32 has nulls | int32 element OID | { int32 size | int32 lower bound } … | { int32 length | bytes } …
func (c *column) binaryOfList(list array.ListLike, oid uint32) (appendFunc, error) {
	element, ok := ElementOID(oid)
	if !ok {
		return nil, unsupported(list, oid, BinaryFormat)
	}
	shape, err := c.shape(list, element, BinaryFormat)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, row int) []byte {
		var sizes [arrayDimensionsMax]int
		dimensions, ok := shape.dimensions(row, &sizes)
		if !ok {
			c.fail(errRagged)
			return dst
		}
		start := len(dst)
		dst = binary.BigEndian.AppendUint32(dst, uint32(dimensions))
		dst = binary.BigEndian.AppendUint32(dst, 0)
		dst = binary.BigEndian.AppendUint32(dst, element)
		for _, size := range sizes[:dimensions] {
			dst = binary.BigEndian.AppendUint32(dst, uint32(size))
			dst = binary.BigEndian.AppendUint32(dst, 1)
		}
		if dimensions == 0 {
			return dst
		}
		dst, hasNull := shape.appendBinary(dst, 0, row)
		if hasNull {
			dst[start+7] = 1
		}
		return dst
	}, nil
}

// dimensions finds the sizes of a rectangular array; an empty one has none. ok is false when it is ragged.
func (s *listShape) dimensions(row int, sizes *[arrayDimensionsMax]int) (dimensions int, ok bool) {
	if len(s.levels) > arrayDimensionsMax {
		return 0, false
	}
	at := row
	for level, list := range s.levels {
		if level > 0 && list.IsNull(at) {
			return 0, false
		}
		from, to := list.ValueOffsets(at)
		sizes[level] = int(to - from)
		if from == to {
			clear(sizes[level:]) // an empty sub-array: every other one must be empty too
			break
		}
		at = int(from)
	}
	if !s.rectangular(0, row, sizes) {
		return 0, false
	}
	for _, size := range sizes[:len(s.levels)] {
		if size == 0 {
			return 0, true
		}
	}
	return len(s.levels), true
}

func (s *listShape) rectangular(level, row int, sizes *[arrayDimensionsMax]int) bool {
	from, to := s.levels[level].ValueOffsets(row)
	if int(to-from) != sizes[level] {
		return false
	}
	if level+1 == len(s.levels) {
		return true
	}
	for at := int(from); at < int(to); at++ {
		if s.levels[level+1].IsNull(at) || !s.rectangular(level+1, at, sizes) {
			return false
		}
	}
	return true
}

func (s *listShape) appendBinary(dst []byte, level, row int) (out []byte, hasNull bool) {
	from, to := s.levels[level].ValueOffsets(row)
	for at := int(from); at < int(to); at++ {
		if level+1 < len(s.levels) {
			var null bool
			dst, null = s.appendBinary(dst, level+1, at)
			hasNull = hasNull || null
			continue
		}
		if s.elements.null(at) {
			dst = append(dst, 0xff, 0xff, 0xff, 0xff)
			hasNull = true
			continue
		}
		mark := len(dst)
		dst = s.elements.append(append(dst, 0, 0, 0, 0), at)
		binary.BigEndian.PutUint32(dst[mark:], uint32(len(dst)-mark-4))
	}
	return dst, hasNull
}

var _ arrow.Array = array.ListLike(nil)
