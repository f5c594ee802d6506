package descriptor

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// Format is the number that a descriptor of this version carries. A reader refuses every other one.
const Format = 1

// Limits of what Decode accepts. They are far above what the writer makes and bound what hostile bytes can cost.
const (
	// MaxEncodedBytes is the longest encoded descriptor.
	MaxEncodedBytes = 16 << 20
	// MaxRows is the greatest length of an array, offset included; it keeps every product below 2^63.
	MaxRows = 1 << 40
	// MaxDepth is the deepest nesting of types and of arrays.
	MaxDepth = 32
	// MaxNodes is the greatest number of arrays, children and dictionaries included.
	MaxNodes = 1 << 16
	// MaxExtents is the greatest number of extents of one chunk.
	MaxExtents = 1 << 10
	// MaxBuffers is the greatest number of buffers of one array (only view arrays have more than three).
	MaxBuffers = 1 << 16
)

// Generation and Seal are coherence's; the descriptor carries them.
type (
	Generation = coherence.Generation
	Seal       = coherence.Seal
)

// ExtentID names one writing of one extent for ever.
type ExtentID struct {
	Region     memregion.RegionID
	Generation Generation
}

func (id ExtentID) String() string {
	return fmt.Sprintf("region %d generation %d", id.Region, id.Generation)
}

// Extent is a piece of a region in which buffers of the chunk lie.
type Extent struct {
	ExtentID
	Range memregion.Range
	// Seal has the xxh3-64 of the extent's written bytes, padding included.
	Seal Seal
}

// Buffer is where one Arrow buffer lies. The zero value stands for a buffer that is absent.
type Buffer struct {
	// Extent is the position in Descriptor.Extents plus one; zero means absent.
	Extent int32
	// Offset counts from the extent's start, in bytes; LineSize-aligned.
	Offset int64
	// Length is the buffer's length in bytes without padding.
	Length int64
	// Checksum is the xxh3-64 of the Length bytes.
	Checksum uint64
}

// Present tells whether there is a buffer at all; an all-valid array has no validity bitmap, for example.
func (b Buffer) Present() bool { return b.Extent > 0 }

// Node is one Arrow array: a column, a child or a dictionary.
type Node struct {
	Length int64
	// NullCount counts cleared validity bits in [Offset, Offset+Length); it is always known.
	NullCount int64
	// Offset is the array offset in elements, explicit as in Arrow's C data interface.
	Offset int64
	// Buffers follow arrow-go's order: unions have an absent first one, view arrays any number after the second.
	Buffers    []Buffer
	Children   []Node
	Dictionary *Node
}

// Descriptor is everything another process needs to rebuild a chunk's record batch over mapped regions. It is
// immutable once made; all its slices are shared.
type Descriptor struct {
	Rows int64
	// Owner is who the extents were granted to (the quota's name at the lender).
	Owner   string
	Extents []Extent
	// Schema is the physical one; what users see may differ; catalog.Table has that.
	Schema     *arrow.Schema
	Columns    []Node
	Statistics []Statistics
}

// Bytes is the space that the chunk takes in its regions.
func (d *Descriptor) Bytes() int64 {
	var n int64
	for _, e := range d.Extents {
		n += e.Range.Length
	}
	return n
}

// ExtentIDs lists the chunk's generations in order.
func (d *Descriptor) ExtentIDs() []ExtentID {
	ids := make([]ExtentID, len(d.Extents))
	for i, e := range d.Extents {
		ids[i] = e.ExtentID
	}
	return ids
}
