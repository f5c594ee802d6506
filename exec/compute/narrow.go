package compute

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// narrowed is a morsel after the filter. Columns are narrowed when they are asked for, once each.
type narrowed struct {
	evaluator
	batch   arrow.RecordBatch
	mask    *memory.Buffer // which rows stay, nil: all
	kept    []uint32       // those rows, once a column is asked for
	columns map[int]arrow.Array
}

// narrow filters a morsel, which it takes over; none of its rows may be left.
func (e *execution) narrow(morsel arrow.RecordBatch) (*narrowed, error) {
	n := &narrowed{batch: morsel, columns: map[int]arrow.Array{}}
	n.evaluator = evaluator{ctx: compute.WithAllocator(e.ctx, e.mem), mem: e.mem, arguments: e.arguments,
		rows: int(morsel.NumRows()), column: n.narrowedColumn}
	living := n.living()
	if living != nil {
		defer living.Release()
	}
	if e.query.Filter != nil {
		if err := n.filter(e); err != nil {
			n.release()
			return nil, err
		}
	}
	if living != nil {
		n.leaveOut(living)
	}
	return n, nil
}

// leaveOut takes the rows out whose bits are not set in living, of all rows of the morsel.
func (n *narrowed) leaveOut(living *memory.Buffer) {
	all := int(n.batch.NumRows())
	if n.mask == nil {
		living.Retain()
		n.mask = living
	} else {
		bitutil.BitmapAnd(n.mask.Bytes(), living.Bytes(), 0, 0, n.mask.Bytes(), 0, int64(all))
	}
	n.rows = bitutil.CountSetBits(n.mask.Bytes(), 0, all)
}

func (n *narrowed) filter(e *execution) error {
	a, err := n.truth(e.query.Filter) // over all rows: none is left out yet
	if err != nil {
		return err
	}
	rows, d := n.rows, a.Data()
	n.mask = n.bitmap()
	bitutil.CopyBitmap(d.Buffers()[1].Bytes(), d.Offset(), rows, n.mask.Bytes(), 0)
	if a.NullN() > 0 { // WHERE keeps what is true
		bitutil.BitmapAnd(n.mask.Bytes(), a.NullBitmapBytes(), 0, int64(d.Offset()), n.mask.Bytes(), 0, int64(rows))
	}
	if n.rows = bitutil.CountSetBits(n.mask.Bytes(), 0, rows); n.rows == rows {
		n.mask.Release()
		n.mask = nil
	}
	return nil
}

// rowsOf lists which bits are set, of which there are so many.
func rowsOf(bitmap []byte, count int) []uint32 {
	rows := make([]uint32, 0, count)
	for at := 0; at < len(bitmap); at += 8 {
		var word uint64
		if at+8 <= len(bitmap) {
			word = binary.LittleEndian.Uint64(bitmap[at:])
		} else {
			for i, b := range bitmap[at:] {
				word |= uint64(b) << (8 * i)
			}
		}
		for ; word != 0; word &= word - 1 {
			rows = append(rows, uint32(8*at+bits.TrailingZeros64(word)))
		}
	}
	return rows[:count] // the last byte may have more bits than there are rows
}

// narrowedColumn gives a scanned column, narrowed to the rows that stay. It belongs to n.
func (n *narrowed) narrowedColumn(i int) (arrow.Array, error) {
	if n.mask != nil && n.kept == nil {
		n.kept = rowsOf(n.mask.Bytes(), n.rows)
	}
	if a, ok := n.columns[i]; ok {
		return a, nil
	}
	if a := n.numbers(i); a != nil {
		n.columns[i] = a
		return a, nil
	}
	if n.mask == nil {
		return n.batch.Column(i), nil
	}
	a, err := n.take(n.batch.Column(i))
	if err == nil {
		n.columns[i] = a
	}
	return a, err
}

func (n *narrowed) release() {
	n.evaluator.release()
	if n.mask != nil {
		n.mask.Release()
	}
	n.batch.Release()
}

// gather makes an array of the rows that stay. It does not call arrow-go's filter kernel: that is slower by half, knows
// neither views nor decimals of 64 bits, and (18.8) loses values of booleans in slices; TestFilterEveryLayout watches.
func (n *narrowed) gather(a arrow.Array) (arrow.Array, error) {
	d, nulls := a.Data(), 0
	var valid *memory.Buffer
	if a.NullN() > 0 {
		valid = n.gatherBits(a.NullBitmapBytes(), d.Offset())
		defer valid.Release()
		nulls = n.rows - bitutil.CountSetBits(valid.Bytes(), 0, n.rows)
	}
	var values *memory.Buffer
	switch t := d.DataType().(type) {
	case *arrow.BooleanType:
		values = n.gatherBits(d.Buffers()[1].Bytes(), d.Offset())
	case *arrow.StringType, *arrow.LargeStringType:
		from := a.(stringsOf)
		return n.textColumn(t, valid, nulls, func(i int) string { return from.Value(int(n.kept[i])) })
	case arrow.BinaryViewDataType:
		values = gatherFixed[arrow.ViewHeader](n, d, arrow.ViewHeaderSizeBytes)
	case *arrow.DictionaryType:
		values = n.gatherWidth(d, t.IndexType)
	default:
		values = n.gatherWidth(d, t)
	}
	if values == nil {
		return nil, layoutError("no rows can be taken from %s", d.DataType())
	}
	defer values.Release()
	buffers := append([]*memory.Buffer{valid, values}, d.Buffers()[2:]...) // the texts behind views are shared
	data := array.NewData(d.DataType(), n.rows, buffers, nil, nulls, 0)
	defer data.Release()
	if dictionary, ok := a.(*array.Dictionary); ok {
		data.SetDictionary(dictionary.Dictionary().Data())
	}
	return n.keep(array.MakeFromData(data)), nil
}

// gatherWidth moves values by their width; nil if they have none.
func (n *narrowed) gatherWidth(d arrow.ArrayData, t arrow.DataType) *memory.Buffer {
	f, ok := t.(arrow.FixedWidthDataType)
	if !ok {
		return nil
	}
	switch f.BitWidth() {
	case 8:
		return gatherFixed[uint8](n, d, 1)
	case 16:
		return gatherFixed[uint16](n, d, 2)
	case 32:
		return gatherFixed[uint32](n, d, 4)
	case 64:
		return gatherFixed[uint64](n, d, 8)
	case 128:
		return gatherFixed[decimal128.Num](n, d, 16)
	}
	return nil
}

func gatherFixed[T arrow.FixedWidthType | arrow.ViewHeader](n *narrowed, d arrow.ArrayData, bytes int) *memory.Buffer {
	out := memory.NewResizableBuffer(n.mem)
	out.Resize(n.rows * bytes)
	to, from := arrow.GetData[T](out.Bytes()), arrow.GetData[T](d.Buffers()[1].Bytes())[d.Offset():]
	for i, row := range n.kept {
		to[i] = from[row]
	}
	return out
}

func (n *narrowed) gatherBits(from []byte, offset int) *memory.Buffer {
	out := n.bitmap()
	to := out.Bytes()
	for i, row := range n.kept {
		if bitutil.BitIsSet(from, offset+int(row)) {
			bitutil.SetBit(to, i)
		}
	}
	return out
}
