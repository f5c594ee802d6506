package pgformat

import (
	"encoding/binary"
	"strings"
	"time"
)

// arrayElementsMax bounds the elements of a parameter, as PostgreSQL's MaxArraySize does.
const arrayElementsMax = (1<<30 - 1) / 8

// decodeArrayBinary reads the form that binaryOfList writes. Sizes are checked against the bytes there are before
// anything is allocated (PF3).
func decodeArrayBinary(bytes []byte, zone *time.Location) (any, error) {
	reader := arrayReader{rest: bytes}
	dimensions := int(reader.uint32())
	reader.uint32() // whether there are nulls: the elements say it themselves
	out := &Array{ElementOID: reader.uint32()}
	if reader.short || dimensions < 0 || dimensions > arrayDimensionsMax {
		return nil, invalidBinary("array", bytes)
	}
	count := min(dimensions, 1)
	for range dimensions {
		size := int(int32(reader.uint32()))
		reader.uint32() // lower bound
		if reader.short || size < 0 || size > arrayElementsMax || count*size > arrayElementsMax {
			return nil, invalidBinary("array", bytes)
		}
		count *= size
		out.Dimensions = append(out.Dimensions, size)
	}
	if count > len(reader.rest)/4 { // every element has at least its length
		return nil, invalidBinary("array", bytes)
	}
	if _, nested := ElementOID(out.ElementOID); nested {
		return nil, invalidBinary("array", bytes)
	}
	out.Elements = make([]any, count)
	for i := range out.Elements {
		element, null := reader.element()
		if reader.short {
			return nil, invalidBinary("array", bytes)
		}
		if null {
			continue
		}
		value, err := Decode(out.ElementOID, BinaryFormat, element, zone)
		if err != nil {
			return nil, err
		}
		out.Elements[i] = value
	}
	if len(reader.rest) > 0 {
		return nil, invalidBinary("array", bytes)
	}
	if count == 0 {
		out.Dimensions, out.Elements = nil, nil
	}
	return out, nil
}

// arrayReader takes bytes from the front and remembers when there were too few.
type arrayReader struct {
	rest  []byte
	short bool
}

func (r *arrayReader) take(count int) []byte {
	if count < 0 || count > len(r.rest) {
		r.short = true
		return nil
	}
	taken := r.rest[:count]
	r.rest = r.rest[count:]
	return taken
}

func (r *arrayReader) uint32() uint32 {
	if bytes := r.take(4); bytes != nil {
		return binary.BigEndian.Uint32(bytes)
	}
	return 0
}

func (r *arrayReader) element() (bytes []byte, null bool) {
	size := int32(r.uint32())
	if size == -1 {
		return nil, true
	}
	return r.take(int(size)), false
}

// decodeArrayText reads "{1,NULL,\"a b\",{…}}", optionally with bounds in front ("[2:3]={…}"), which are dropped.
func decodeArrayText(element uint32, text string, zone *time.Location) (any, error) {
	if err := CheckText(text); err != nil {
		return nil, err
	}
	body := strings.TrimSpace(text)
	if strings.HasPrefix(body, "[") {
		_, body, _ = strings.Cut(body, "=")
		body = strings.TrimSpace(body)
	}
	parser := arrayParser{text: body, element: element, zone: zone, array: &Array{ElementOID: element}}
	if err := parser.list(0); err != nil {
		return nil, err
	}
	if strings.TrimSpace(parser.text) != "" || parser.bad {
		return nil, invalidText("array", text)
	}
	if len(parser.array.Elements) == 0 {
		parser.array.Dimensions = nil
	}
	return parser.array, nil
}

// arrayParser reads nested braces; every list of one depth must have the same size.
type arrayParser struct {
	text    string
	element uint32
	zone    *time.Location
	array   *Array
	leaf    int  // depth at which elements were seen, plus one; 0: none yet
	deepest int  // depth of the deepest braces
	bad     bool // braces or sizes do not match
}

func (p *arrayParser) skipSpace() { p.text = strings.TrimLeft(p.text, " \t\n\r\v\f") }

func (p *arrayParser) accept(b byte) bool {
	p.skipSpace()
	if p.text == "" || p.text[0] != b {
		return false
	}
	p.text = p.text[1:]
	return true
}

// list reads one brace to its end.
func (p *arrayParser) list(depth int) error {
	if depth >= arrayDimensionsMax || !p.accept('{') {
		p.bad = true
		return nil
	}
	p.deepest = max(p.deepest, depth)
	size := 0
	for !p.accept('}') {
		if size > 0 && !p.accept(',') {
			p.bad = true
		}
		if p.bad {
			return nil
		}
		size++
		if err := p.item(depth); err != nil {
			return err
		}
	}
	p.closeList(depth, size)
	return nil
}

func (p *arrayParser) item(depth int) error {
	p.skipSpace()
	if strings.HasPrefix(p.text, "{") {
		if p.leaf == depth+1 {
			p.bad = true // elements and lists side by side
			return nil
		}
		return p.list(depth + 1)
	}
	if p.leaf != 0 && p.leaf != depth+1 || p.deepest > depth {
		p.bad = true
		return nil
	}
	p.leaf = depth + 1
	word, quoted := p.word()
	if p.bad {
		return nil
	}
	if !quoted && strings.EqualFold(word, "null") {
		p.array.Elements = append(p.array.Elements, nil)
		return nil
	}
	value, err := decodeText(p.element, word, p.zone)
	p.array.Elements = append(p.array.Elements, value)
	return err
}

// word reads one element, in quotes or bare, with backslash escapes.
func (p *arrayParser) word() (word string, quoted bool) {
	var out strings.Builder
	quoted = p.accept('"')
	for i := 0; i < len(p.text); i++ {
		b := p.text[i]
		switch {
		case b == '\\' && i+1 < len(p.text):
			i++
			out.WriteByte(p.text[i])
		case quoted && b == '"':
			p.text = p.text[i+1:]
			return out.String(), true
		case !quoted && (b == ',' || b == '}'):
			p.text = p.text[i:]
			word = strings.TrimRight(out.String(), " \t\n\r\v\f")
			p.bad = p.bad || word == ""
			return word, false
		case !quoted && (b == '{' || b == '"'):
			p.bad = true
			return "", false
		default:
			out.WriteByte(b)
		}
	}
	p.bad = true
	return "", quoted
}

// closeList checks a list's size against its siblings'.
func (p *arrayParser) closeList(depth, size int) {
	for len(p.array.Dimensions) <= depth {
		p.array.Dimensions = append(p.array.Dimensions, -1)
	}
	switch p.array.Dimensions[depth] {
	case -1:
		p.array.Dimensions[depth] = size
	case size:
	default:
		p.bad = true
	}
}
