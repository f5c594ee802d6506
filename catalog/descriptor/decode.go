package descriptor

import (
	"fmt"
	"math"

	"github.com/csmsql/csmsql/catalog/internal/message"
	"github.com/csmsql/csmsql/memregion"
)

// common has the schemas of descriptors that come one by one.
var common SchemaCache

// Decode reads and validates a descriptor. Whatever the bytes are, the outcome is a descriptor for which D1 to D4
// hold, or an error that wraps ErrCorrupt or ErrFormat and says which field is wrong. Nothing of data is kept but
// what a SchemaCache keeps: one serves all callers in the process.
func Decode(data []byte) (*Descriptor, error) {
	decoder := Decoder{Schemas: &common}
	return decoder.Decode(data)
}

// Decode is the package's Decode with parts in common blocks.
func (d *Decoder) Decode(data []byte) (*Descriptor, error) {
	if len(data) > MaxEncodedBytes {
		return nil, fmt.Errorf("%w: %d bytes are more than %d", ErrCorrupt, len(data), MaxEncodedBytes)
	}
	c := d.next()
	if err := d.read(data, c); err != nil {
		return nil, corrupt(err)
	}
	if err := c.Validate(); err != nil {
		return nil, corrupt(err)
	}
	return c, nil
}

func corrupt(err error) error {
	if e, ok := err.(*corruption); ok {
		return e
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

func (d *Decoder) read(data []byte, c *Descriptor) error {
	r := message.NewReader(data)
	var format uint64
	nodes := nodeDecoder{Decoder: d}
	for r.Next() {
		switch r.Field() {
		case chunkFormat:
			if format = r.Uint(); format != Format {
				return fmt.Errorf("%w %d, this program knows %d", ErrFormat, format, Format)
			}
		case chunkRows:
			c.Rows = r.Int()
		case chunkOwner:
			c.Owner = d.ownerOf(r.Bytes())
		case chunkExtents:
			if len(c.Extents) >= MaxExtents {
				return fmt.Errorf("more than %d extents", MaxExtents)
			}
			if c.Extents == nil {
				c.Extents = part(d, &d.extents, 1) // of most chunks that is all
			}
			r.Fail(readExtent(r.Sub(), &c.Extents, &c.Others))
		case chunkSchema:
			schema, err := d.schemaOf(r.Bytes())
			r.Fail(err)
			c.Schema = schema
			if err == nil && c.Columns == nil {
				c.Columns, c.Statistics = d.columns(schema.NumFields())
			}
		case chunkColumns:
			c.Columns = append(c.Columns, Node{Buffers: d.buffersOf(c.Schema, len(c.Columns))})
			r.Fail(nodes.read(r.Sub(), &c.Columns[len(c.Columns)-1], 0))
		case chunkStatistics:
			if len(c.Statistics) >= MaxNodes {
				return fmt.Errorf("statistics of more than %d columns", MaxNodes)
			}
			c.Statistics = append(c.Statistics, Statistics{})
			r.Fail(d.readStatistics(r.Sub(), &c.Statistics[len(c.Statistics)-1]))
		default:
			r.Skip()
		}
	}
	if r.Err() == nil && format == 0 {
		return fmt.Errorf("no format number: not a chunk descriptor")
	}
	return r.Err()
}

// readExtent appends an extent to those of the first replica, and its others to theirs.
func readExtent(r message.Reader, extents *[]Extent, others *[][]Extent) error {
	var x Extent
	at, places := len(*extents), 0
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
		case extentOthers:
			place, err := readPlace(r.Sub())
			r.Fail(err)
			if places++; at == 0 && places < MaxReplicas {
				*others = append(*others, nil)
			}
			if places > len(*others) {
				return fmt.Errorf("extent %d lies in %d other places", at, places)
			}
			(*others)[places-1] = append((*others)[places-1], place)
		default:
			r.Skip()
		}
	}
	if err := r.Err(); err != nil {
		return err
	}
	if places < len(*others) {
		return fmt.Errorf("extent %d lies in %d other places, those before it in %d", at, places, len(*others))
	}
	*extents = append(*extents, x)
	for _, other := range *others {
		other[at].Range.Length, other[at].Seal = x.Range.Length, x.Seal
	}
	return nil
}

func readPlace(r message.Reader) (x Extent, err error) {
	for r.Next() {
		switch r.Field() {
		case placeRegion:
			x.Region = memregion.RegionID(r.Uint())
		case placeGeneration:
			x.Generation = Generation(r.Uint())
		case placeOffset:
			x.Range.Offset = r.Int()
		default:
			r.Skip()
		}
	}
	return x, r.Err()
}

// nodeDecoder counts arrays over the whole descriptor, so that nesting cannot multiply the bound.
type nodeDecoder struct {
	*Decoder
	nodes int
}

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
			if len(n.Buffers) >= MaxBuffers {
				return fmt.Errorf("an array of more than %d buffers", MaxBuffers)
			}
			if n.Buffers == nil {
				n.Buffers = part(d.Decoder, &d.buffers, 1+countBuffers(r))
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
	return new(Decoder).readStatistics(r, s)
}

func (d *Decoder) readStatistics(r message.Reader, s *Statistics) error {
	s.NullCount = UnknownNullCount
	for r.Next() {
		switch r.Field() {
		case statNullCount:
			s.NullCount = r.Int()
		case statDistinct:
			s.Distinct = r.Int()
		case statMin:
			v, err := d.readValue(r.Sub())
			r.Fail(err)
			s.Min = v
		case statMax:
			v, err := d.readValue(r.Sub())
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

func (d *Decoder) readValue(r message.Reader) (v Value, err error) {
	for r.Next() {
		switch r.Field() {
		case valueInt:
			v = IntOf(r.Sint())
		case valueUint:
			v = UintOf(r.Uint())
		case valueFloat:
			v = FloatOf(math.Float64frombits(r.Fixed()))
		case valueBytes:
			v = Value{kind: BytesValue, bytes: d.text(r.Bytes())}
		case valueDecimal:
			words := r.Bytes()
			if r.Err() == nil && len(words) != 32 {
				return v, fmt.Errorf("decimal of %d bytes", len(words))
			}
			v = Value{kind: DecimalValue, bytes: d.text(words)}
		default:
			r.Skip()
		}
	}
	return v, r.Err()
}
