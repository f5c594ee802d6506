package descriptor_test

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
)

// D1, D2, D3, D4: what says of an array what cannot be is refused before anything relies on it.
func TestDescriptorsThatCannotBe(t *testing.T) {
	number := arrow.PrimitiveTypes.Int64
	words := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	type column = descriptor.Node
	for what, c := range map[string]struct {
		of    arrow.DataType
		alter func(d *descriptor.Descriptor, n *column)
		says  string
	}{
		"D1 an extent beside pages": {number, func(d *descriptor.Descriptor, _ *column) { d.Extents[0].Range.Offset++ }, "no multiple of 4096"},
		"D1 a seal beyond its extent": {number, func(d *descriptor.Descriptor, _ *column) {
			d.Extents[0].Seal.Length = d.Extents[0].Range.Length + 1
		}, "is sealed for"},
		"D1 no such extent":            {number, func(_ *descriptor.Descriptor, n *column) { n.Buffers[1].Extent = 2 }, "in extent 1 of 1"},
		"D1 a buffer beside lines":     {number, func(_ *descriptor.Descriptor, n *column) { n.Buffers[1].Offset++ }, "no multiple of 128"},
		"D1 a buffer behind the seal":  {number, func(_ *descriptor.Descriptor, n *column) { n.Buffers[1].Offset = extentBytes }, "outside"},
		"D2 a buffer that is short":    {number, func(_ *descriptor.Descriptor, n *column) { n.Buffers[1].Length = 8*(n.Offset+n.Length) - 1 }, "elements need"},
		"D3 a buffer less":             {number, func(_ *descriptor.Descriptor, n *column) { n.Buffers = n.Buffers[:1] }, "1 buffers, want 2"},
		"D3 more nulls than values":    {number, func(_ *descriptor.Descriptor, n *column) { n.NullCount = n.Length + 1 }, "with 11 nulls"},
		"D3 nulls without a bitmap":    {number, func(_ *descriptor.Descriptor, n *column) { n.NullCount, n.Buffers[0] = 1, descriptor.Buffer{} }, "no validity bitmap"},
		"D3 no dictionary":             {words, func(_ *descriptor.Descriptor, n *column) { n.Dictionary = nil }, "dictionary is missing"},
		"D3 a member that is short":    {arrow.StructOf(arrow.Field{Name: "a", Type: number}), func(_ *descriptor.Descriptor, n *column) { shorten(&n.Children[0]) }, "child 0 has"},
		"D3 a list of too few":         {arrow.FixedSizeListOf(3, number), func(_ *descriptor.Descriptor, n *column) { shorten(&n.Children[0]) }, "child has"},
		"D3 runs without values":       {arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, number), func(_ *descriptor.Descriptor, n *column) { shorten(&n.Children[1]) }, "run ends"},
		"D4 too many rows":             {number, func(d *descriptor.Descriptor, _ *column) { d.Rows = descriptor.MaxRows + 1 }, "row count"},
		"D4 an offset beyond all rows": {number, func(_ *descriptor.Descriptor, n *column) { n.Offset = descriptor.MaxRows }, "at offset"},
	} {
		rng := rand.New(rand.NewPCG(3, 3))
		m := region()
		d, _ := roundTrip(t, m, arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, []arrow.DataType{c.of}, 10))
		c.alter(d, &d.Columns[0])
		require.ErrorContains(t, d.Validate(), c.says, what)
		encoded, err := d.Encode()
		require.NoError(t, err, what)
		_, err = descriptor.Decode(encoded)
		require.ErrorIs(t, err, descriptor.ErrCorrupt, what)
	}
}

// shorten leaves an array no element.
func shorten(n *descriptor.Node) { n.Length, n.Offset, n.NullCount = 0, 0, 0 }
