package ingest

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// batchBytes is about how much memory the rows of batch take in a chunk. Buffers that a slice shares with others are
// counted by what the slice sees of them: a reader that cuts a large batch into small ones would fill chunks with a few
// rows otherwise.
func batchBytes(batch arrow.RecordBatch) (n int64) {
	for _, c := range batch.Columns() {
		n += dataBytes(c.Data(), int64(c.Data().Offset()), int64(c.Len()))
	}
	return n
}

// dataBytes is about rows rows of d from first, an offset into its buffers.
func dataBytes(d arrow.ArrayData, first, rows int64) int64 {
	if rows <= 0 {
		return 0
	}
	bits := (rows + 7) / 8
	switch t := d.DataType().(type) {
	case *arrow.BooleanType:
		return 2 * bits
	case *arrow.DictionaryType:
		words := int64(d.Dictionary().Len())
		if words == 0 || kindOf(t.ValueType) == text && words <= dictionaryMax {
			return bits + rows
		}
		return bits + rows*(dataBytes(d.Dictionary(), int64(d.Dictionary().Offset()), words)/words+1)
	case arrow.BinaryViewDataType:
		return bits + viewSize*rows + longBytes(d, first, rows)
	case arrow.BinaryDataType:
		from, to := span(d, first, rows)
		return bits + viewSize*rows + to - from
	case *arrow.ListType, *arrow.LargeListType, *arrow.MapType:
		from, to := span(d, first, rows)
		child := d.Children()[0]
		return bits + 8*rows + dataBytes(child, int64(child.Offset())+from, to-from)
	case *arrow.FixedSizeListType:
		child := d.Children()[0]
		return bits + dataBytes(child, int64(child.Offset())+first*int64(t.Len()), rows*int64(t.Len()))
	case *arrow.StructType:
		n := bits
		for _, child := range d.Children() {
			n += dataBytes(child, int64(child.Offset())+first, rows)
		}
		return n
	case arrow.FixedWidthDataType:
		return bits + rows*int64(t.BitWidth()/8)
	}
	return int64(d.SizeInBytes()) // rare types: all that the buffers hold
}

// longBytes is about what views refer to: their share of the data buffers, unless so much lies there that the views of
// this array are hardly the only ones.
func longBytes(d arrow.ArrayData, first, rows int64) (n int64) {
	views := arrow.ViewHeaderTraits.CastFromBytes(d.Buffers()[1].Bytes())
	for i := range d.Buffers()[2:] {
		n += int64(len(bytesOf(d, 2+i)))
	}
	if share := n * rows / int64(len(views)); share <= poolShare*rows {
		return share
	}
	n = 0
	for i := range views[first : first+rows] {
		if h := &views[first+int64(i)]; !h.IsInline() {
			n += int64(h.Len())
		}
	}
	return n
}

// poolShare is how many bytes of data buffers per row are worth a look at all of them rather than at the rows.
const poolShare = 128

// span is where the values of rows rows begin and end in what the offsets of d refer to.
func span(d arrow.ArrayData, first, rows int64) (from, to int64) {
	raw := d.Buffers()[1].Bytes()
	if t, ok := d.DataType().(arrow.OffsetsDataType); ok && t.OffsetTypeTraits().BytesRequired(1) == 8 {
		offsets := arrow.Int64Traits.CastFromBytes(raw)
		return offsets[first], offsets[first+rows]
	}
	offsets := arrow.Int32Traits.CastFromBytes(raw)
	return int64(offsets[first]), int64(offsets[first+rows])
}
