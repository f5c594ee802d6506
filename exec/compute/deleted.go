package compute

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
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

// leaveOutDeleted has the morsel be one of the rows that live, each column gathered, if some of its rows do not.
func (n *narrowed) leaveOutDeleted() error {
	b, ok := n.batch.(*partlyDeleted)
	if !ok {
		return nil
	}
	all := n.rows
	n.mask = n.bitmap()
	living := n.mask.Bytes()
	for i := range living {
		living[i] = ^byte(0)
	}
	for i := range all {
		if at := b.from + int64(i); b.deleted[at/64]>>(at%64)&1 == 1 {
			bitutil.ClearBit(living, i)
		}
	}
	n.rows = bitutil.CountSetBits(living, 0, all)
	if n.rows == all || n.rows == 0 {
		n.mask.Release()
		n.mask = nil
		return nil
	}
	columns := make([]arrow.Array, b.NumCols())
	for i := range columns {
		var err error
		if columns[i], err = n.living(i); err != nil {
			return err
		}
	}
	compact := array.NewRecordBatch(b.Schema(), columns, int64(n.rows))
	n.batch.Release()
	n.batch = compact
	n.mask.Release()
	n.mask, n.kept = nil, nil
	clear(n.columns)
	return nil
}

// living is a column of the rows that stay, also one of a type of which no kernel takes rows.
func (n *narrowed) living(i int) (arrow.Array, error) {
	column := n.batch.Column(i)
	if gathers(column.DataType()) {
		return n.narrowedColumn(i)
	}
	var runs []arrow.Array
	defer func() {
		for _, r := range runs {
			r.Release()
		}
	}()
	mask := n.mask.Bytes()
	for from := 0; from < column.Len(); {
		if !bitutil.BitIsSet(mask, from) {
			from++
			continue
		}
		to := from
		for to < column.Len() && bitutil.BitIsSet(mask, to) {
			to++
		}
		runs = append(runs, array.NewSlice(column, int64(from), int64(to)))
		from = to
	}
	a, err := array.Concatenate(runs, n.mem)
	if err != nil {
		return nil, layoutError("no rows can be taken from %s: %v", column.DataType(), err)
	}
	return n.keep(a), nil
}

// gathers tells whether gather knows how to move values of the type.
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
