package descriptor

import (
	"fmt"
	"math"

	"github.com/csmsql/csmsql/catalog/internal/message"
)

// Field numbers of descriptor.proto.
const (
	chunkFormat, chunkRows, chunkOwner, chunkExtents                                             = 1, 2, 3, 4
	chunkSchema, chunkColumns, chunkStatistics                                                   = 5, 6, 7
	extentRegion, extentGeneration, extentOffset, extentLength, extentSealLength, extentChecksum = 1, 2, 3, 4, 5, 6
	extentOthers                                                                                 = 7
	placeRegion, placeGeneration, placeOffset                                                    = 1, 2, 3
	nodeLength, nodeNullCount, nodeOffset, nodeBuffers, nodeChildren, nodeDictionary             = 1, 2, 3, 4, 5, 6
	bufferExtent, bufferOffset, bufferLength, bufferChecksum                                     = 1, 2, 3, 4
	statNullCount, statDistinct, statMin, statMax, statMinExact, statMaxExact, statHasNaN        = 1, 2, 3, 4, 5, 6, 7
	valueInt, valueUint, valueFloat, valueBytes, valueDecimal                                    = 1, 2, 3, 4, 5
)

// Encode writes the descriptor in its wire format.
func (d *Descriptor) Encode() ([]byte, error) {
	return d.AppendTo(make([]byte, 0, 512))
}

// AppendTo is Encode into a buffer of the caller's.
func (d *Descriptor) AppendTo(buffer []byte) ([]byte, error) {
	if d.Values != nil {
		return nil, fmt.Errorf("%w: columns without bytes", ErrUnsupported)
	}
	w := message.Writer{Buf: buffer}
	w.Uint(chunkFormat, Format)
	w.Int(chunkRows, d.Rows)
	w.OptionalString(chunkOwner, d.Owner)
	for i := range d.Extents {
		d.appendExtent(&w, i)
	}
	start := w.Begin(chunkSchema)
	e := schemaEncoder{Writer: &w}
	e.schema(d.Schema)
	w.End(start)
	for i := range d.Columns {
		appendNode(&w, chunkColumns, &d.Columns[i])
	}
	for i := range d.Statistics {
		AppendStatistics(&w, chunkStatistics, &d.Statistics[i])
	}
	return w.Buf, e.err
}

func (d *Descriptor) appendExtent(w *message.Writer, i int) {
	x, start := &d.Extents[i], w.Begin(chunkExtents)
	w.OptionalUint(extentRegion, uint64(x.Region))
	w.OptionalUint(extentGeneration, uint64(x.Generation))
	w.Int(extentOffset, x.Range.Offset)
	w.Int(extentLength, x.Range.Length)
	w.Int(extentSealLength, x.Seal.Length)
	w.Fixed(extentChecksum, x.Seal.Checksum)
	for _, other := range d.Others {
		appendPlace(w, &other[i])
	}
	w.End(start)
}

func appendPlace(w *message.Writer, x *Extent) {
	start := w.Begin(extentOthers)
	w.OptionalUint(placeRegion, uint64(x.Region))
	w.OptionalUint(placeGeneration, uint64(x.Generation))
	w.Int(placeOffset, x.Range.Offset)
	w.End(start)
}

func appendNode(w *message.Writer, field int, n *Node) {
	start := w.Begin(field)
	w.Int(nodeLength, n.Length)
	w.Int(nodeNullCount, n.NullCount)
	w.Int(nodeOffset, n.Offset)
	for i := range n.Buffers {
		b := &n.Buffers[i]
		inner := w.Begin(nodeBuffers)
		if b.Present() {
			w.Uint(bufferExtent, uint64(b.Extent))
			w.Int(bufferOffset, b.Offset)
			w.Int(bufferLength, b.Length)
			w.Fixed(bufferChecksum, b.Checksum)
		}
		w.End(inner)
	}
	for i := range n.Children {
		appendNode(w, nodeChildren, &n.Children[i])
	}
	if n.Dictionary != nil {
		appendNode(w, nodeDictionary, n.Dictionary)
	}
	w.End(start)
}

// AppendStatistics writes message ColumnStatistics as a field of another message; the catalog's records use it too.
func AppendStatistics(w *message.Writer, field int, s *Statistics) {
	start := w.Begin(field)
	if s.NullCount != UnknownNullCount {
		w.Uint(statNullCount, uint64(s.NullCount))
	}
	w.Int(statDistinct, s.Distinct)
	appendValue(w, statMin, s.Min)
	appendValue(w, statMax, s.Max)
	w.Bool(statMinExact, s.MinExact)
	w.Bool(statMaxExact, s.MaxExact)
	w.Bool(statHasNaN, s.HasNaN)
	w.End(start)
}

func appendValue(w *message.Writer, field int, v Value) {
	if !v.Known() {
		return
	}
	start := w.Begin(field)
	switch v.kind {
	case IntValue:
		w.Sint(valueInt, v.Int())
	case UintValue:
		w.Uint(valueUint, v.bits)
	case FloatValue:
		w.Fixed(valueFloat, math.Float64bits(v.Float()))
	case BytesValue:
		w.String(valueBytes, v.bytes)
	case DecimalValue:
		w.String(valueDecimal, v.bytes)
	}
	w.End(start)
}
