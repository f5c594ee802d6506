package duckdb

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/enumeration"
)

// corrupt is the error of a chunk that cannot be what its writer sealed (D3).
func corrupt(format string, args ...any) error {
	return &Error{Message: fmt.Sprintf(format, args...) + ": the chunk is damaged", State: "XX001", Byte: -1}
}

func lengthOf(b *memory.Buffer) int64 {
	if b == nil {
		return 0
	}
	return int64(b.Len())
}

// checkColumn makes sure that a chunk's column has the type it should have, and that nothing which C or DuckDB will
// follow leads outside of its buffers (D3). The one exception are the strings of utf8, binary and view columns, which
// are checked row by row as they are read.
func (s *Scan) checkColumn(f arrow.Field, column arrow.Array, rows int64) error {
	if int64(column.Len()) != rows {
		return corrupt("column %q of a chunk has %d rows, the chunk %d", f.Name, column.Len(), rows)
	}
	d := column.Data()
	if !isString(f) {
		want := f.Type
		if user, ok := want.(*enumeration.Type); ok {
			want = user.StorageType()
		}
		if !arrow.TypeEqual(d.DataType(), want) {
			return corrupt("column %q of a chunk is %s, the table has %s", f.Name, d.DataType(), f.Type)
		}
		if err := checkData(d, true); err != nil {
			return named(f, err)
		}
		return named(f, normal.CheckValues(d, f))
	}
	if dictionary, ok := d.DataType().(*arrow.DictionaryType); ok {
		if index := dictionary.IndexType.ID(); index != arrow.UINT8 {
			return corrupt("column %q: dictionary codes must be uint8, not %s", f.Name, index)
		}
		if n := column.(*array.Dictionary).Dictionary().Len(); n > dictionaryCodes {
			return corrupt("column %q: a dictionary of %d values is too large", f.Name, n)
		}
	}
	return named(f, checkData(d, false))
}

func named(f arrow.Field, err error) error {
	if err == nil {
		return nil
	}
	return corrupt("column %q: %v", f.Name, err)
}

// checkData checks the buffers of an array. strings: also where its strings point, row by row.
func checkData(d arrow.ArrayData, strings bool) error {
	end := int64(d.Offset()) + int64(d.Len())
	if d.Offset() < 0 || d.Len() < 0 {
		return fmt.Errorf("rows %d to %d", d.Offset(), end)
	}
	if d.Len() == 0 {
		return nil
	}
	buffers := d.Buffers()
	if d.NullN() != 0 && hasValidity(d.DataType()) && len(buffers) > 0 && buffers[0] != nil {
		if err := holds(buffers[0], bitutil.BytesForBits(end), "validity"); err != nil {
			return err
		}
	}
	switch t := d.DataType().(type) {
	case arrow.ExtensionType:
		return checkData(array.NewData(t.StorageType(), d.Len(), buffers, d.Children(), d.NullN(), d.Offset()), strings)
	case *arrow.NullType:
		return nil
	case *arrow.BooleanType:
		return holdsFixed(buffers, bitutil.BytesForBits(end))
	case *arrow.DictionaryType:
		return checkDictionary(d, t)
	case *arrow.StringType, *arrow.BinaryType, *arrow.LargeStringType, *arrow.LargeBinaryType:
		if !strings {
			return holdsOffsets(buffers, offsetWidth(t), end)
		}
		return checkOffsets(d, offsetWidth(t), lengthOf(buffers[2]))
	case *arrow.StringViewType, *arrow.BinaryViewType:
		return checkViews(d, strings)
	case *arrow.ListType, *arrow.LargeListType, *arrow.MapType, *arrow.ListViewType, *arrow.LargeListViewType,
		*arrow.StructType, *arrow.FixedSizeListType, *arrow.RunEndEncodedType, arrow.UnionType:
		return checkNested(d)
	case arrow.FixedWidthDataType:
		return holdsFixed(buffers, end*int64(t.Bytes()))
	}
	return fmt.Errorf("values of type %s cannot be scanned", d.DataType())
}

func holds(b *memory.Buffer, size int64, what string) error {
	if lengthOf(b) < size {
		return fmt.Errorf("the %s buffer has %d bytes instead of %d", what, lengthOf(b), size)
	}
	return nil
}

func holdsFixed(buffers []*memory.Buffer, size int64) error {
	if len(buffers) < 2 {
		return fmt.Errorf("the values are missing")
	}
	return holds(buffers[1], size, "values")
}

func holdsOffsets(buffers []*memory.Buffer, width int, end int64) error {
	if len(buffers) < 2 {
		return fmt.Errorf("the offsets are missing")
	}
	return holds(buffers[1], (end+1)*int64(width), "offsets")
}

func offsetWidth(t arrow.DataType) int {
	switch t.ID() {
	case arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.LARGE_LIST, arrow.LARGE_LIST_VIEW:
		return 8
	}
	return 4
}

// integerAt reads entry i of a buffer of offsets, sizes or codes.
func integerAt(b *memory.Buffer, width int, signed bool, i int64) int64 {
	raw := b.Bytes()[i*int64(width):]
	switch {
	case width == 1 && signed:
		return int64(int8(raw[0]))
	case width == 1:
		return int64(raw[0])
	case width == 2 && signed:
		return int64(arrow.Int16Traits.CastFromBytes(raw[:2])[0])
	case width == 2:
		return int64(arrow.Uint16Traits.CastFromBytes(raw[:2])[0])
	case width == 4 && signed:
		return int64(arrow.Int32Traits.CastFromBytes(raw[:4])[0])
	case width == 4:
		return int64(arrow.Uint32Traits.CastFromBytes(raw[:4])[0])
	}
	return arrow.Int64Traits.CastFromBytes(raw[:8])[0]
}

// checkOffsets: rising, and none beyond limit.
func checkOffsets(d arrow.ArrayData, width int, limit int64) error {
	first, end := int64(d.Offset()), int64(d.Offset()+d.Len())
	if err := holdsOffsets(d.Buffers(), width, end); err != nil {
		return err
	}
	before := int64(0)
	for i := first; i <= end; i++ {
		at := integerAt(d.Buffers()[1], width, true, i)
		if at < before || at > limit {
			return fmt.Errorf("row %d points to %d of %d", i-first, at, limit)
		}
		before = at
	}
	return nil
}
