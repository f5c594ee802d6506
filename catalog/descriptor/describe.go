package descriptor

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/zeebo/xxh3"
)

// Mapped is an extent together with its bytes in this process. Data starts at the extent's first byte.
type Mapped struct {
	Extent
	Data []byte
}

// Describe makes the descriptor of a batch whose buffers all lie, LineSize-aligned, in the given extents; what does not
// is ErrOutside. Buffer checksums are computed here; statistics are the caller's (nil: only null counts). Array
// offsets are kept as they are. The batch is only read and may be released afterwards.
func Describe(batch arrow.RecordBatch, owner string, extents []Mapped, statistics []Statistics) (*Descriptor, error) {
	d := &Descriptor{Rows: batch.NumRows(), Owner: owner, Schema: batch.Schema(), Statistics: statistics}
	d.Extents = make([]Extent, len(extents))
	for i := range extents {
		d.Extents[i] = extents[i].Extent
	}
	l := newLocator(extents)
	d.Columns = make([]Node, batch.NumCols())
	for i := range d.Columns {
		if err := l.node(batch.Column(i).Data(), &d.Columns[i]); err != nil {
			return nil, fmt.Errorf("describe column %q: %w", batch.ColumnName(i), err)
		}
	}
	if statistics == nil {
		d.Statistics = nullCounts(d)
	}
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("describe: %w", err)
	}
	return d, nil
}

func nullCounts(d *Descriptor) []Statistics {
	list := make([]Statistics, len(d.Columns))
	for i := range list {
		list[i].NullCount = UnknownNullCount
		if layout, err := LayoutOf(d.Schema.Field(i).Type); err == nil && (layout.HasValidity() || layout.Class == ClassNull) {
			list[i].NullCount = d.Columns[i].NullCount
		}
	}
	return list
}

func (l *locator) node(data arrow.ArrayData, n *Node) error {
	layout, err := LayoutOf(data.DataType())
	if err != nil {
		return err
	}
	n.Length, n.Offset = int64(data.Len()), int64(data.Offset())
	n.NullCount = int64(countNulls(data, layout))
	buffers := data.Buffers()
	n.Buffers = make([]Buffer, max(len(buffers), layout.Slots()))
	for i, b := range buffers {
		if b == nil || b.Len() == 0 || (i == 0 && n.NullCount == 0) {
			continue // a bitmap without a cleared bit says nothing; leaving it out spares readers the look
		}
		if n.Buffers[i], err = l.buffer(b); err != nil {
			return fmt.Errorf("buffer %d of %v: %w", i, data.DataType(), err)
		}
	}
	if children := data.Children(); len(children) > 0 {
		n.Children = make([]Node, len(children))
		for i, child := range children {
			if err := l.node(child, &n.Children[i]); err != nil {
				return err
			}
		}
	}
	if layout.Class == ClassDictionary {
		n.Dictionary = &Node{}
		return l.node(data.Dictionary(), n.Dictionary)
	}
	return nil
}

func (l *locator) buffer(b *memory.Buffer) (Buffer, error) {
	data := b.Bytes()
	extent, offset, ok := l.find(data)
	if !ok {
		return Buffer{}, ErrOutside
	}
	return Buffer{Extent: int32(extent) + 1, Offset: offset, Length: int64(len(data)), Checksum: xxh3.Hash(data)}, nil
}
