package descriptor

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// String is the human-readable form: one line per extent, column, buffer and child.
//
//	chunk of 3 rows, owner "public.t", 1 extents, 4096 bytes
//	  extent 0: region 7 generation 42 [0x100000,+4096) sealed 384 checksum 0123456789abcdef
//	  column "id" int64: 3 values, 0 nulls; nulls=0 distinct≈3 min=1 max=3
//	    values    extent 0 [0x0,+24) checksum …
func (d *Descriptor) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "chunk of %d rows, owner %q, %d extents, %d bytes\n", d.Rows, d.Owner, len(d.Extents), d.Bytes())
	for i, x := range d.Extents {
		fmt.Fprintf(&b, "  extent %d: %v %v sealed %d checksum %016x\n", i, x.ExtentID, x.Range, x.Seal.Length, x.Seal.Checksum)
		for _, other := range d.Others {
			fmt.Fprintf(&b, "    and in %v %v\n", other[i].ExtentID, other[i].Range)
		}
	}
	for i := range d.Columns {
		f := d.Schema.Field(i)
		fmt.Fprintf(&b, "  column %q %v%s: %s; %v\n", f.Name, f.Type, nullable(f), counts(&d.Columns[i]), d.Statistics[i])
		dumpNode(&b, f.Type, &d.Columns[i], "    ")
	}
	return b.String()
}

func nullable(f arrow.Field) string {
	if f.Nullable {
		return ""
	}
	return " not null"
}

func counts(n *Node) string {
	text := fmt.Sprintf("%d values, %d nulls", n.Length, n.NullCount)
	if n.Offset != 0 {
		text += fmt.Sprintf(", from element %d", n.Offset)
	}
	return text
}

func dumpNode(b *strings.Builder, dt arrow.DataType, n *Node, indent string) {
	layout, err := LayoutOf(dt)
	if err != nil {
		fmt.Fprintf(b, "%s%v\n", indent, err)
		return
	}
	for slot, buffer := range n.Buffers {
		if buffer.Present() {
			fmt.Fprintf(b, "%s%-9s extent %d [%#x,+%d) checksum %016x\n", indent, layout.slotName(slot), buffer.Extent-1, buffer.Offset, buffer.Length, buffer.Checksum)
		}
	}
	for i, childType := range ChildTypes(dt) {
		if i < len(n.Children) {
			fmt.Fprintf(b, "%schild %d %v: %s\n", indent, i, childType, counts(&n.Children[i]))
			dumpNode(b, childType, &n.Children[i], indent+"  ")
		}
	}
	if dictionary, ok := Storage(dt).(*arrow.DictionaryType); ok && n.Dictionary != nil {
		fmt.Fprintf(b, "%sdictionary %v: %s\n", indent, dictionary.ValueType, counts(n.Dictionary))
		dumpNode(b, dictionary.ValueType, n.Dictionary, indent+"  ")
	}
}

// slotName names a buffer for people.
func (l Layout) slotName(slot int) string {
	if slot == 0 {
		return "validity"
	}
	names := map[Class][]string{
		ClassVariable: {"offsets", "bytes"}, ClassList: {"offsets"}, ClassListView: {"offsets", "sizes"},
		ClassView: {"views"}, ClassSparse: {"codes"}, ClassDense: {"codes", "offsets"}, ClassDictionary: {"codes"},
	}[l.Class]
	switch {
	case slot <= len(names):
		return names[slot-1]
	case l.Class == ClassView:
		return fmt.Sprintf("data %d", slot-2)
	default:
		return "values"
	}
}
