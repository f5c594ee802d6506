package worker

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// Fields whose metadata names an extension are plain ones here (UUID, JSON); arrow-go makes extension types of
// them, and takes the name away, when it reads a schema. So the name travels in disguise.
const (
	extensionKey = "ARROW:extension:"
	disguisedKey = "csm:extension:"
)

// EncodeSchema writes a schema as DecodeSchema reads it.
func EncodeSchema(schema *arrow.Schema) ([]byte, error) {
	metadata := schema.Metadata()
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(arrow.NewSchema(renamed(schema.Fields(), extensionKey, disguisedKey), &metadata)))
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("write the schema of a worker's rows: %w", err)
	}
	return out.Bytes(), nil
}

// DecodeSchema reads what EncodeSchema wrote.
func DecodeSchema(encoded []byte) (*arrow.Schema, error) {
	r, err := ipc.NewReader(bytes.NewReader(encoded))
	if err != nil {
		return nil, fmt.Errorf("read the schema of a worker's rows: %w", err)
	}
	defer r.Release()
	metadata := r.Schema().Metadata()
	return arrow.NewSchema(renamed(r.Schema().Fields(), disguisedKey, extensionKey), &metadata), nil
}

func renamed(fields []arrow.Field, from, to string) []arrow.Field {
	out := make([]arrow.Field, len(fields))
	for i, f := range fields {
		f.Type, f.Metadata = renamedType(f.Type, from, to), renamedKeys(f.Metadata, from, to)
		out[i] = f
	}
	return out
}

func renamedKeys(m arrow.Metadata, from, to string) arrow.Metadata {
	keys, values := m.Keys(), m.Values()
	if len(keys) == 0 {
		return m
	}
	other := make([]string, len(keys))
	for i, k := range keys {
		other[i] = k
		if rest, ok := strings.CutPrefix(k, from); ok {
			other[i] = to + rest
		}
	}
	return arrow.NewMetadata(other, values)
}

func renamedType(t arrow.DataType, from, to string) arrow.DataType {
	nested, ok := t.(arrow.NestedType)
	if !ok || !names(nested.Fields(), from) {
		return t
	}
	fields := renamed(nested.Fields(), from, to)
	switch t := t.(type) {
	case *arrow.StructType:
		return arrow.StructOf(fields...)
	case *arrow.ListType:
		return arrow.ListOfField(fields[0])
	case *arrow.LargeListType:
		return arrow.LargeListOfField(fields[0])
	case *arrow.FixedSizeListType:
		return arrow.FixedSizeListOfField(t.Len(), fields[0])
	case *arrow.MapType:
		pair := fields[0].Type.(*arrow.StructType).Fields()
		pair[0].Nullable = false
		m := arrow.MapOfFields(pair[0], pair[1])
		m.KeysSorted = t.KeysSorted
		return m
	case *arrow.SparseUnionType:
		return arrow.SparseUnionOf(fields, t.TypeCodes())
	case *arrow.DenseUnionType:
		return arrow.DenseUnionOf(fields, t.TypeCodes())
	}
	return t // DuckDB makes no others
}

// names reports whether the metadata of some field, or of one inside of it, has such a key.
func names(fields []arrow.Field, key string) bool {
	for _, f := range fields {
		for _, k := range f.Metadata.Keys() {
			if strings.HasPrefix(k, key) {
				return true
			}
		}
		if nested, ok := f.Type.(arrow.NestedType); ok && names(nested.Fields(), key) {
			return true
		}
	}
	return false
}
