package chunk

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog/descriptor"
)

// maximumViewBytes is the most that one data buffer of a view array can hold: offsets in it are int32.
const maximumViewBytes = 1<<31 - 1

// views places a view array. A whole array keeps its data buffers; of a slice only the bytes that are referred to are
// taken along, since a slice of a few rows may share buffers with millions.
func (p *placer) views(data arrow.ArrayData, buffers []*memory.Buffer) []*memory.Buffer {
	if data.Len() == 0 {
		return buffers
	}
	raw := data.Buffers()[1].Bytes()
	headers := arrow.ViewHeaderTraits.CastFromBytes(raw)[data.Offset() : data.Offset()+data.Len()]
	if data.Offset() == 0 && len(raw) == data.Len()*descriptor.ViewSize {
		buffers[1] = p.bytes(raw)
		for _, b := range data.Buffers()[2:] {
			buffers = append(buffers, p.whole(b))
		}
		return buffers
	}
	packed := viewPacker{placer: p, source: data}
	buffers[1] = packed.headers(headers)
	return append(buffers, packed.done...)
}

func (p *placer) whole(b *memory.Buffer) *memory.Buffer {
	if b == nil {
		return nil
	}
	return p.bytes(b.Bytes())
}

// viewPacker copies the long values of some views into fresh data buffers.
type viewPacker struct {
	*placer
	source arrow.ArrayData
	done   []*memory.Buffer
	open   []byte
	used   int
}

func (v *viewPacker) headers(from []arrow.ViewHeader) *memory.Buffer {
	raw := v.fresh(len(from) * descriptor.ViewSize)
	to := arrow.ViewHeaderTraits.CastFromBytes(raw)
	var left int64
	for i := range from {
		if v.long(i, &from[i]) {
			left += int64(from[i].Len())
		}
	}
	for i := range from {
		to[i] = from[i]
		if !v.long(i, &from[i]) {
			continue
		}
		length := from[i].Len()
		if length > len(v.open)-v.used {
			v.open, v.used = v.fresh(int(min(max(left, int64(length)), maximumViewBytes))), 0
			v.done = append(v.done, memory.NewBufferBytes(v.open))
		}
		source := v.source.Buffers()[2+from[i].BufferIndex()].Bytes()[from[i].BufferOffset():]
		copy(v.open[v.used:], source[:length])
		to[i].SetIndexOffset(int32(len(v.done)-1), int32(v.used))
		v.used += length
		left -= int64(length)
	}
	return memory.NewBufferBytes(raw)
}

// long reports whether value i lies in a data buffer. What a null's view says means nothing.
func (v *viewPacker) long(i int, h *arrow.ViewHeader) bool {
	return !h.IsInline() && valid(v.source, i)
}

func valid(data arrow.ArrayData, i int) bool {
	b := data.Buffers()[0]
	return b == nil || b.Len() == 0 || b.Bytes()[(data.Offset()+i)/8]>>((data.Offset()+i)%8)&1 == 1
}

// nested places arrays with children. Children of a slice are sliced as far as their layout allows.
func (p *placer) nested(data arrow.ArrayData, layout descriptor.Layout,
	buffers []*memory.Buffer) ([]arrow.ArrayData, error) {
	offset, length := data.Offset(), data.Len()
	switch layout.Class {
	case descriptor.ClassStruct:
		return p.children(data, offset, offset+length)
	case descriptor.ClassFixedList:
		width := int(layout.Width)
		return p.children(data, offset*width, (offset+length)*width)
	case descriptor.ClassList:
		if length == 0 {
			return p.children(data, 0, 0)
		}
		var first, last int64
		buffers[1], first, last = p.offsets(data, int(layout.Width))
		return p.children(data, int(first), int(last))
	case descriptor.ClassListView:
		buffers[1] = p.elements(data.Buffers()[1], offset, length, int(layout.Width))
		buffers[2] = p.elements(data.Buffers()[2], offset, length, int(layout.Width))
		return p.wholeChildren(data)
	case descriptor.ClassSparse:
		buffers[1] = p.elements(data.Buffers()[1], offset, length, 1)
		return p.children(data, offset, offset+length)
	case descriptor.ClassDense:
		buffers[1] = p.elements(data.Buffers()[1], offset, length, 1)
		buffers[2] = p.elements(data.Buffers()[2], offset, length, 4)
		return p.wholeChildren(data)
	default:
		return p.runs(data)
	}
}

func (p *placer) children(data arrow.ArrayData, from, to int) ([]arrow.ArrayData, error) {
	placed := make([]arrow.ArrayData, len(data.Children()))
	for i, child := range data.Children() {
		slice := array.NewSliceData(child, int64(from), int64(to))
		var err error
		placed[i], err = p.array(slice)
		slice.Release()
		if err != nil {
			return nil, err
		}
	}
	return placed, nil
}

func (p *placer) wholeChildren(data arrow.ArrayData) ([]arrow.ArrayData, error) {
	placed := make([]arrow.ArrayData, len(data.Children()))
	for i, child := range data.Children() {
		var err error
		if placed[i], err = p.array(child); err != nil {
			return nil, err
		}
	}
	return placed, nil
}

// runs places a run-end encoded array: of a slice, the runs that it touches, with their ends counted from its start.
func (p *placer) runs(data arrow.ArrayData) ([]arrow.ArrayData, error) {
	ends, values := data.Children()[0], data.Children()[1]
	if data.Offset() == 0 && (data.Len() > 0 || ends.Len() == 0) {
		return p.wholeChildren(data)
	}
	first, count := touchedRuns(data)
	slice := array.NewSliceData(values, int64(first), int64(first+count))
	defer slice.Release()
	placedValues, err := p.array(slice)
	if err != nil {
		return nil, err
	}
	width := ends.DataType().(arrow.FixedWidthDataType).Bytes()
	var buffer *memory.Buffer
	if count > 0 {
		fresh := p.fresh(count * width)
		for i := range count {
			putEnd(fresh, width, i, min(endOf(ends, first+i)-int64(data.Offset()), int64(data.Len())))
		}
		buffer = memory.NewBufferBytes(fresh)
	}
	placedEnds := array.NewData(ends.DataType(), count, []*memory.Buffer{nil, buffer}, nil, 0, 0)
	return []arrow.ArrayData{placedEnds, placedValues}, nil
}

func touchedRuns(data arrow.ArrayData) (first, count int) {
	ends := data.Children()[0]
	if data.Len() == 0 {
		return 0, 0
	}
	for first < ends.Len() && endOf(ends, first) <= int64(data.Offset()) {
		first++
	}
	last := first
	for last < ends.Len()-1 && endOf(ends, last) < int64(data.Offset()+data.Len()) {
		last++
	}
	return first, last - first + 1
}

func endOf(ends arrow.ArrayData, i int) int64 {
	raw, at := ends.Buffers()[1].Bytes(), ends.Offset()+i
	switch ends.DataType().ID() {
	case arrow.INT16:
		return int64(arrow.Int16Traits.CastFromBytes(raw)[at])
	case arrow.INT32:
		return int64(arrow.Int32Traits.CastFromBytes(raw)[at])
	default:
		return arrow.Int64Traits.CastFromBytes(raw)[at]
	}
}

func putEnd(raw []byte, width, i int, end int64) {
	switch width {
	case 2:
		arrow.Int16Traits.CastFromBytes(raw)[i] = int16(end)
	case 4:
		arrow.Int32Traits.CastFromBytes(raw)[i] = int32(end)
	default:
		arrow.Int64Traits.CastFromBytes(raw)[i] = end
	}
}
