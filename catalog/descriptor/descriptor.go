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
	// MaxNodes is the greatest number of arrays, children and dictionaries included; also that of fields of a
	// schema, and of pairs of its metadata.
	MaxNodes = 1 << 16
	// MaxExtents is the greatest number of extents of one chunk's replica.
	MaxExtents = 1 << 10
	// MaxReplicas is the greatest number of replicas of one chunk.
	MaxReplicas = 32
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

// Present reports whether there is a buffer at all; an all-valid array has no validity bitmap, for example.
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
	// Owner is the owner that the extents were granted to (the quota's name at the lender).
	Owner string
	// Extents are those of the first replica.
	Extents []Extent
	// Others are those of the chunk's other replicas: the same bytes in other places, extent by extent (D7).
	Others [][]Extent
	// Schema is the physical one; what users see may differ; catalog.Table has that.
	Schema     *arrow.Schema
	Columns    []Node
	Statistics []Statistics
	// Values are, by column, the one value of those columns that have no bytes and the same value in every row; nil of
	// a chunk as it is stored, whose columns all have theirs. No such descriptor is encoded.
	Values []arrow.Array
}

// Value is the value that column i has in every row, an array of it alone; nil: the column has bytes.
func (d *Descriptor) Value(i int) arrow.Array {
	if d.Values == nil {
		return nil
	}
	return d.Values[i]
}

// Bytes is the space that the chunk takes in its regions, all replicas together.
func (d *Descriptor) Bytes() int64 {
	var n int64
	for _, e := range d.Extents {
		n += e.Range.Length
	}
	return n * int64(d.Replicas())
}

// ColumnBytes is how much of it the values of some columns take, without what pads them.
func (d *Descriptor) ColumnBytes(columns []int) (n int64) {
	for _, c := range columns {
		n += d.Columns[c].bytes()
	}
	return n
}

func (n *Node) bytes() (sum int64) {
	for _, b := range n.Buffers {
		if b.Present() {
			sum += b.Length
		}
	}
	for i := range n.Children {
		sum += n.Children[i].bytes()
	}
	if n.Dictionary != nil {
		sum += n.Dictionary.bytes()
	}
	return sum
}

// ExtentIDs lists the chunk's generations, those of the first replica first.
func (d *Descriptor) ExtentIDs() []ExtentID {
	ids := make([]ExtentID, 0, len(d.Extents)*d.Replicas())
	for i := range d.Replicas() {
		for _, e := range d.ExtentsOf(i) {
			ids = append(ids, e.ExtentID)
		}
	}
	return ids
}

// Replicas is in how many places the chunk's bytes are: at least one.
func (d *Descriptor) Replicas() int { return 1 + len(d.Others) }

// ExtentsOf gives the extents of replica i, from 0.
func (d *Descriptor) ExtentsOf(i int) []Extent {
	if i == 0 {
		return d.Extents
	}
	return d.Others[i-1]
}

// Replica is the chunk as one of its replicas alone has it, to be read there.
func (d *Descriptor) Replica(i int) *Descriptor {
	if len(d.Others) == 0 {
		return d
	}
	one := *d
	one.Extents, one.Others = d.ExtentsOf(i), nil
	return &one
}
