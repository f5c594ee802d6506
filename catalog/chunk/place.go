package chunk

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/memregion"
)

// placeBatch returns a batch of the same values whose arrays have offset zero and whose buffers lie in the arena. With
// all, buffers that lie there already are copied too. The result owns no memory: it lives as long as the arena.
func placeBatch(batch arrow.RecordBatch, to *arena, all bool, copied *int64) (out arrow.RecordBatch, err error) {
	column := 0
	defer func() { // offsets of a batch that was not validated can point anywhere
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("column %q cannot be copied: %v", batch.ColumnName(column), r)
		}
	}()
	p := placer{arena: to, all: all}
	arrays := make([]arrow.Array, batch.NumCols())
	for ; column < len(arrays); column++ {
		data, err := p.array(batch.Column(column).Data())
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", batch.ColumnName(column), err)
		}
		arrays[column] = array.MakeFromData(data)
	}
	*copied += p.copied
	if to.fault != nil {
		return nil, to.fault
	}
	return array.NewRecordBatch(batch.Schema(), arrays, batch.NumRows()), nil
}

type placer struct {
	arena  *arena
	all    bool
	copied int64
}

// array brings one array into the arena, children and dictionary too, with offset zero.
func (p *placer) array(data arrow.ArrayData) (arrow.ArrayData, error) {
	layout, err := descriptor.LayoutOf(data.DataType())
	if err != nil {
		return nil, err
	}
	offset, length, nulls := data.Offset(), data.Len(), 0
	buffers := make([]*memory.Buffer, layout.Slots())
	if layout.HasValidity() {
		nulls = data.NullN()
		if nulls == array.UnknownNullCount {
			nulls = countNulls(data)
		}
		if nulls > 0 {
			buffers[0] = p.bits(data.Buffers()[0], offset, length)
		}
	}
	var children []arrow.ArrayData
	switch layout.Class {
	case descriptor.ClassNull:
		nulls = length
	case descriptor.ClassBits:
		buffers[1] = p.bits(data.Buffers()[1], offset, length)
	case descriptor.ClassFixed, descriptor.ClassDictionary:
		buffers[1] = p.elements(data.Buffers()[1], offset, length, int(layout.Width))
	case descriptor.ClassVariable:
		p.variable(data, int(layout.Width), buffers)
	case descriptor.ClassView:
		buffers = p.views(data, buffers)
	default:
		if children, err = p.nested(data, layout, buffers); err != nil {
			return nil, err
		}
	}
	placed := array.NewData(data.DataType(), length, buffers, children, nulls, 0)
	if layout.Class == descriptor.ClassDictionary {
		dictionary, err := p.array(data.Dictionary())
		if err != nil {
			return nil, err
		}
		placed.SetDictionary(dictionary)
	}
	return placed, nil
}

func countNulls(data arrow.ArrayData) int {
	if b := data.Buffers()[0]; b != nil && b.Len() > 0 {
		return data.Len() - bitutil.CountSetBits(b.Bytes(), data.Offset(), data.Len())
	}
	return 0
}

// bytes keeps what lies in the arena on a line boundary and copies everything else.
func (p *placer) bytes(b []byte) *memory.Buffer {
	if len(b) == 0 {
		return nil
	}
	if !p.all {
		if piece, offset := p.arena.locate(b); piece != nil && offset%memregion.LineSize == 0 {
			return memory.NewBufferBytes(b)
		}
	}
	fresh := p.fresh(len(b))
	copy(fresh, b)
	return memory.NewBufferBytes(fresh)
}

// fresh is memory that the caller fills.
func (p *placer) fresh(size int) []byte {
	p.copied += int64(size)
	return p.arena.Allocate(size)
}

func (p *placer) elements(b *memory.Buffer, offset, length, width int) *memory.Buffer {
	if b == nil || length == 0 {
		return nil
	}
	return p.bytes(b.Bytes()[offset*width : (offset+length)*width])
}

func (p *placer) bits(b *memory.Buffer, offset, length int) *memory.Buffer {
	if b == nil || length == 0 {
		return nil
	}
	if offset%8 == 0 {
		return p.bytes(b.Bytes()[offset/8 : (offset+length+7)/8])
	}
	fresh := p.fresh((length + 7) / 8)
	bitutil.CopyBitmap(b.Bytes(), offset, length, fresh, 0)
	return memory.NewBufferBytes(fresh)
}

// variable places offsets and bytes; bytes that a slice does not reach are left behind.
func (p *placer) variable(data arrow.ArrayData, width int, buffers []*memory.Buffer) {
	if data.Len() == 0 {
		return
	}
	var first, last int64
	buffers[1], first, last = p.offsets(data, width)
	if b := data.Buffers()[2]; b != nil && last > first {
		buffers[2] = p.bytes(b.Bytes()[first:last])
	}
}

// offsets places an offsets buffer so that it begins with zero and returns the range that it spans. Preconditions: the
// array is not empty.
func (p *placer) offsets(data arrow.ArrayData, width int) (placed *memory.Buffer, first, last int64) {
	raw := data.Buffers()[1].Bytes()[data.Offset()*width : (data.Offset()+data.Len()+1)*width]
	if width == 4 {
		values := arrow.Int32Traits.CastFromBytes(raw)
		first, last = int64(values[0]), int64(values[len(values)-1])
		if first != 0 {
			fresh := arrow.Int32Traits.CastFromBytes(p.fresh(len(raw)))
			for i, v := range values {
				fresh[i] = v - values[0]
			}
			return memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(fresh)), first, last
		}
		return p.bytes(raw), first, last
	}
	values := arrow.Int64Traits.CastFromBytes(raw)
	first, last = values[0], values[len(values)-1]
	if first != 0 {
		fresh := arrow.Int64Traits.CastFromBytes(p.fresh(len(raw)))
		for i, v := range values {
			fresh[i] = v - first
		}
		return memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(fresh)), first, last
	}
	return p.bytes(raw), first, last
}
