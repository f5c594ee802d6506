package descriptor_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
)

// message compiles descriptor.proto's ChunkDescriptor.
func message(t require.TestingT) protoreflect.MessageDescriptor {
	raw, err := os.ReadFile("testdata/descriptor.protoset")
	require.NoError(t, err)
	var set descriptorpb.FileDescriptorSet
	require.NoError(t, proto.Unmarshal(raw, &set))
	files, err := protodesc.NewFiles(&set)
	require.NoError(t, err)
	found, err := files.FindDescriptorByName("csmsql.descriptor.v1.ChunkDescriptor")
	require.NoError(t, err)
	return found.(protoreflect.MessageDescriptor)
}

// The hand-written encoding is what descriptor.proto says: protobuf's own code reads every field of it, knows all of
// them, and writes the same bytes again.
func TestWireMatchesSchema(t *testing.T) {
	chunk := message(t)
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 8))
		m := region()
		types := []arrow.DataType{arraytest.Type(rng, 3), arraytest.Type(rng, 2)}
		batch := arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, types, rng.IntN(50))
		d, _ := roundTrip(t, m, batch)
		d.Statistics[0] = descriptor.Statistics{NullCount: 1, Distinct: 3, Min: descriptor.IntOf(-1), Max: descriptor.IntOf(1 << 40), MinExact: true, HasNaN: true}
		d.Statistics[1].NullCount = descriptor.UnknownNullCount
		replicate(d, int(seed%4))
		encoded, err := d.Encode()
		require.NoError(t, err)
		dynamic := dynamicpb.NewMessage(chunk)
		require.NoError(t, proto.Unmarshal(encoded, dynamic))
		requireKnown(t, dynamic)
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(dynamic)
		require.NoError(t, err)
		require.Equal(t, annotate(encoded, chunk, ""), annotate(again, chunk, ""))
		require.True(t, bytes.Equal(encoded, again))
	}
}

func requireKnown(t *testing.T, m protoreflect.Message) {
	require.Empty(t, m.GetUnknown(), "%v", m.Descriptor().FullName())
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				requireKnown(t, v.List().Get(i).Message())
			}
		default:
			requireKnown(t, v.Message())
		}
		return true
	})
}

// TestGolden shows the text form and the bytes of small descriptors. A change of either is a change of the format.
func TestGolden(t *testing.T) {
	datadriven.RunTest(t, "testdata/golden.txt", func(t *testing.T, td *datadriven.TestData) string {
		m := region()
		bump := &arraytest.Bump{Data: m.Data}
		batch := goldenBatch(bump, td.Cmd)
		d, err := descriptor.Describe(batch, "public.t", []descriptor.Mapped{m}, nil)
		require.NoError(t, err)
		if td.Cmd == "replicas" {
			replicate(d, 2)
		}
		encoded, err := d.Encode()
		require.NoError(t, err)
		return d.String() + annotate(encoded, message(t), "")
	})
}

func goldenBatch(mem memory.Allocator, name string) arrow.RecordBatch {
	var fields []arrow.Field
	var build func(*array.RecordBuilder)
	switch name {
	case "thesis": // the three columns of the thesis' measurements
		fields = []arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int8}, {Name: "c", Type: arrow.PrimitiveTypes.Uint16}}
		build = func(b *array.RecordBuilder) {
			b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3}, nil)
			b.Field(1).(*array.Int8Builder).AppendValues([]int8{-1, 0, 1}, nil)
			b.Field(2).(*array.Uint16Builder).AppendValues([]uint16{7, 8, 9}, nil)
		}
	case "replicas":
		fields = []arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8}}
		build = func(b *array.RecordBuilder) { b.Field(0).(*array.Int8Builder).AppendValues([]int8{1, 2}, nil) }
	case "nulls":
		fields = []arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "l", Type: arrow.ListOf(arrow.FixedWidthTypes.Date32), Nullable: true}}
		build = func(b *array.RecordBuilder) {
			b.Field(0).(*array.StringBuilder).AppendValues([]string{"x", ""}, []bool{true, false})
			list := b.Field(1).(*array.ListBuilder)
			list.AppendNull()
			list.Append(true)
			list.ValueBuilder().(*array.Date32Builder).Append(20000)
		}
	}
	b := array.NewRecordBuilder(mem, arrow.NewSchema(fields, nil))
	build(b)
	return b.NewRecordBatch()
}
