package compute

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Without is a batch of which some rows are deleted: their bits are set, the first row's lowest in the first word. The
// batch is taken over. It has the rows that are stored; Run gives none of those that are deleted (X7).
func Without(batch arrow.RecordBatch, deleted []uint64) arrow.RecordBatch {
	if len(deleted) == 0 {
		return batch
	}
	return &partlyDeleted{batch, deleted, 0}
}

type partlyDeleted struct {
	arrow.RecordBatch
	deleted []uint64
	from    int64 // the batch's first row, among those that deleted is of
}

// NewSlice is a part of the batch, with what is deleted of it.
func (b *partlyDeleted) NewSlice(i, j int64) arrow.RecordBatch {
	return &partlyDeleted{b.RecordBatch.NewSlice(i, j), b.deleted, b.from + i}
}

// Numbered is a batch with one column more, which has the numbers of its rows, from the first one's on. The batch is
// taken over. Numbers are made only for rows that stay: a lookup of one row in a million makes one.
func Numbered(batch arrow.RecordBatch, name string, first int64) arrow.RecordBatch {
	fields := append(batch.Schema().Fields(), arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Int64})
	return &numbered{batch, arrow.NewSchema(fields, nil), first}
}

// numbered has no array for its last column: narrowedColumn makes it.
type numbered struct {
	arrow.RecordBatch
	schema *arrow.Schema
	first  int64
}

func (b *numbered) Schema() *arrow.Schema { return b.schema }
func (b *numbered) NumCols() int64        { return b.RecordBatch.NumCols() + 1 }

// NewSlice is a part of the batch, whose rows keep their numbers.
func (b *numbered) NewSlice(i, j int64) arrow.RecordBatch {
	return &numbered{b.RecordBatch.NewSlice(i, j), b.schema, b.first + i}
}

// numbers makes the column of the rows' numbers; nil: column i is another one.
func (n *narrowed) numbers(i int) arrow.Array {
	b, ok := n.batch.(*numbered)
	if !ok || i != int(b.NumCols())-1 {
		return nil
	}
	out := memory.NewResizableBuffer(n.mem)
	defer out.Release()
	out.Resize(n.rows * arrow.Int64SizeBytes)
	values := arrow.Int64Traits.CastFromBytes(out.Bytes())
	for k := range values {
		row := k
		if n.mask != nil {
			row = int(n.kept[k])
		}
		values[k] = b.first + int64(row)
	}
	data := array.NewData(arrow.PrimitiveTypes.Int64, n.rows, []*memory.Buffer{nil, out}, nil, 0, 0)
	defer data.Release()
	return n.keep(array.NewInt64Data(data))
}

// living is which rows of the morsel are not deleted; nil: none is. The caller releases it.
func (n *narrowed) living() *memory.Buffer {
	batch := n.batch
	if with, ok := batch.(*numbered); ok {
		batch = with.RecordBatch
	}
	b, ok := batch.(*partlyDeleted)
	if !ok {
		return nil
	}
	mask := n.bitmap()
	living := mask.Bytes()
	if b.from%8 == 0 { // as all morsels are
		for i := range living {
			at := b.from/8 + int64(i)
			living[i] = ^byte(b.deleted[at/8] >> (8 * (at % 8)))
		}
		return mask
	}
	memory.Set(living, ^byte(0))
	for i := range n.rows {
		if at := b.from + int64(i); b.deleted[at/64]>>(at%64)&1 == 1 {
			bitutil.ClearBit(living, i)
		}
	}
	return mask
}

// take is gather for columns of any type: of those that no kernel moves the runs that stay are put together.
func (n *narrowed) take(column arrow.Array) (arrow.Array, error) {
	if gathers(column.DataType()) {
		return n.gather(column)
	}
	var runs []arrow.Array
	defer func() {
		for _, r := range runs {
			r.Release()
		}
	}()
	mask, bytes := n.mask.Bytes(), int64(0)
	for from := 0; from < column.Len(); {
		if !bitutil.BitIsSet(mask, from) {
			from++
			continue
		}
		to := from
		for to < column.Len() && bitutil.BitIsSet(mask, to) {
			to++
		}
		run := array.NewSlice(column, int64(from), int64(to))
		runs, bytes = append(runs, run), bytes+Bytes(run, run.DataType())
		from = to
	}
	if err := n.mem.Fits(bytes); err != nil {
		return nil, err
	}
	a, err := array.Concatenate(runs, n.mem)
	if err != nil {
		return nil, layoutError("no rows can be taken from %s: %v", column.DataType(), err)
	}
	return n.keep(a), nil
}

// gathers reports whether gather knows how to move values of the type.
func gathers(t arrow.DataType) bool {
	switch t := t.(type) {
	case *arrow.BooleanType, *arrow.StringType, *arrow.LargeStringType, arrow.BinaryViewDataType:
		return true
	case *arrow.DictionaryType:
		return gathers(t.IndexType)
	case arrow.FixedWidthDataType:
		switch t.BitWidth() {
		case 8, 16, 32, 64, 128:
			return true
		}
	}
	return false
}
