package descriptor

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Class groups the Arrow types that lie in memory in the same way.
type Class uint8

// The classes; Width of a Layout is given in brackets.
const (
	ClassNull       Class = iota // no buffer holds anything
	ClassBits                    // validity, bits
	ClassFixed                   // validity, values [bytes per value]
	ClassVariable                // validity, offsets, bytes [bytes per offset]
	ClassView                    // validity, 16-byte views, any number of data buffers
	ClassList                    // validity, offsets; one child [bytes per offset]; maps too
	ClassListView                // validity, offsets, sizes; one child [bytes per offset]
	ClassFixedList               // validity; one child [elements per list]
	ClassStruct                  // validity; children
	ClassSparse                  // -, type codes; children
	ClassDense                   // -, type codes, offsets; children
	ClassDictionary              // validity, codes; dictionary [bytes per code]
	ClassRunEnd                  // -; run ends, values
)

// Layout says how an array of a type lies in memory.
type Layout struct {
	Class Class
	Width int64
}

// ViewSize is the size of one element of a view array: length, prefix, buffer, offset.
const ViewSize = 16

// Storage strips extension types, which lie in memory as their storage does.
func Storage(dt arrow.DataType) arrow.DataType {
	for {
		extension, ok := dt.(arrow.ExtensionType)
		if !ok {
			return dt
		}
		dt = extension.StorageType()
	}
}

// LayoutOf returns the layout of a type; an unknown type is ErrUnsupported.
func LayoutOf(dt arrow.DataType) (Layout, error) {
	switch t := Storage(dt).(type) {
	case *arrow.NullType:
		return Layout{Class: ClassNull}, nil
	case *arrow.BooleanType:
		return Layout{Class: ClassBits}, nil
	case *arrow.StringType, *arrow.BinaryType:
		return Layout{ClassVariable, 4}, nil
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return Layout{ClassVariable, 8}, nil
	case *arrow.StringViewType, *arrow.BinaryViewType:
		return Layout{Class: ClassView}, nil
	case *arrow.ListType, *arrow.MapType:
		return Layout{ClassList, 4}, nil
	case *arrow.LargeListType:
		return Layout{ClassList, 8}, nil
	case *arrow.ListViewType:
		return Layout{ClassListView, 4}, nil
	case *arrow.LargeListViewType:
		return Layout{ClassListView, 8}, nil
	case *arrow.FixedSizeListType:
		return Layout{ClassFixedList, int64(t.Len())}, nil
	case *arrow.StructType:
		return Layout{Class: ClassStruct}, nil
	case *arrow.SparseUnionType:
		return Layout{Class: ClassSparse}, nil
	case *arrow.DenseUnionType:
		return Layout{Class: ClassDense}, nil
	case *arrow.DictionaryType:
		return Layout{ClassDictionary, int64(t.Bytes())}, nil
	case *arrow.RunEndEncodedType:
		return Layout{Class: ClassRunEnd}, nil
	case *arrow.FixedSizeBinaryType:
		return Layout{ClassFixed, int64(t.ByteWidth)}, nil
	case arrow.FixedWidthDataType:
		return Layout{ClassFixed, int64(t.Bytes())}, nil
	default:
		return Layout{}, fmt.Errorf("%w: %v", ErrUnsupported, dt)
	}
}

// Slots is the number of buffer slots that arrow-go keeps for the layout (view arrays: at least that many).
func (l Layout) Slots() int {
	switch l.Class {
	case ClassNull, ClassFixedList, ClassStruct, ClassRunEnd:
		return 1
	case ClassVariable, ClassListView, ClassDense:
		return 3
	default:
		return 2
	}
}

// HasValidity reports whether slot 0 may hold a validity bitmap.
func (l Layout) HasValidity() bool {
	switch l.Class {
	case ClassNull, ClassSparse, ClassDense, ClassRunEnd:
		return false
	default:
		return true
	}
}

// MinimumBytes is the least length of the buffer in a slot for an array whose offset plus length is end. It does not
// depend on the data; end is at most MaxRows and widths fit 31 bits, so that nothing overflows.
func (l Layout) MinimumBytes(slot int, end int64) int64 {
	if end == 0 {
		return 0
	}
	if slot == 0 {
		if l.HasValidity() {
			return (end + 7) / 8
		}
		return 0
	}
	switch {
	case l.Class == ClassBits:
		return (end + 7) / 8
	case l.Class == ClassFixed, l.Class == ClassDictionary, l.Class == ClassListView:
		return saturatingProduct(end, l.Width)
	case l.Class == ClassVariable && slot == 1, l.Class == ClassList:
		return (end + 1) * l.Width
	case l.Class == ClassView && slot == 1:
		return end * ViewSize
	case (l.Class == ClassSparse || l.Class == ClassDense) && slot == 1:
		return end
	case l.Class == ClassDense:
		return end * 4
	default:
		return 0
	}
}

// Required reports whether the buffer in a slot must be present when the array has elements.
func (l Layout) Required(slot int) bool { return slot > 0 && l.MinimumBytes(slot, 1) > 0 }

// ChildTypes lists the types of an array's children.
func ChildTypes(dt arrow.DataType) []arrow.DataType {
	switch t := Storage(dt).(type) {
	case *arrow.RunEndEncodedType:
		return []arrow.DataType{t.RunEnds(), t.Encoded()}
	case arrow.ListLikeType:
		return []arrow.DataType{t.Elem()}
	case *arrow.StructType:
		types := make([]arrow.DataType, t.NumFields())
		for i := range types {
			types[i] = t.Field(i).Type
		}
		return types
	case arrow.UnionType:
		types := make([]arrow.DataType, t.NumFields())
		for i, f := range t.Fields() {
			types[i] = f.Type
		}
		return types
	default:
		return nil
	}
}

func saturatingProduct(a, b int64) int64 {
	if a > 0 && b > (1<<62)/a {
		return 1 << 62
	}
	return a * b
}
