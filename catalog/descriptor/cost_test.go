package descriptor_test

import (
	"bytes"
	"errors"
	"runtime"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/csmsql/csmsql/catalog/descriptor"
)

// What bytes cost to be refused is bounded by how many they are: an empty message takes two, and what it stands for many more.
func TestHostileBytesCostLittle(t *testing.T) {
	const size = 4 << 20
	peek := func(data []byte) error { _, err := descriptor.Peek(data); return err }
	decode := func(data []byte) error { _, err := descriptor.Decode(data); return err }
	schema := func(data []byte) error { _, err := descriptor.DecodeSchema(data); return err }
	for _, c := range []struct {
		name string
		path []byte // field numbers, outermost first; the innermost is repeated
		read func([]byte) error
	}{
		{"extents", []byte{4}, decode}, {"extents, peeked at", []byte{4}, peek}, {"fields", []byte{5, 1}, decode}, {"metadata", []byte{5, 2}, decode},
		{"metadata of a field", []byte{5, 1, 4}, decode}, {"metadata of a schema", []byte{2}, schema}, {"columns", []byte{6}, decode},
		{"buffers", []byte{6, 4}, decode}, {"children", []byte{6, 5}, decode}, {"buffers of a dictionary", []byte{6, 6, 4}, decode},
		{"statistics", []byte{7}, decode}, {"values", []byte{7, 3}, decode},
	} {
		const empty, version = 0, "\x08\x01"
		data := bytes.Repeat([]byte{c.path[len(c.path)-1]<<3 | 2, empty}, size/2)
		for i := len(c.path) - 2; i >= 0; i-- {
			data = protowire.AppendBytes([]byte{c.path[i]<<3 | 2}, data)
		}
		data = append([]byte(version), data...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = c.read(data)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16*size), c.name)
	}
}

// What a reader refuses is not written.
func TestSchemasThatCannotBeReadAreNotWritten(t *testing.T) {
	names := func(n int) (names []string) {
		for i := range n {
			names = append(names, strconv.Itoa(i))
		}
		return names
	}
	for n, refused := range map[int]bool{descriptor.MaxNodes: false, descriptor.MaxNodes + 1: true} {
		values := names(n)
		metadata := arrow.NewMetadata(values, values)
		fields := make([]arrow.Field, n)
		for i := range fields {
			fields[i] = arrow.Field{Name: values[i], Type: arrow.PrimitiveTypes.Int8}
		}
		for _, s := range []*arrow.Schema{
			arrow.NewSchema(fields, nil), arrow.NewSchema(nil, &metadata), arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8, Metadata: metadata}}, nil),
		} {
			encoded, err := descriptor.AppendSchema(nil, s)
			require.Equal(t, refused, errors.Is(err, descriptor.ErrUnsupported), "%d: %v", n, err)
			_, err = descriptor.DecodeSchema(encoded)
			require.Equal(t, refused, errors.Is(err, descriptor.ErrCorrupt), "%d: %v", n, err)
		}
	}
}
