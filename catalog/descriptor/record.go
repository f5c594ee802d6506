package descriptor

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/memregion"
)

// Resolve returns the bytes of a range of a region in this process: r.Length bytes that stay as they are while the
// caller holds its lease. It is where acquiring, mapping and faulting in happen.
type Resolve func(region memregion.RegionID, r memregion.Range) ([]byte, error)

// Record rebuilds the chunk's record batch over the region's bytes; nothing is copied. The batch's buffers hold no
// reference: they are valid as long as what resolve returned, i.e. until the lease ends.
func (d *Descriptor) Record(resolve Resolve) (arrow.RecordBatch, error) {
	return d.Project(resolve, nil)
}

// Project is Record for some columns, in the order asked for; nil means all.
func (d *Descriptor) Project(resolve Resolve, columns []int) (arrow.RecordBatch, error) {
	extents, err := d.resolve(resolve)
	if err != nil {
		return nil, err
	}
	schema := d.Schema
	if columns == nil {
		columns = make([]int, len(d.Columns))
		for i := range columns {
			columns[i] = i
		}
	} else if schema, err = projectSchema(d.Schema, columns); err != nil {
		return nil, err
	}
	arrays := make([]arrow.Array, len(columns))
	defer func() {
		for _, a := range arrays {
			if a != nil {
				a.Release()
			}
		}
	}()
	for i, c := range columns {
		if arrays[i], err = d.column(c, extents); err != nil {
			return nil, fmt.Errorf("column %q: %w", d.Schema.Field(c).Name, err)
		}
	}
	return array.NewRecordBatch(schema, arrays, d.Rows), nil
}

func projectSchema(schema *arrow.Schema, columns []int) (*arrow.Schema, error) {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		if c < 0 || c >= schema.NumFields() {
			return nil, fmt.Errorf("column %d of a chunk with %d", c, schema.NumFields())
		}
		fields[i] = schema.Field(c)
	}
	meta := schema.Metadata()
	return arrow.NewSchema(fields, &meta), nil
}

func (d *Descriptor) resolve(resolve Resolve) ([][]byte, error) {
	extents := make([][]byte, len(d.Extents))
	for i, x := range d.Extents {
		data, err := resolve(x.Region, x.Range)
		if err != nil {
			return nil, fmt.Errorf("extent %v in region %d: %w", x.Range, x.Region, err)
		}
		if int64(len(data)) < x.Seal.Length {
			return nil, fmt.Errorf("%w: extent %v in region %d has %d bytes here, %d were sealed", ErrData, x.Range, x.Region, len(data), x.Seal.Length)
		}
		extents[i] = data
	}
	return extents, nil
}

// column builds one array. arrow-go's constructors look at the last offset of variable arrays and panic when it is
// wrong; that is a fault of the bytes and comes out as one.
func (d *Descriptor) column(i int, extents [][]byte) (a arrow.Array, err error) {
	defer func() {
		if r := recover(); r != nil {
			a, err = nil, fmt.Errorf("%w: %v", ErrData, r)
		}
	}()
	data := rebuild(d.Schema.Field(i).Type, &d.Columns[i], extents)
	defer data.Release()
	return array.MakeFromData(data), nil
}

func rebuild(dt arrow.DataType, n *Node, extents [][]byte) *array.Data {
	buffers := make([]*memory.Buffer, len(n.Buffers))
	for i, b := range n.Buffers {
		if b.Present() {
			buffers[i] = memory.NewBufferBytes(extents[b.Extent-1][b.Offset : b.Offset+b.Length : b.Offset+b.Length])
		} else if i > 0 {
			buffers[i] = memory.NewBufferBytes(nil) // arrow-go's unions do not look whether there is one
		}
	}
	var children []arrow.ArrayData
	if len(n.Children) > 0 {
		children = make([]arrow.ArrayData, len(n.Children))
		for i, childType := range ChildTypes(dt) {
			children[i] = rebuild(childType, &n.Children[i], extents)
		}
	}
	data := array.NewData(dt, int(n.Length), buffers, children, int(n.NullCount), int(n.Offset))
	for _, child := range children {
		child.Release()
	}
	if n.Dictionary != nil {
		dictionary := rebuild(Storage(dt).(*arrow.DictionaryType).ValueType, n.Dictionary, extents)
		data.SetDictionary(dictionary)
		dictionary.Release()
	}
	return data
}

// Verify compares every buffer with its checksum; a difference is ErrChecksum and names column and buffer. Columns nil
// means all.
func (d *Descriptor) Verify(resolve Resolve, columns []int) error {
	extents, err := d.resolve(resolve)
	if err != nil {
		return err
	}
	for i := range d.Columns {
		if columns != nil && !slices.Contains(columns, i) {
			continue
		}
		if err := verifyNode(&d.Columns[i], extents); err != nil {
			return fmt.Errorf("column %q: %w", d.Schema.Field(i).Name, err)
		}
	}
	return nil
}

func verifyNode(n *Node, extents [][]byte) error {
	for i, b := range n.Buffers {
		if !b.Present() {
			continue
		}
		if sum := xxh3.Hash(extents[b.Extent-1][b.Offset : b.Offset+b.Length]); sum != b.Checksum {
			return fmt.Errorf("%w: buffer %d is %016x, was sealed as %016x", ErrChecksum, i, sum, b.Checksum)
		}
	}
	for i := range n.Children {
		if err := verifyNode(&n.Children[i], extents); err != nil {
			return err
		}
	}
	if n.Dictionary != nil {
		return verifyNode(n.Dictionary, extents)
	}
	return nil
}

func countNulls(data arrow.ArrayData, layout Layout) int {
	switch {
	case layout.Class == ClassNull:
		return data.Len()
	case !layout.HasValidity() || len(data.Buffers()) == 0 || data.Buffers()[0] == nil || data.Buffers()[0].Len() == 0:
		return 0
	case data.NullN() >= 0:
		return data.NullN()
	default:
		return data.Len() - bitutil.CountSetBits(data.Buffers()[0].Bytes(), data.Offset(), data.Len())
	}
}
