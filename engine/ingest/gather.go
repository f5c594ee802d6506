package ingest

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/concatenation"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Gather copies some rows of a batch, in their order, as columns of the schema's types, of which strings may have
// another layout. The caller releases the result.
func Gather(ctx context.Context, batch arrow.RecordBatch, schema *arrow.Schema,
	rows []int32) (arrow.RecordBatch, error) {
	fields := schema.Fields()
	columns := make([]arrow.Array, 0, len(fields))
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for i := range fields {
		stored, err := Coded(batch.Column(i), fields[i])
		if err != nil {
			return nil, err
		}
		c, err := gatherColumn(ctx, stored, fields[i], rows)
		stored.Release()
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
		fields[i].Type, fields[i].Nullable = c.DataType(), true // NOT NULL is the writer's to check
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(len(rows))), nil
}

func gatherColumn(ctx context.Context, a arrow.Array, f arrow.Field, rows []int32) (arrow.Array, error) {
	want := f.Type
	if kind := kindOf(want); kind != notString && !normal.IsOpaque(f) {
		c, release, err := stringCells(ctx, a, want)
		if err != nil {
			return nil, err
		}
		defer release()
		return gatherCells(c, kind, rows), nil
	}
	same, err := convert(ctx, a, want)
	if err != nil {
		return nil, err
	}
	defer same.Release()
	if width := fixedWidth(same); width > 0 {
		return gatherFixed(same, width, rows), nil
	}
	return gatherSlices(same, rows)
}

func gatherCells(c *cells, kind stringKind, rows []int32) arrow.Array {
	var t arrow.BinaryDataType = arrow.BinaryTypes.LargeString
	if kind == bytes {
		t = arrow.BinaryTypes.LargeBinary
	}
	b := array.NewBinaryBuilder(memory.DefaultAllocator, t)
	defer b.Release()
	size := 0
	for _, i := range rows {
		if c.valid(int(i)) {
			size += len(c.at(int(i)))
		}
	}
	b.Reserve(len(rows))
	b.ReserveData(size)
	for _, i := range rows {
		if c.valid(int(i)) {
			b.Append(c.at(int(i)))
		} else {
			b.AppendNull()
		}
	}
	return b.NewArray()
}

// fixedWidth is how many bytes a value takes, 0 if they are not laid out one behind the other.
func fixedWidth(a arrow.Array) int {
	t, ok := a.DataType().(arrow.FixedWidthDataType)
	if _, nested := a.DataType().(arrow.NestedType); !ok || nested || a.DataType().ID() == arrow.DICTIONARY || len(a.Data().Buffers()) != 2 || t.BitWidth()%8 != 0 {
		return 0
	}
	return t.BitWidth() / 8
}

func gatherFixed(a arrow.Array, width int, rows []int32) arrow.Array {
	d := a.Data()
	out := memory.NewResizableBuffer(memory.DefaultAllocator)
	defer out.Release()
	out.Resize(width * len(rows))
	from, to := d.Buffers()[1].Bytes()[width*d.Offset():], out.Bytes()
	switch width {
	case 4:
		copyFixed(arrow.Uint32Traits.CastFromBytes(to), arrow.Uint32Traits.CastFromBytes(from), rows)
	case 8:
		copyFixed(arrow.Uint64Traits.CastFromBytes(to), arrow.Uint64Traits.CastFromBytes(from), rows)
	default:
		for k, i := range rows {
			copy(to[k*width:(k+1)*width], from[int(i)*width:])
		}
	}
	var validity *memory.Buffer
	nulls := 0
	if a.NullN() > 0 {
		validity = memory.NewResizableBuffer(memory.DefaultAllocator)
		defer validity.Release()
		validity.Resize(int(bitutil.BytesForBits(int64(len(rows)))))
		clear(validity.Bytes())
		for k, i := range rows {
			if a.IsValid(int(i)) {
				bitutil.SetBit(validity.Bytes(), k)
			} else {
				nulls++
			}
		}
	}
	made := array.NewData(a.DataType(), len(rows), []*memory.Buffer{validity, out}, nil, nulls, 0)
	defer made.Release()
	return array.MakeFromData(made)
}

func copyFixed[T any](to, from []T, rows []int32) {
	for k, i := range rows {
		to[k] = from[i]
	}
}

// gatherSlices serves every type: runs of rows are joined.
func gatherSlices(a arrow.Array, rows []int32) (arrow.Array, error) {
	var pieces []arrow.Array
	defer func() {
		for _, p := range pieces {
			p.Release()
		}
	}()
	for k := 0; k < len(rows); {
		end := k + 1
		for end < len(rows) && rows[end] == rows[end-1]+1 {
			end++
		}
		pieces = append(pieces, array.NewSlice(a, int64(rows[k]), int64(rows[end-1])+1))
		k = end
	}
	out, err := concatenation.Arrays(pieces, memory.DefaultAllocator)
	if err != nil {
		return nil, sqlerror.New("0A000", "values of type %s cannot be stored: %v", a.DataType(), err)
	}
	return out, nil
}
