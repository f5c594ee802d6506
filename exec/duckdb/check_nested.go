package duckdb

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

func isNullAt(d arrow.ArrayData, row int64) bool {
	validity := d.Buffers()[0]
	return d.NullN() != 0 && validity != nil && bitutil.BitIsNotSet(validity.Bytes(), d.Offset()+int(row))
}

// checkDictionary: every code of a row that is not NULL is one of the dictionary.
func checkDictionary(d arrow.ArrayData, t *arrow.DictionaryType) error {
	values := d.Dictionary()
	if values == nil {
		return fmt.Errorf("the dictionary is missing")
	}
	if err := checkData(values, true); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	if values.NullN() > 0 && t.IndexType.ID() == arrow.UINT8 {
		return fmt.Errorf("a dictionary with a NULL inside cannot be scanned")
	}
	index, ok := integerOf(t.IndexType)
	if !ok {
		return fmt.Errorf("codes of type %s", t.IndexType)
	}
	if err := holdsFixed(d.Buffers(), int64(d.Offset()+d.Len())*int64(index.width)); err != nil {
		return err
	}
	if index.width == 1 && !index.signed {
		codes := d.Buffers()[1].Bytes()[d.Offset() : d.Offset()+d.Len()]
		if values.Len() > int(greatest(codes)) {
			return nil // the common case, without a look at each row
		}
	}
	for i := range int64(d.Len()) {
		code := integerAt(d.Buffers()[1], index.width, index.signed, int64(d.Offset())+i)
		if (code < 0 || code >= int64(values.Len())) && !isNullAt(d, i) {
			return fmt.Errorf("row %d has code %d of a dictionary of %d values", i, code, values.Len())
		}
	}
	return nil
}

func checkViews(d arrow.ArrayData, strings bool) error {
	buffers := d.Buffers()
	if err := holdsFixed(buffers, int64(d.Offset()+d.Len())*int64(arrow.ViewHeaderSizeBytes)); err != nil || !strings {
		return err
	}
	views := arrow.ViewHeaderTraits.CastFromBytes(buffers[1].Bytes())[d.Offset() : d.Offset()+d.Len()]
	for i := range views {
		v := &views[i]
		if v.Len() >= 0 && v.IsInline() || isNullAt(d, int64(i)) {
			continue
		}
		buffer := int(v.BufferIndex())
		if v.Len() < 0 || buffer < 0 || buffer >= len(buffers)-2 || v.BufferOffset() < 0 ||
			int64(v.BufferOffset())+int64(v.Len()) > lengthOf(buffers[2+buffer]) {
			return fmt.Errorf("row %d points outside of the strings", i)
		}
	}
	return nil
}

// checkNested checks how an array leads to its children, and the children.
func checkNested(d arrow.ArrayData) error {
	children := d.Children()
	length := func(i int) int64 { return int64(children[i].Len()) }
	end := int64(d.Offset() + d.Len())
	var err error
	switch t := d.DataType().(type) {
	case *arrow.ListType, *arrow.LargeListType, *arrow.MapType:
		err = checkOffsets(d, offsetWidth(t), length(0))
	case *arrow.ListViewType, *arrow.LargeListViewType:
		err = checkListViews(d, offsetWidth(t), length(0))
	case *arrow.FixedSizeListType:
		err = atLeast(length(0), end*int64(t.Len()))
	case *arrow.StructType:
		for i := range children {
			if err == nil {
				err = atLeast(length(i), end)
			}
		}
	case *arrow.RunEndEncodedType:
		err = checkRuns(d, t, end)
	case arrow.UnionType:
		err = checkUnion(d, t)
	}
	if err != nil {
		return err
	}
	for _, c := range children {
		if err := checkData(c, true); err != nil {
			return err
		}
		if forgetsOffset(d.DataType(), c) {
			return fmt.Errorf("a %s inside a %s starts at row %d, which DuckDB would forget", c.DataType().Name(), d.DataType().Name(), c.Offset())
		}
	}
	return nil
}

// forgetsOffset: convert.c pushes the offsets of structs and unions down, but not below a list.
func forgetsOffset(parent arrow.DataType, child arrow.ArrayData) bool {
	switch parent.ID() {
	case arrow.STRUCT, arrow.SPARSE_UNION:
		return false
	}
	return child.Offset() != 0 && (child.DataType().ID() == arrow.STRUCT || child.DataType().ID() == arrow.SPARSE_UNION)
}

func atLeast(have, want int64) error {
	if have < want {
		return fmt.Errorf("a child has %d rows instead of %d", have, want)
	}
	return nil
}

func checkListViews(d arrow.ArrayData, width int, limit int64) error {
	end := int64(d.Offset() + d.Len())
	if len(d.Buffers()) < 3 {
		return fmt.Errorf("the sizes are missing")
	}
	for _, b := range d.Buffers()[1:3] {
		if err := holds(b, end*int64(width), "list view"); err != nil {
			return err
		}
	}
	for i := int64(d.Offset()); i < end; i++ {
		at, size := integerAt(d.Buffers()[1], width, true, i), integerAt(d.Buffers()[2], width, true, i)
		if at < 0 || size < 0 || at > limit || size > limit-at {
			return fmt.Errorf("row %d points to %d+%d of %d", i-int64(d.Offset()), at, size, limit)
		}
	}
	return nil
}

func checkRuns(d arrow.ArrayData, t *arrow.RunEndEncodedType, end int64) error {
	ends, values := d.Children()[0], d.Children()[1]
	if err := checkData(ends, false); err != nil {
		return err
	}
	if err := atLeast(int64(values.Len()), int64(ends.Len())); err != nil {
		return err
	}
	width, before := t.RunEnds().(arrow.FixedWidthDataType).Bytes(), int64(0)
	for i := range int64(ends.Len()) {
		at := integerAt(ends.Buffers()[1], width, true, int64(ends.Offset())+i)
		if at <= before {
			return fmt.Errorf("run %d ends at %d, the one before at %d", i, at, before)
		}
		before = at
	}
	return atLeast(before, end)
}

func checkUnion(d arrow.ArrayData, t arrow.UnionType) error {
	buffers, end := d.Buffers(), int64(d.Offset()+d.Len())
	if err := holdsFixed(buffers, end); err != nil {
		return err
	}
	dense := t.Mode() == arrow.DenseMode
	if dense {
		if len(buffers) < 3 {
			return fmt.Errorf("the offsets are missing")
		}
		if err := holds(buffers[2], end*4, "offsets"); err != nil {
			return err
		}
	}
	for i := int64(d.Offset()); i < end; i++ {
		code := integerAt(buffers[1], 1, true, i)
		if code < 0 || int(code) >= len(t.ChildIDs()) || t.ChildIDs()[code] < 0 || t.ChildIDs()[code] >= len(d.Children()) {
			return fmt.Errorf("row %d is of the unknown member %d", i-int64(d.Offset()), code)
		}
		at := i
		if dense {
			at = integerAt(buffers[2], 4, true, i)
		}
		if child := d.Children()[t.ChildIDs()[code]]; at < 0 || at >= int64(child.Len()) {
			return fmt.Errorf("row %d points to %d of %d", i-int64(d.Offset()), at, child.Len())
		}
	}
	return nil
}
