package descriptor

import (
	"bytes"
	"fmt"
	"math"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/memregion"
)

// Decode reads and validates a descriptor. Whatever the bytes are, the outcome is a descriptor for which D1 to D4 hold,
// or an error that wraps ErrCorrupt or ErrFormat and says which field is wrong. Nothing of data is kept.
func Decode(data []byte) (*Descriptor, error) {
	return (*SchemaCache)(nil).Decode(data)
}

// maxCachedSchemas bounds a SchemaCache; when it is full it starts over.
const maxCachedSchemas = 256

// SchemaCache shares one *arrow.Schema between all descriptors that carry the same encoded one, as the chunks of a table
// do: it halves the time to decode and saves most of the memory. The zero value is ready; a nil cache caches nothing.
// It is safe for concurrent use.
type SchemaCache struct {
	mu      sync.Mutex
	entries map[uint64]cachedSchema // guarded by mu
}

type cachedSchema struct {
	encoded []byte
	schema  *arrow.Schema
}

func (c *SchemaCache) decode(encoded []byte) (*arrow.Schema, error) {
	if c == nil {
		d := schemaDecoder{}
		return d.schema(encoded)
	}
	key := xxh3.Hash(encoded)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok && bytes.Equal(e.encoded, encoded) {
		return e.schema, nil
	}
	d := schemaDecoder{}
	schema, err := d.schema(encoded)
	if err != nil {
		return nil, err
	}
	if c.entries == nil || len(c.entries) >= maxCachedSchemas {
		c.entries = map[uint64]cachedSchema{}
	}
	c.entries[key] = cachedSchema{bytes.Clone(encoded), schema}
	return schema, nil
}

// Decode is the package's Decode with shared schemas.
func (c *SchemaCache) Decode(data []byte) (*Descriptor, error) {
	if len(data) > MaxEncodedBytes {
		return nil, fmt.Errorf("%w: %d bytes are more than %d", ErrCorrupt, len(data), MaxEncodedBytes)
	}
	d := &Descriptor{}
	if err := d.read(data, c); err != nil {
		return nil, corrupt(err)
	}
	if err := d.Validate(); err != nil {
		return nil, corrupt(err)
	}
	return d, nil
}

