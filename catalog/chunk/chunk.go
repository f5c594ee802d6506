package chunk

import (
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/statistics"
)

// Chunk is a sealed record batch: its descriptor and what the catalog needs to take it into a table. It is immutable.
type Chunk struct {
	descriptor *descriptor.Descriptor
	encoded    []byte
	sketches   []statistics.Sketch
}

// New makes a chunk of a descriptor that is valid and will not change; encoded is its wire form, sketches has one
// sketch per column or is nil when they are not at hand (chunks read back from a store).
func New(d *descriptor.Descriptor, encoded []byte, sketches []statistics.Sketch) *Chunk {
	c := &Chunk{}
	c.Init(d, encoded, sketches)
	return c
}

// Init is New for whoever makes many chunks at once. Preconditions: c is zero and nobody else knows it.
func (c *Chunk) Init(d *descriptor.Descriptor, encoded []byte, sketches []statistics.Sketch) {
	*c = Chunk{descriptor: d, encoded: encoded, sketches: sketches}
}

// Descriptor is shared and must not be changed.
func (c *Chunk) Descriptor() *descriptor.Descriptor { return c.descriptor }

// Encoded is the descriptor's wire form.
func (c *Chunk) Encoded() []byte { return c.encoded }

// Sketches are the columns' distinct sketches, or nil.
func (c *Chunk) Sketches() []statistics.Sketch { return c.sketches }

// Rows is the number of rows.
func (c *Chunk) Rows() int64 { return c.descriptor.Rows }

// Bytes is the space that the chunk takes in its regions.
func (c *Chunk) Bytes() int64 { return c.descriptor.Bytes() }

// Extents lists the chunk's generations.
func (c *Chunk) Extents() []descriptor.ExtentID { return c.descriptor.ExtentIDs() }

// Statistics are those of column i.
func (c *Chunk) Statistics(i int) *descriptor.Statistics { return &c.descriptor.Statistics[i] }
