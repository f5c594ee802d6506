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
	return d.ProjectHeld(resolve, columns, nil)
}

// Hold is called for every buffer over a region's bytes. It returns an allocator that allocates nothing, and whose
// Free is called when the last reference to the buffer is released.
type Hold func(region memregion.RegionID) memory.Allocator

// ProjectHeld is Project, but hold learns how long the batch's buffers are in use; nil: not reported.
func (d *Descriptor) ProjectHeld(resolve Resolve, columns []int, hold Hold) (arrow.RecordBatch, error) {
	extents, err := d.resolve(resolve)
	if err != nil {
		return nil, err
	}
	schema, count := d.Schema, len(d.Columns)
	if columns != nil {
		if schema, err = projectSchema(d.Schema, columns); err != nil {
			return nil, err
		}
		count = len(columns)
	}
	var some [16]arrow.Array // NewRecordBatch copies them
	arrays := some[:0]
	defer func() {
		for _, a := range arrays {
			a.Release()
		}
	}()
	b := d.rebuilder(extents, columns)
	b.hold = hold
	for i := range count {
		c := i
		if columns != nil {
			c = columns[i]
		}
		if d.Value(c) != nil {
			return nil, fmt.Errorf("%w: column %q has no bytes", ErrUnsupported, d.Schema.Field(c).Name)
		}
		a, err := b.column(d.Schema.Field(c).Type, &d.Columns[c])
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", d.Schema.Field(c).Name, err)
		}
		arrays = append(arrays, a)
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
	for i := range d.Extents {
		x := &d.Extents[i]
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

// rebuilder makes the arrays of one batch. A chunk that is attached to costs little but allocations, so that all
// buffers and all
// array data of a batch lie in one block each; they stay as long as any of its arrays, as the region's bytes do.
type rebuilder struct {
	owner   *Descriptor
	hold    Hold
	extents [][]byte
	data    []array.Data
	buffers []memory.Buffer
	slots   []*memory.Buffer
}

func (d *Descriptor) rebuilder(extents [][]byte, columns []int) rebuilder {
	var c pieces
	for i := range d.Columns {
		if columns == nil || slices.Contains(columns, i) {
			c.count(&d.Columns[i])
		}
	}
	return rebuilder{
		owner: d, extents: extents,
		data: make([]array.Data, c.arrays), buffers: make([]memory.Buffer, c.buffers), slots: make([]*memory.Buffer, c.slots),
	}
}

// pieces counts what a rebuilder makes.
type pieces struct{ arrays, slots, buffers int }

func (c *pieces) count(n *Node) {
	c.arrays++
	c.slots += len(n.Buffers)
	for i := range n.Buffers {
		if filled(n, i) {
			c.buffers++
		}
	}
	for i := range n.Children {
		c.count(&n.Children[i])
	}
	if n.Dictionary != nil {
		c.count(n.Dictionary)
	}
}

// filled reports whether a slot gets a buffer: an absent one behind the first gets an empty one, because arrow-go's
// unions do not look whether there is one.
func filled(n *Node, slot int) bool { return slot > 0 || n.Buffers[slot].Present() }

// column builds one array. arrow-go's constructors look at the last offset of variable arrays and panic when it is
// wrong; that is a fault of the bytes and comes out as one. For that reason those of dictionaries,
// which arrow-go would construct for the first reader, are constructed here.
func (b *rebuilder) column(dt arrow.DataType, n *Node) (a arrow.Array, err error) {
	defer func() {
		if r := recover(); r != nil {
			a, err = nil, fmt.Errorf("%w: %v", ErrData, r)
		}
	}()
	data := b.rebuild(dt, n)
	defer data.Release()
	a = array.MakeFromData(data)
	if err := withDictionaries(a, n); err != nil {
		a.Release()
		return nil, err
	}
	return a, nil
}

// withDictionaries has the array, and those that it consists of, construct their dictionaries.
func withDictionaries(a arrow.Array, n *Node) (err error) {
	if !hasDictionary(n) {
		return nil
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: a dictionary: %v", ErrData, r)
		}
	}()
	constructDictionaries(a)
	return nil
}

func hasDictionary(n *Node) bool {
	return n.Dictionary != nil || slices.ContainsFunc(n.Children, func(c Node) bool { return hasDictionary(&c) })
}

func constructDictionaries(a arrow.Array) {
	switch a := a.(type) {
	case *array.Dictionary:
		constructDictionaries(a.Dictionary())
	case array.ExtensionArray:
		constructDictionaries(a.Storage())
	case array.ListLike:
		constructDictionaries(a.ListValues())
	case *array.Struct:
		for i := range a.NumField() {
			constructDictionaries(a.Field(i))
		}
	case array.Union:
		for i := range a.NumFields() {
			constructDictionaries(a.Field(i))
		}
	case *array.RunEndEncoded:
		constructDictionaries(a.Values())
	}
}

// rebuild is the array's data with one reference, the caller's.
func (b *rebuilder) rebuild(dt arrow.DataType, n *Node) *array.Data {
	var children []arrow.ArrayData
	if len(n.Children) > 0 {
		children = make([]arrow.ArrayData, len(n.Children))
		for i, childType := range ChildTypes(dt) {
			children[i] = b.rebuild(childType, &n.Children[i])
		}
	}
	data, slots := take(&b.data, 1), b.slotsOf(n)
	data[0].Reset(dt, int(n.Length), slots, children, int(n.NullCount), int(n.Offset))
	data[0].Retain()
	for _, slot := range slots { // the array's data has its own reference
		if slot != nil {
			slot.Release()
		}
	}
	for _, child := range children {
		child.Release()
	}
	if n.Dictionary != nil {
		dictionary := b.rebuild(Storage(dt).(*arrow.DictionaryType).ValueType, n.Dictionary)
		data[0].SetDictionary(dictionary)
		dictionary.Release()
	}
	return &data[0]
}

// slotsOf lays the node's buffers over the region's bytes.
func (b *rebuilder) slotsOf(n *Node) []*memory.Buffer {
	slots := take(&b.slots, len(n.Buffers))
	for i := range n.Buffers {
		if !filled(n, i) {
			continue
		}
		slots[i] = &take(&b.buffers, 1)[0]
		x := &n.Buffers[i]
		if !x.Present() {
			continue
		}
		bytes := b.extents[x.Extent-1][x.Offset : x.Offset+x.Length : x.Offset+x.Length]
		if b.hold != nil {
			slots[i] = memory.NewBufferWithAllocator(bytes, b.hold(b.owner.Extents[x.Extent-1].Region))
			continue
		}
		slots[i].Reset(bytes)
	}
	return slots
}

// take cuts n elements off a block; from an empty one, should a column be asked for twice, it makes them.
func take[T any](block *[]T, n int) []T {
	if len(*block) < n {
		return make([]T, n)
	}
	taken := (*block)[:n:n]
	*block = (*block)[n:]
	return taken
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