func corrupt(err error) error {
	if e, ok := err.(*corruption); ok {
		return e
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

func (d *Descriptor) read(data []byte, cache *SchemaCache) error {
	r := message.NewReader(data)
	var format uint64
	nodes := nodeDecoder{}
	for r.Next() {
		switch r.Field() {
		case chunkFormat:
			if format = r.Uint(); format != Format {
				return fmt.Errorf("%w %d, this program knows %d", ErrFormat, format, Format)
			}
		case chunkRows:
			d.Rows = r.Int()
		case chunkOwner:
			d.Owner = r.String()
		case chunkExtents:
			if len(d.Extents) >= MaxExtents {
				return fmt.Errorf("more than %d extents", MaxExtents)
			}
			x, err := readExtent(r.Sub())
			r.Fail(err)
			d.Extents = append(d.Extents, x)
		case chunkSchema:
			schema, err := cache.decode(r.Bytes())
			r.Fail(err)
			d.Schema = schema
			if err == nil && d.Columns == nil {
				d.Columns = make([]Node, 0, schema.NumFields())
				d.Statistics = make([]Statistics, 0, schema.NumFields())
			}
		case chunkColumns:
			d.Columns = append(d.Columns, Node{})
			r.Fail(nodes.read(r.Sub(), &d.Columns[len(d.Columns)-1], 0))
		case chunkStatistics:
			d.Statistics = append(d.Statistics, Statistics{})
			r.Fail(ReadStatistics(r.Sub(), &d.Statistics[len(d.Statistics)-1]))
		default:
			r.Skip()
		}
	}
	if r.Err() == nil && format == 0 {
		return fmt.Errorf("no format number: not a chunk descriptor")
	}
	return r.Err()
}

func readExtent(r message.Reader) (x Extent, err error) {
	for r.Next() {
		switch r.Field() {
		case extentRegion:
			x.Region = memregion.RegionID(r.Uint())
		case extentGeneration:
			x.Generation = Generation(r.Uint())
		case extentOffset:
			x.Range.Offset = r.Int()
		case extentLength:
			x.Range.Length = r.Int()
		case extentSealLength:
			x.Seal.Length = r.Int()
		case extentChecksum:
			x.Seal.Checksum = r.Fixed()
		default:
			r.Skip()
		}
	}
	return x, r.Err()
}

// nodeDecoder counts arrays over the whole descriptor, so that nesting cannot multiply the bound.
type nodeDecoder struct{ nodes int }

func (d *nodeDecoder) read(r message.Reader, n *Node, depth int) error {
	if d.nodes++; d.nodes > MaxNodes {
		return fmt.Errorf("more than %d arrays", MaxNodes)
	}
	if depth > MaxDepth {
		return fmt.Errorf("arrays nested deeper than %d", MaxDepth)
	}
	for r.Next() {
		switch r.Field() {
		case nodeLength:
			n.Length = r.Int()
		case nodeNullCount:
			n.NullCount = r.Int()
		case nodeOffset:
			n.Offset = r.Int()
		case nodeBuffers:
			if n.Buffers == nil {
				n.Buffers = make([]Buffer, 0, 1+countBuffers(r))
			}
			n.Buffers = append(n.Buffers, Buffer{})
			r.Fail(readBuffer(r.Sub(), &n.Buffers[len(n.Buffers)-1]))
		case nodeChildren:
			n.Children = append(n.Children, Node{})
			r.Fail(d.read(r.Sub(), &n.Children[len(n.Children)-1], depth+1))
		case nodeDictionary:
			if n.Dictionary != nil {
				return fmt.Errorf("an array with two dictionaries")
			}
			n.Dictionary = &Node{}
			r.Fail(d.read(r.Sub(), n.Dictionary, depth+1))
		default:
			r.Skip()
		}
	}
	return r.Err()
}

// countBuffers counts the buffers after the current one.
func countBuffers(r message.Reader) int {
	r.Skip()
	return r.Count(nodeBuffers, MaxBuffers)
}

func readBuffer(r message.Reader, b *Buffer) error {
	for r.Next() {
		switch r.Field() {
		case bufferExtent:
			v := r.Uint()
			if v > MaxExtents {
				return fmt.Errorf("buffer in extent %d of at most %d", v, MaxExtents)
			}
			b.Extent = int32(v)
		case bufferOffset:
			b.Offset = r.Int()
		case bufferLength:
			b.Length = r.Int()
		case bufferChecksum:
			b.Checksum = r.Fixed()
		default:
			r.Skip()
		}
	}
	return r.Err()
}

// ReadStatistics reads what AppendStatistics wrote.
func ReadStatistics(r message.Reader, s *Statistics) error {
	s.NullCount = UnknownNullCount
	for r.Next() {
		switch r.Field() {
		case statNullCount:
			s.NullCount = r.Int()
		case statDistinct:
			s.Distinct = r.Int()
		case statMin:
			v, err := readValue(r.Sub())
			r.Fail(err)
			s.Min = v
		case statMax:
			v, err := readValue(r.Sub())
			r.Fail(err)
			s.Max = v
		case statMinExact:
			s.MinExact = r.Bool()
		case statMaxExact:
			s.MaxExact = r.Bool()
		case statHasNaN:
			s.HasNaN = r.Bool()
		default:
			r.Skip()
		}
	}
	return r.Err()
}

func readValue(r message.Reader) (v Value, err error) {
	for r.Next() {
		switch r.Field() {
		case valueInt:
			v = IntOf(r.Sint())
		case valueUint:
			v = UintOf(r.Uint())
		case valueFloat:
			v = FloatOf(math.Float64frombits(r.Fixed()))
		case valueBytes:
			v = BytesOf(r.Bytes())
		case valueDecimal:
			b := r.Bytes()
			if r.Err() == nil && len(b) != 32 {
				return v, fmt.Errorf("decimal of %d bytes", len(b))
			}
			v = Value{kind: DecimalValue, bytes: string(b)}
		default:
			r.Skip()
		}
	}
	return v, r.Err()
}
