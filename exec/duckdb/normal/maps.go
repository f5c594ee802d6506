package normal

import "github.com/apache/arrow-go/v18/arrow"

// WithMaps is a schema of DuckDB's whose maps were called lists on their way here, unless there is an error. The
// entries of a map are called so, and the items of a list are not.
func WithMaps(schema *arrow.Schema, err error) (*arrow.Schema, error) {
	if err != nil {
		return nil, err
	}
	return arrow.NewSchema(withMaps(schema.Fields()), nil), nil
}

func withMaps(fields []arrow.Field) []arrow.Field {
	for i, f := range fields {
		inside := withMaps(childFields(f.Type))
		switch t := f.Type.(type) {
		case *arrow.ListType:
			if pair, ok := inside[0].Type.(*arrow.StructType); ok && inside[0].Name == "entries" {
				fields[i].Type = arrow.MapOfFields(pair.Field(0), pair.Field(1))
			} else {
				fields[i].Type = arrow.ListOfField(inside[0])
			}
		case *arrow.FixedSizeListType:
			fields[i].Type = arrow.FixedSizeListOfField(t.Len(), inside[0])
		case *arrow.StructType:
			fields[i].Type = arrow.StructOf(inside...)
		case *arrow.SparseUnionType:
			fields[i].Type = arrow.SparseUnionOf(inside, t.TypeCodes())
		}
	}
	return fields
}
