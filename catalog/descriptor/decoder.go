package descriptor

import (
	"bytes"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Decoder decodes descriptors that are kept together, such as a page's: their parts lie in common blocks of memory,
// which makes an allocation of many. A block stays as long as any descriptor with a part in it. The zero value is
// ready. Not safe for concurrent use; the descriptors are.
type Decoder struct {
	// Schemas is where schemas come from; nil: each descriptor has its own.
	Schemas *SchemaCache
	// Expected is how many more descriptors will be decoded. It may be wrong.
	Expected int

	encoded     []byte // of schema
	schema      *arrow.Schema
	owner       string
	texts       strings.Builder
	descriptors []Descriptor
	extents     []Extent
	nodes       []Node
	buffers     []Buffer
	statistics  []Statistics
}

// Bounds of a block: so many descriptors' parts, and so many elements unless one descriptor needs more. They bound
// what is kept for nothing, and what bytes that lie about their schema can cost.
const (
	blockDescriptors = 32
	blockElements    = 1024
	blockTextBytes   = 4096
)

// part gives an empty slice with room for n elements, out of the current block if they fit.
func part[T any](d *Decoder, block *[]T, n int) []T {
	used := len(*block)
	if cap(*block)-used < n {
		times := min(d.Expected+1, blockDescriptors)
		*block, used = make([]T, 0, max(n, min(n*times, blockElements))), 0
	}
	*block = (*block)[:used+n]
	return (*block)[used : used : used+n]
}

// What a descriptor consists of when no other one is expected: two allocations instead of one for each kind of part.
// What does not fit has its own.
type (
	loneBlock struct {
		descriptor [1]Descriptor
		extents    [1]Extent
	}
	// loneColumns are those of a table of few.
	loneColumns struct {
		nodes      [fewColumns]Node
		buffers    [2 * fewColumns]Buffer
		statistics [fewColumns]Statistics
	}
)

const fewColumns = 4

// next makes the descriptor that is decoded next.
func (d *Decoder) next() *Descriptor {
	if d.Expected = max(d.Expected-1, 0); d.Expected == 0 && len(d.descriptors) == cap(d.descriptors) {
		b := &loneBlock{}
		d.descriptors, d.extents = b.descriptor[:0], b.extents[:0]
	}
	one := part(d, &d.descriptors, 1)
	return &one[:1][0]
}

// columns makes room for n of them.
func (d *Decoder) columns(n int) ([]Node, []Statistics) {
	if d.Expected == 0 && 0 < n && n <= fewColumns && len(d.nodes) == cap(d.nodes) {
		b := &loneColumns{}
		d.nodes, d.buffers, d.statistics = b.nodes[:0], b.buffers[:0], b.statistics[:0]
	}
	return part(d, &d.nodes, n), part(d, &d.statistics, n)
}

// buffersOf makes room for those that an array of a type has; nil: that depends on the array.
func (d *Decoder) buffersOf(schema *arrow.Schema, column int) []Buffer {
	if schema == nil || column >= schema.NumFields() {
		return nil
	}
	layout, err := LayoutOf(schema.Field(column).Type)
	if err != nil || layout.Class == ClassView {
		return nil
	}
	return part(d, &d.buffers, layout.Slots())
}

// ownerOf gives descriptors of one owner one string.
func (d *Decoder) ownerOf(name []byte) string {
	if d.owner != string(name) {
		d.owner = d.text(name)
	}
	return d.owner
}

// text copies b into a block.
func (d *Decoder) text(b []byte) string {
	if d.texts.Cap()-d.texts.Len() < len(b) {
		d.texts = strings.Builder{} // strings that were given out keep the block of before
		if d.Expected > 0 {
			d.texts.Grow(max(len(b), blockTextBytes))
		}
	}
	d.texts.Write(b)
	all := d.texts.String()
	return all[len(all)-len(b):]
}

// schemaOf decodes a schema, unless it is the one of the descriptor before.
func (d *Decoder) schemaOf(encoded []byte) (*arrow.Schema, error) {
	if d.schema != nil && bytes.Equal(d.encoded, encoded) {
		return d.schema, nil
	}
	schema, err := d.Schemas.decode(encoded)
	if err == nil && d.Expected > 0 {
		d.encoded, d.schema = bytes.Clone(encoded), schema
	}
	return schema, err
}
