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
	stored     *descriptor.Descriptor // nil: descriptor
}

// New makes a chunk of a descriptor that is valid and will not change; encoded is its wire form, sketches has one
// sketch per column or is nil when they are not at hand (chunks read back from a store).
func New(d *descriptor.Descriptor, encoded []byte, sketches []statistics.Sketch) *Chunk {
	c := &Chunk{}
	c.Init(d, encoded, sketches)
	return c
}

// Init is New for callers that make many chunks at once. Preconditions: c is zero and not shared yet.
func (c *Chunk) Init(d *descriptor.Descriptor, encoded []byte, sketches []statistics.Sketch) {
	*c = Chunk{descriptor: d, encoded: encoded, sketches: sketches}
}

// Descriptor is shared and must not be changed.
func (c *Chunk) Descriptor() *descriptor.Descriptor { return c.descriptor }

// Shown is the chunk with the columns that a version of its table has: d describes them in the place of those that are
// stored, sketches are of those.
func (c *Chunk) Shown(d *descriptor.Descriptor, sketches []statistics.Sketch) *Chunk {
	return &Chunk{descriptor: d, encoded: c.encoded, sketches: sketches, stored: c.Stored()}
}

// Stored describes the columns that the chunk has bytes of, whatever a version shows. It is shared, too.
func (c *Chunk) Stored() *descriptor.Descriptor {
	if c.stored != nil {
		return c.stored
	}
	return c.descriptor
}

// Encoded is the wire form of Stored.
func (c *Chunk) Encoded() []byte { return c.encoded }

// Sketches are the columns' distinct sketches, or nil.
func (c *Chunk) Sketches() []statistics.Sketch { return c.sketches }

// Rows is the number of rows.
func (c *Chunk) Rows() int64 { return c.descriptor.Rows }

// Bytes is the space that the chunk takes in its regions, all replicas together.
func (c *Chunk) Bytes() int64 { return c.descriptor.Bytes() }

// In is the same chunk with its replicas elsewhere: each is a list of extents that have the content of the chunk's
// own, as those that Copy makes have.
func (c *Chunk) In(replicas ...[]descriptor.Extent) (*Chunk, error) {
	d := *c.Stored()
	d.Extents, d.Others = replicas[0], replicas[1:]
	if len(replicas) == 1 {
		d.Others = nil
	}
	if err := d.Validate(); err != nil {
		return nil, err
	}
	encoded, err := d.Encode()
	if err != nil {
		return nil, err
	}
	sketches := c.sketches
	if c.stored != nil { // they are of other columns
		sketches = nil
	}
	return New(&d, encoded, sketches), nil
}

// Replicas is in how many places the chunk's bytes are.
func (c *Chunk) Replicas() int { return c.descriptor.Replicas() }

// Extents lists the chunk's generations, of all replicas, those of the first one first.
func (c *Chunk) Extents() []descriptor.ExtentID { return c.descriptor.ExtentIDs() }

// Statistics are those of column i.
func (c *Chunk) Statistics(i int) *descriptor.Statistics { return &c.descriptor.Statistics[i] }
