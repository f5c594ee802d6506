package descriptor

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/csmsql/csmsql/memregion"
)

// Validate checks D1 to D4: everything that can be known without looking at a region. Decode has done it already.
func (d *Descriptor) Validate() error {
	if d.Rows < 0 || d.Rows > MaxRows {
		return fmt.Errorf("row count %d is out of range", d.Rows)
	}
	if d.Schema == nil {
		return fmt.Errorf("no schema")
	}
	if err := d.validateExtents(); err != nil {
		return err
	}
	fields := d.Schema.NumFields()
	if len(d.Columns) != fields || len(d.Statistics) != fields {
		return fmt.Errorf("%d columns and %d statistics for %d fields", len(d.Columns), len(d.Statistics), fields)
	}
	v := validator{extents: d.Extents}
	for i := range d.Columns {
		f := d.Schema.Field(i)
		if d.Columns[i].Length != d.Rows {
			return fmt.Errorf("column %q has %d values in a chunk of %d rows", f.Name, d.Columns[i].Length, d.Rows)
		}
		if err := v.node(f.Type, &d.Columns[i], 0); err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
		if err := d.Statistics[i].validate(d.Rows); err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
	}
	return nil
}

func (d *Descriptor) validateExtents() error {
	if len(d.Extents) > MaxExtents || d.Replicas() > MaxReplicas {
		return fmt.Errorf("%d extents in each of %d replicas, at most %d and %d are allowed", len(d.Extents), d.Replicas(), MaxExtents, MaxReplicas)
	}
	for i, other := range d.Others {
		if err := sameExtents(d.Extents, other); err != nil {
			return fmt.Errorf("replica %d: %w", i+1, err)
		}
	}
	for i := range d.Replicas() {
		extents := d.ExtentsOf(i)
		for k := range extents {
			if err := extents[k].validate(); err != nil {
				return fmt.Errorf("%s %w", extentName(i, k), err)
			}
		}
	}
	if n := len(d.Extents) * d.Replicas(); n > 1 { // of most chunks that is all
		return d.disjoint()
	}
	return nil
}

// sameExtents checks that another replica has what the first one has (D7).
func sameExtents(first, other []Extent) error {
	if len(other) != len(first) || len(first) == 0 {
		return fmt.Errorf("%d extents, the first one has %d", len(other), len(first))
	}
	for i := range first {
		if other[i].Range.Length != first[i].Range.Length || other[i].Seal != first[i].Seal {
			return fmt.Errorf("extent %d is not the same as the first one's", i)
		}
	}
	return nil
}

func extentName(replica, extent int) string {
	if replica == 0 {
		return fmt.Sprintf("extent %d", extent)
	}
	return fmt.Sprintf("extent %d of replica %d", extent, replica)
}

func (x *Extent) validate() error {
	switch {
	case x.Region == 0 || x.Generation == 0:
		return fmt.Errorf("has no region or no generation")
	case x.Range.Offset < 0 || x.Range.Offset%memregion.PageSize != 0:
		return fmt.Errorf("starts at %d, which is no multiple of %d", x.Range.Offset, memregion.PageSize)
	case x.Range.Length <= 0 || x.Range.Length > 1<<47 || x.Range.Offset > 1<<47:
		return fmt.Errorf("has a range of %v", x.Range)
	case x.Seal.Length < 0 || x.Seal.Length > x.Range.Length:
		return fmt.Errorf("is sealed for %d of %d bytes", x.Seal.Length, x.Range.Length)
	}
	return nil
}

// disjoint checks that no two extents share a byte or a generation. They are sorted for it, because hostile bytes may
// list many.
func (d *Descriptor) disjoint() error {
	var few [8]*Extent
	all := few[:0]
	for i := range d.Replicas() {
		extents := d.ExtentsOf(i)
		for k := range extents {
			all = append(all, &extents[k])
		}
	}
	neighbours := func(order func(a, b *Extent) int) error {
		slices.SortFunc(all, order)
		for i := range len(all) - 1 {
			if err := disjoint(all[i], all[i+1]); err != nil {
				return fmt.Errorf("%v and %v %w", all[i].ExtentID, all[i+1].ExtentID, err)
			}
		}
		return nil
	}
	err := neighbours(func(a, b *Extent) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Range.Offset, b.Range.Offset))
	})
	if err != nil {
		return err
	}
	return neighbours(func(a, b *Extent) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Generation, b.Generation))
	})
}

func disjoint(a, b *Extent) error {
	if a.Region != b.Region {
		return nil
	}
	if a.Generation == b.Generation {
		return fmt.Errorf("have one generation")
	}
	if a.Range.Offset < b.Range.End() && b.Range.Offset < a.Range.End() {
		return fmt.Errorf("overlap")
	}
	return nil
}

func (s *Statistics) validate(rows int64) error {
	if s.NullCount < UnknownNullCount || s.NullCount > rows || s.Distinct < 0 {
		return fmt.Errorf("statistics count %d nulls and %d distinct values in %d rows", s.NullCount, s.Distinct, rows)
	}
	if s.Min.Known() && s.Max.Known() {
		if order, ok := s.Min.Compare(s.Max); !ok || order > 0 {
			return fmt.Errorf("statistics claim %v to %v", s.Min, s.Max)
		}
	}
	return nil
}

// validator walks types and arrays side by side. Preconditions: node numbers and depths were bounded by the decoder,
// or the arrays come from Describe.
type validator struct{ extents []Extent }

