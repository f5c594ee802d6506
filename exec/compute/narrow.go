package compute

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// narrowed is a stretch of rows after the filter. Columns are narrowed when they are asked for, once each.
type narrowed struct {
	evaluator
	ctx     context.Context
	mem     memory.Allocator
	batch   arrow.RecordBatch
	mask    arrow.Array // which rows stay, nil for all
	columns map[int]arrow.Array
}

// nextRows reads the next stretch and filters it; it may come out empty. whole takes a batch as it is, not by morsels.
func (e *execution) nextRows(whole bool) (*narrowed, error) {
	limit := int64(morselRows)
	if whole {
		limit = 0
	}
	batch, err := e.morsel(limit)
	if err != nil {
		return nil, err
	}
	n := &narrowed{ctx: compute.WithAllocator(e.ctx, e.mem), mem: e.mem, batch: batch, columns: map[int]arrow.Array{}}
	n.evaluator = evaluator{arguments: e.arguments, rows: int(batch.NumRows()), array: n.column, loaded: map[int]vector{}}
	if e.query.Filter != nil {
		if err := n.filter(e); err != nil {
			n.release()
			return nil, err
		}
	}
	e.stats.RowsKept += int64(n.rows)
	return n, nil
}

func (n *narrowed) filter(e *execution) error {
	whole := evaluator{arguments: e.arguments, rows: n.rows, loaded: map[int]vector{},
		array: func(i int) (arrow.Array, error) { return n.batch.Column(i), nil }}
	v, err := whole.eval(e.query.Filter)
	if err != nil {
		return err
	}
	kept := 0
	keep := func(i int) bool { return !v.null(i) && v.truths[v.row(i)] }
	for i := 0; i < n.rows; i++ {
		if keep(i) {
			kept++
		}
	}
	if kept > 0 && kept < n.rows {
		n.mask = n.maskOf(keep)
	}
	n.rows = kept
	return nil
}

func (n *narrowed) maskOf(keep func(int) bool) arrow.Array {
	bits := memory.NewResizableBuffer(n.mem)
	defer bits.Release()
	bits.Resize(int(bitutil.BytesForBits(int64(n.rows))))
	memory.Set(bits.Bytes(), 0)
	for i := 0; i < n.rows; i++ {
		if keep(i) {
			bitutil.SetBit(bits.Bytes(), i)
		}
	}
	data := array.NewData(arrow.FixedWidthTypes.Boolean, n.rows, []*memory.Buffer{nil, bits}, nil, 0, 0)
	defer data.Release()
	return array.NewBooleanData(data)
}

// column gives a scanned column, narrowed to the rows that stay. It belongs to n.
func (n *narrowed) column(i int) (arrow.Array, error) {
	if n.mask == nil {
		return n.batch.Column(i), nil
	}
	if a, ok := n.columns[i]; ok {
		return a, nil
	}
	a, err := n.filterArray(n.batch.Column(i))
	if err == nil {
		n.columns[i] = a
	}
	return a, err
}

func (n *narrowed) release() {
	for _, a := range n.columns {
		a.Release()
	}
	if n.mask != nil {
		n.mask.Release()
	}
	n.batch.Release()
}

// filterArray runs the filter kernel. There is none for string views and small decimals: views are moved without their
// strings,
// small decimals pass as the integers they are. The one for booleans (arrow-go 18.8) loses values of slices and of
// columns with
// NULLs, so they are moved here; TestFilterEveryLayout watches the others.
func (n *narrowed) filterArray(a arrow.Array) (arrow.Array, error) {
	switch a.DataType().ID() {
	case arrow.BOOL:
		return n.filterTruths(a.(*array.Boolean))
	case arrow.STRING_VIEW, arrow.BINARY_VIEW:
		return n.filterViews(a)
	case arrow.DECIMAL64:
		return n.filterAs(a, arrow.PrimitiveTypes.Int64)
	case arrow.DECIMAL32:
		return n.filterAs(a, arrow.PrimitiveTypes.Int32)
	}
	return compute.FilterArray(n.ctx, a, n.mask, *compute.DefaultFilterOptions())
}

func (n *narrowed) filterAs(a arrow.Array, t arrow.DataType) (arrow.Array, error) {
	stand := retyped(a, t)
	defer stand.Release()
	filtered, err := compute.FilterArray(n.ctx, stand, n.mask, *compute.DefaultFilterOptions())
	if err != nil {
		return nil, err
	}
	defer filtered.Release()
	return retyped(filtered, a.DataType()), nil
}

// retyped is the same buffers under another type of the same width; the caller releases it.
func retyped(a arrow.Array, t arrow.DataType) arrow.Array {
	d := a.Data()
	data := array.NewData(t, d.Len(), d.Buffers(), nil, d.NullN(), d.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

// filterViews copies the 16-byte views of the rows that stay; the strings' own buffers are shared.
func (n *narrowed) filterViews(a arrow.Array) (arrow.Array, error) {
	d, mask := a.Data(), n.mask.(*array.Boolean)
	const viewBytes = arrow.ViewHeaderSizeBytes
	views, valid := memory.NewResizableBuffer(n.mem), memory.NewResizableBuffer(n.mem)
	defer views.Release()
	defer valid.Release()
	views.Resize(n.rows * viewBytes)
	valid.Resize(int(bitutil.BytesForBits(int64(n.rows))))
	memory.Set(valid.Bytes(), 0)
	from, to := d.Buffers()[1].Bytes()[d.Offset()*viewBytes:], 0
	nulls := 0
	for i := 0; i < mask.Len(); i++ {
		if !mask.Value(i) {
			continue
		}
		if a.IsNull(i) {
			nulls++
			clear(views.Bytes()[to*viewBytes : (to+1)*viewBytes])
		} else {
			bitutil.SetBit(valid.Bytes(), to)
			copy(views.Bytes()[to*viewBytes:(to+1)*viewBytes], from[i*viewBytes:])
		}
		to++
	}
	buffers := append([]*memory.Buffer{valid, views}, d.Buffers()[2:]...)
	data := array.NewData(a.DataType(), n.rows, buffers, nil, nulls, 0)
	defer data.Release()
	return array.MakeFromData(data), nil
}

func (n *narrowed) filterTruths(a *array.Boolean) (arrow.Array, error) {
	mask := n.mask.(*array.Boolean)
	b := array.NewBooleanBuilder(n.mem)
	defer b.Release()
	b.Reserve(n.rows)
	for i := 0; i < mask.Len(); i++ {
		switch {
		case !mask.Value(i):
		case a.IsNull(i):
			b.AppendNull()
		default:
			b.Append(a.Value(i))
		}
	}
	return b.NewArray(), nil
}
