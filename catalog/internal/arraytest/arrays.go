package arraytest

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog/descriptor"
)

// Batch makes a batch of n rows, one column of each type. Columns come out of larger arrays by slicing.
func Batch(rng *rand.Rand, mem memory.Allocator, types []arrow.DataType, n int) arrow.RecordBatch {
	fields := make([]arrow.Field, len(types))
	columns := make([]arrow.Array, len(types))
	for i, dt := range types {
		fields[i] = arrow.Field{Name: string(rune('a' + i%26)), Type: dt, Nullable: true}
		columns[i] = Array(rng, mem, dt, n)
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(n))
}

// Array makes an array of length n, sliced out of a longer one in half of the cases.
func Array(rng *rand.Rand, mem memory.Allocator, dt arrow.DataType, n int) arrow.Array {
	before, after := 0, 0
	if rng.IntN(2) == 0 {
		before, after = rng.IntN(20), rng.IntN(20)
	}
	g := generator{rng, mem}
	whole := g.data(dt, before+n+after)
	return array.MakeFromData(array.NewSliceData(whole, int64(before), int64(before+n)))
}

type generator struct {
	*rand.Rand
	mem memory.Allocator
}

func (g generator) buffer(b []byte) *memory.Buffer {
	placed := g.mem.Allocate(len(b))
	copy(placed, b)
	return memory.NewBufferBytes(placed)
}

func (g generator) garbage(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(g.Uint32())
	}
	return b
}

// validity returns a bitmap with some cleared bits, or none at all, and the null count.
func (g generator) validity(n int) (*memory.Buffer, int) {
	if n == 0 || g.IntN(3) == 0 {
		return nil, 0
	}
	b := g.garbage((n + 7) / 8)
	return g.buffer(b), n - bitutil.CountSetBits(b, 0, n)
}

func (g generator) data(dt arrow.DataType, n int) arrow.ArrayData {
	layout, err := descriptor.LayoutOf(dt)
	if err != nil {
		panic(err)
	}
	buffers, nulls := make([]*memory.Buffer, layout.Slots()), 0
	if layout.HasValidity() {
		buffers[0], nulls = g.validity(n)
	}
	var children []arrow.ArrayData
	var dictionary arrow.ArrayData
	switch layout.Class {
	case descriptor.ClassNull:
		nulls = n
	case descriptor.ClassBits:
		buffers[1] = g.buffer(g.garbage((n + 7) / 8))
	case descriptor.ClassFixed:
		buffers[1] = g.buffer(g.fixed(dt, n, int(layout.Width)))
	case descriptor.ClassVariable:
		raw := g.bytes(dt, 20*n)
		buffers[1], buffers[2] = g.offsets(n, len(raw), int(layout.Width), raw), g.buffer(raw)
	case descriptor.ClassView:
		buffers = g.views(dt, n, buffers)
	case descriptor.ClassDictionary:
		size := 1 + g.IntN(100)
		dictionary = g.sliced(descriptor.Storage(dt).(*arrow.DictionaryType).ValueType, size)
		buffers[1] = g.codes(n, size, int(layout.Width))
	default:
		children = g.nested(dt, layout, n, buffers)
	}
	data := array.NewData(dt, n, buffers, children, nulls, 0)
	if dictionary != nil {
		data.SetDictionary(dictionary)
	}
	return data
}

// sliced makes an array with an offset of its own.
func (g generator) sliced(dt arrow.DataType, n int) arrow.ArrayData {
	before := g.IntN(3)
	return array.NewSliceData(g.data(dt, n+before), int64(before), int64(n+before))
}

// fixed keeps decimals small enough for their precision and floats free of NaN, which equals nothing.
func (g generator) fixed(dt arrow.DataType, n, width int) []byte {
	b := g.garbage(n * width)
	_, decimal := dt.(arrow.DecimalType)
	for i := range n {
		value := b[i*width : (i+1)*width]
		switch {
		case decimal:
			sign := byte(int8(value[3]) >> 7)
			for k := 3; k < width; k++ {
				value[k] = sign
			}
		case arrow.IsFloating(dt.ID()):
			value[width-1] &= 0xBF // an exponent that is not the greatest
		}
	}
	return b
}

func (g generator) bytes(dt arrow.DataType, n int) []byte {
	text, ok := dt.(arrow.BinaryDataType)
	if ok && text.IsUtf8() {
		b := make([]byte, n)
		for i := range b {
			b[i] = 'a' + byte(g.IntN(26))
		}
		return b
	}
	return g.garbage(n)
}

// offsets are ascending and use neither the first nor the last bytes necessarily.
func (g generator) offsets(n, size, width int, _ []byte) *memory.Buffer {
	b := make([]byte, 0, (n+1)*width)
	at := g.IntN(size/2 + 1)
	for i := range n + 1 {
		if width == 4 {
			b = binary.LittleEndian.AppendUint32(b, uint32(at))
		} else {
			b = binary.LittleEndian.AppendUint64(b, uint64(at))
		}
		at += g.IntN((size-at)/(n-i+1) + 1)
	}
	return g.buffer(b)
}