func (v *validator) node(dt arrow.DataType, n *Node, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("arrays nested deeper than %d", MaxDepth)
	}
	if n.Length < 0 || n.Offset < 0 || n.Length > MaxRows || n.Offset > MaxRows-n.Length {
		return fmt.Errorf("%v array of length %d at offset %d", dt, n.Length, n.Offset)
	}
	if n.NullCount < 0 || n.NullCount > n.Length {
		return fmt.Errorf("%v array of length %d with %d nulls", dt, n.Length, n.NullCount)
	}
	layout, err := LayoutOf(dt)
	if err != nil {
		return err
	}
	if err := v.buffers(dt, layout, n); err != nil {
		return err
	}
	if err := v.dictionary(dt, layout, n, depth); err != nil {
		return err
	}
	return v.children(dt, layout, n, depth)
}

func (v *validator) buffers(dt arrow.DataType, layout Layout, n *Node) error {
	slots := layout.Slots()
	if len(n.Buffers) < slots || (len(n.Buffers) > slots && layout.Class != ClassView) || len(n.Buffers) > MaxBuffers {
		return fmt.Errorf("%v array with %d buffers, want %d", dt, len(n.Buffers), slots)
	}
	end := n.Offset + n.Length
	for slot := range n.Buffers {
		if err := v.buffer(layout, slot, &n.Buffers[slot], end); err != nil {
			return fmt.Errorf("%v array, buffer %d: %w", dt, slot, err)
		}
	}
	if layout.HasValidity() && n.NullCount > 0 && !n.Buffers[0].Present() {
		return fmt.Errorf("%v array with %d nulls and no validity bitmap", dt, n.NullCount)
	}
	if layout.Class == ClassNull && n.NullCount != n.Length {
		return fmt.Errorf("null array of length %d with %d nulls", n.Length, n.NullCount)
	}
	return nil
}

func (v *validator) buffer(layout Layout, slot int, b *Buffer, end int64) error {
	if !b.Present() {
		if end > 0 && layout.Required(slot) {
			return fmt.Errorf("missing")
		}
		return nil
	}
	if slot == 0 && !layout.HasValidity() {
		return fmt.Errorf("present, but the type has no validity bitmap")
	}
	if int(b.Extent) > len(v.extents) || b.Extent < 0 {
		return fmt.Errorf("in extent %d of %d", b.Extent-1, len(v.extents))
	}
	x := &v.extents[b.Extent-1]
	if b.Offset < 0 || b.Offset%memregion.LineSize != 0 {
		return fmt.Errorf("at offset %d, which is no multiple of %d", b.Offset, memregion.LineSize)
	}
	if !(memregion.Range{Length: x.Seal.Length}).Contains(memregion.Range{Offset: b.Offset, Length: b.Length}) {
		return fmt.Errorf("bytes %d to %d are outside the %d sealed ones of extent %d", b.Offset, b.Offset+b.Length, x.Seal.Length, b.Extent-1)
	}
	if want := layout.MinimumBytes(slot, end); b.Length < want {
		return fmt.Errorf("%d bytes long, %d elements need %d", b.Length, end, want)
	}
	return nil
}

func (v *validator) dictionary(dt arrow.DataType, layout Layout, n *Node, depth int) error {
	if (layout.Class == ClassDictionary) != (n.Dictionary != nil) {
		return fmt.Errorf("%v array: dictionary is missing or should not be there", dt)
	}
	if n.Dictionary == nil {
		return nil
	}
	values := Storage(dt).(*arrow.DictionaryType).ValueType
	if err := v.node(values, n.Dictionary, depth+1); err != nil {
		return fmt.Errorf("dictionary: %w", err)
	}
	return nil
}

func (v *validator) children(dt arrow.DataType, layout Layout, n *Node, depth int) error {
	if len(n.Children) == 0 && layout.Class < ClassList {
		return nil
	}
	types := ChildTypes(dt)
	if len(n.Children) != len(types) {
		return fmt.Errorf("%v array with %d children, want %d", dt, len(n.Children), len(types))
	}
	for i := range n.Children {
		if err := v.node(types[i], &n.Children[i], depth+1); err != nil {
			return fmt.Errorf("child %d: %w", i, err)
		}
	}
	return checkChildLengths(dt, layout, n)
}

// checkChildLengths compares what does not depend on data; ValidateData does the rest.
func checkChildLengths(dt arrow.DataType, layout Layout, n *Node) error {
	end := n.Offset + n.Length
	switch layout.Class {
	case ClassStruct, ClassSparse:
		for i := range n.Children {
			if n.Children[i].Length < end {
				return fmt.Errorf("%v array: child %d has %d elements, want %d", dt, i, n.Children[i].Length, end)
			}
		}
	case ClassFixedList:
		if want := saturatingProduct(end, layout.Width); n.Children[0].Length < want {
			return fmt.Errorf("%v array: child has %d elements, want %d", dt, n.Children[0].Length, want)
		}
	case ClassRunEnd:
		ends, values := &n.Children[0], &n.Children[1]
		if ends.NullCount != 0 || values.Length < ends.Length || (end > 0 && ends.Length == 0) {
			return fmt.Errorf("%v array: %d run ends (%d null) and %d values", dt, ends.Length, ends.NullCount, values.Length)
		}
	}
	return nil
}
