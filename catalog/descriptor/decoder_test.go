package descriptor_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
)

// described encodes the descriptor of a random batch with statistics of every kind.
func described(t require.TestingT, rng *rand.Rand, owner string) []byte {
	types := make([]arrow.DataType, rng.IntN(5))
	for i := range types {
		types[i] = arraytest.Type(rng, 2)
	}
	m := region()
	batch := arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, types, rng.IntN(20))
	stats := make([]descriptor.Statistics, len(types))
	for i := range stats {
		word := make([]byte, rng.IntN(60))
		stats[i] = []descriptor.Statistics{
			{}, {Min: descriptor.IntOf(-5), Max: descriptor.IntOf(7)}, {Min: descriptor.BytesOf(word), Max: descriptor.BytesOf(append(word, 'z'))},
		}[rng.IntN(3)]
	}
	d, err := descriptor.Describe(batch, owner, []descriptor.Mapped{m}, stats)
	require.NoError(t, err)
	replicate(d, rng.IntN(3))
	encoded, err := d.Encode()
	require.NoError(t, err)
	return encoded
}

// neighbour is some descriptor.
var neighbour = sync.OnceValue(func() []byte { return described(mustHold{}, rand.New(rand.NewPCG(1, 3)), "public.t") })

// mustHold stands in for a test where there is none.
type mustHold struct{}

func (mustHold) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (mustHold) FailNow()                          {}

// amongOthers decodes bytes with others before and behind them (D6): alone is what Decode made of them.
func amongOthers(t require.TestingT, data []byte, alone *descriptor.Descriptor, failed error) {
	decoder := descriptor.Decoder{Expected: 4, Schemas: &descriptor.SchemaCache{}}
	var around []*descriptor.Descriptor
	for _, bytes := range [][]byte{neighbour(), data, neighbour()} {
		d, err := decoder.Decode(bytes)
		around = append(around, d)
		if len(around) == 2 {
			require.Equal(t, failed == nil, err == nil)
			continue
		}
		require.NoError(t, err)
	}
	for range 2 { // the second one finds the schema
		d, err := descriptor.Decode(data)
		require.Equal(t, failed == nil, err == nil)
		around = append(around, d)
	}
	requireEncoding(t, neighbour(), around[0])
	requireEncoding(t, neighbour(), around[2])
	if failed == nil {
		want, err := alone.Encode()
		require.NoError(t, err)
		for _, d := range []*descriptor.Descriptor{around[1], around[3], around[4]} {
			requireEncoding(t, want, d)
		}
	}
}

func requireEncoding(t require.TestingT, want []byte, d *descriptor.Descriptor) {
	encoded, err := d.Encode()
	require.NoError(t, err)
	require.Equal(t, want, encoded)
}

// D6: a decoder's descriptors are those of Decode, whatever number was expected, and adding to one changes no other.
func TestDecoderAgreesWithDecode(t *testing.T) {
	many := make([][]byte, 40)
	for i := range many {
		rng := rand.New(rand.NewPCG(uint64(i), 4))
		many[i] = described(t, rng, []string{"", "public.t", "public.another"}[rng.IntN(3)])
	}
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
		list := make([][]byte, rapid.IntRange(1, 80).Draw(t, "descriptors"))
		for i := range list {
			if i > 0 && rng.IntN(3) > 0 {
				list[i] = list[i-1] // pages have the same schema mostly
				continue
			}
			list[i] = many[rng.IntN(len(many))]
		}
		decoder := descriptor.Decoder{Expected: rapid.IntRange(0, 100).Draw(t, "expected")}
		if rapid.Bool().Draw(t, "cache") {
			decoder.Schemas = &descriptor.SchemaCache{}
		}
		made := make([]*descriptor.Descriptor, len(list))
		for i, encoded := range list {
			d, err := decoder.Decode(encoded)
			require.NoError(t, err)
			made[i] = d
			if rng.IntN(10) == 0 {
				_, err := decoder.Decode(encoded[:rng.IntN(len(encoded))])
				require.Error(t, err)
			}
		}
		for _, d := range made { // what a block has behind a part is another's
			d.Extents = append(d.Extents, descriptor.Extent{})[:len(d.Extents)]
			for i, other := range d.Others {
				d.Others[i] = append(other, descriptor.Extent{})[:len(other)]
			}
			d.Others = append(d.Others, nil)[:len(d.Others)]
			d.Columns = append(d.Columns, descriptor.Node{})[:len(d.Columns)]
			d.Statistics = append(d.Statistics, descriptor.Statistics{})[:len(d.Statistics)]
			for i := range d.Columns {
				n := &d.Columns[i]
				n.Buffers = append(n.Buffers, descriptor.Buffer{})[:len(n.Buffers)]
			}
		}
		for i, d := range made {
			requireEncoding(t, list[i], d)
			alone, err := descriptor.Decode(list[i])
			require.NoError(t, err)
			require.Equal(t, alone.String(), d.String())
		}
	})
}

// Descriptors that come one by one share one schema if they carry the same, unless it has an extension type, which may
// be registered at any time.
func TestDecodeKeepsSchemas(t *testing.T) {
	of := func(dt arrow.DataType) (first, second *arrow.Schema) {
		m := region()
		batch := arraytest.Batch(rand.New(rand.NewPCG(1, 5)), &arraytest.Bump{Data: m.Data}, []arrow.DataType{dt}, 10)
		d, err := descriptor.Describe(batch, "public.t", []descriptor.Mapped{m}, make([]descriptor.Statistics, 1))
		require.NoError(t, err)
		encoded, err := d.Encode()
		require.NoError(t, err)
		one, err := descriptor.Decode(encoded)
		require.NoError(t, err)
		two, err := descriptor.Decode(encoded)
		require.NoError(t, err)
		require.True(t, one.Schema.Equal(two.Schema))
		return one.Schema, two.Schema
	}
	first, second := of(arrow.ListOf(arrow.PrimitiveTypes.Int32))
	require.Same(t, first, second)
	first, second = of(arrow.ListOf(extensions.NewUUIDType()))
	require.NotSame(t, first, second)
}

// A page's descriptors cost few allocations: blocks, no parts of their own.
func TestDecoderAllocatesBlocks(t *testing.T) {
	encoded, err := threeColumns(t).Encode()
	require.NoError(t, err)
	const descriptors = 256
	perPage := testing.AllocsPerRun(10, func() {
		decoder := descriptor.Decoder{Expected: descriptors, Schemas: &descriptor.SchemaCache{}}
		for range descriptors {
			if _, err := decoder.Decode(encoded); err != nil {
				t.Fatal(err)
			}
		}
	})
	require.Less(t, perPage, descriptors/2.0)
	alone := testing.AllocsPerRun(100, func() {
		if _, err := descriptor.Decode(encoded); err != nil {
			t.Fatal(err)
		}
	})
	require.LessOrEqual(t, alone, 3.0, "one that comes alone: two blocks and its owner's name")
}
