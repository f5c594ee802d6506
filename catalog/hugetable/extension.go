package hugetable

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog/descriptor"
)

// stored is an array, which it releases, of what extension types are stored as, wherever they are in its type: arrow-go
// makes them of the marks that fields have, while columns have the marks themselves.
func stored(a arrow.Array) arrow.Array {
	t := storedType(a.DataType())
	if arrow.TypeEqual(t, a.DataType()) {
		return a
	}
	defer a.Release()
	data := descriptor.Retyped(a.Data(), t)
	defer data.Release()
	return array.MakeFromData(data)
}

func storedType(t arrow.DataType) arrow.DataType {
	switch t := descriptor.Storage(t).(type) {
	case *arrow.ListType:
		return arrow.ListOfField(storedField(t.ElemField()))
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), storedField(t.ElemField()))
	case *arrow.MapType:
		return arrow.MapOfFields(storedField(t.KeyField()), storedField(t.ItemField()))
	case *arrow.StructType:
		return arrow.StructOf(storedFields(t.Fields())...)
	case *arrow.SparseUnionType:
		return arrow.SparseUnionOf(storedFields(t.Fields()), t.TypeCodes())
	default:
		return t
	}
}

func storedFields(fields []arrow.Field) []arrow.Field {
	for i := range fields {
		fields[i] = storedField(fields[i])
	}
	return fields
}

func storedField(f arrow.Field) arrow.Field {
	f.Type = storedType(f.Type)
	return f
}