func (g generator) codes(n, below, width int) *memory.Buffer {
	b := make([]byte, n*width)
	for i := range n {
		b[i*width] = byte(g.IntN(below))
	}
	return g.buffer(b)
}

func (g generator) views(dt arrow.DataType, n int, buffers []*memory.Buffer) []*memory.Buffer {
	pools := [2][]byte{g.bytes(dt, 200), g.bytes(dt, 300)}
	headers := make([]arrow.ViewHeader, n)
	for i := range headers {
		pool := g.IntN(2)
		length := g.IntN(30)
		from := g.IntN(len(pools[pool]) - length)
		headers[i].SetBytes(pools[pool][from : from+length])
		if !headers[i].IsInline() {
			headers[i].SetIndexOffset(int32(pool), int32(from))
		}
	}
	buffers[1] = g.buffer(arrow.ViewHeaderTraits.CastToBytes(headers))
	return append(buffers, g.buffer(pools[0]), g.buffer(pools[1]))
}

func (g generator) nested(dt arrow.DataType, layout descriptor.Layout, n int,
	buffers []*memory.Buffer) []arrow.ArrayData {
	types := descriptor.ChildTypes(dt)
	switch layout.Class {
	case descriptor.ClassStruct:
		return g.children(types, n)
	case descriptor.ClassFixedList:
		return g.children(types, n*int(layout.Width))
	case descriptor.ClassList:
		buffers[1] = g.offsets(n, 3*n, int(layout.Width), nil)
		children := g.children(types, 3*n)
		if dt.ID() == arrow.MAP { // neither entries nor keys may be null
			entries := children[0].(*array.Data)
			keys := g.dataWithoutNulls(arrow.BinaryTypes.String, 3*n)
			children[0] = array.NewData(entries.DataType(), 3*n, []*memory.Buffer{nil}, []arrow.ArrayData{keys, g.sliced(descriptor.ChildTypes(types[0])[1], 3*n)}, 0, 0)
		}
		return children
	case descriptor.ClassListView:
		g.listViews(n, int(layout.Width), buffers)
		return g.children(types, 3*n+5)
	case descriptor.ClassRunEnd:
		return g.runs(types, n)
	default:
		return g.union(dt.(arrow.UnionType), layout, n, buffers)
	}
}

func (g generator) children(types []arrow.DataType, n int) []arrow.ArrayData {
	list := make([]arrow.ArrayData, len(types))
	for i, dt := range types {
		list[i] = g.sliced(dt, n)
	}
	return list
}

func (g generator) dataWithoutNulls(dt arrow.DataType, n int) arrow.ArrayData {
	d := g.data(dt, n)
	buffers := append([]*memory.Buffer{nil}, d.Buffers()[1:]...)
	return array.NewData(dt, n, buffers, d.Children(), 0, 0)
}

func (g generator) listViews(n, width int, buffers []*memory.Buffer) {
	var offsets, sizes []byte
	for range n {
		offset := g.IntN(3*n + 5)
		size := g.IntN(min(6, 3*n+5-offset) + 1)
		if width == 4 {
			offsets = binary.LittleEndian.AppendUint32(offsets, uint32(offset))
			sizes = binary.LittleEndian.AppendUint32(sizes, uint32(size))
		} else {
			offsets = binary.LittleEndian.AppendUint64(offsets, uint64(offset))
			sizes = binary.LittleEndian.AppendUint64(sizes, uint64(size))
		}
	}
	buffers[1], buffers[2] = g.buffer(offsets), g.buffer(sizes)
}

func (g generator) runs(types []arrow.DataType, n int) []arrow.ArrayData {
	width := types[0].(arrow.FixedWidthDataType).Bytes()
	var ends []byte
	count := 0
	for at := 0; at < n; count++ {
		at += 1 + g.IntN(5)
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], uint64(max(at, 1)))
		ends = append(ends, b[:width]...)
	}
	runEnds := array.NewData(types[0], count, []*memory.Buffer{nil, g.buffer(ends)}, nil, 0, 0)
	return []arrow.ArrayData{runEnds, g.sliced(types[1], count)}
}

func (g generator) union(dt arrow.UnionType, layout descriptor.Layout, n int,
	buffers []*memory.Buffer) []arrow.ArrayData {
	codes := dt.TypeCodes()
	raw, offsets := make([]byte, n), make([]byte, 0, 4*n)
	for i := range raw {
		raw[i] = byte(codes[g.IntN(len(codes))])
		offsets = binary.LittleEndian.AppendUint32(offsets, uint32(i))
	}
	buffers[1] = g.buffer(raw)
	if layout.Class == descriptor.ClassDense {
		buffers[2] = g.buffer(offsets)
	}
	return g.children(descriptor.ChildTypes(dt), n)
}
