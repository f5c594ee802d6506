package descriptor_test

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/arraytest"
)

// threeColumns is the descriptor of the targets: ≤ 2 µs to write, ≤ 2 µs to read and validate.
func threeColumns(b testing.TB) *descriptor.Descriptor {
	m := region()
	rng := rand.New(rand.NewPCG(1, 9))
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint16}
	batch := arraytest.Batch(rng, &arraytest.Bump{Data: m.Data}, types, 1000)
	stats := make([]descriptor.Statistics, 3)
	for i := range stats {
		stats[i] = descriptor.Statistics{NullCount: int64(batch.Column(i).NullN()), Distinct: 100, Min: descriptor.IntOf(-5), Max: descriptor.IntOf(100), MinExact: true, MaxExact: true}
	}
	d, err := descriptor.Describe(batch, "public.t", []descriptor.Mapped{m}, stats)
	require.NoError(b, err)
	return d
}

func BenchmarkEncode(b *testing.B) {
	d := threeColumns(b)
	buffer := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.AppendTo(buffer); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	encoded, err := threeColumns(b).Encode()
	require.NoError(b, err)
	b.Run("alone", func(b *testing.B) {
		b.ReportMetric(float64(len(encoded)), "bytes")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := new(descriptor.Decoder).Decode(encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("shared-schema", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := descriptor.Decode(encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("page", func(b *testing.B) {
		var cache descriptor.SchemaCache
		b.ReportAllocs()
		decoder := descriptor.Decoder{}
		for b.Loop() {
			if decoder.Expected == 0 {
				decoder = descriptor.Decoder{Schemas: &cache, Expected: 256}
			}
			if _, err := decoder.Decode(encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("peek", func(b *testing.B) {
		for b.Loop() {
			if _, err := descriptor.Peek(encoded); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkRecord(b *testing.B) {
	m := region()
	d := threeColumns(b)
	resolve := resolver(m)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Record(resolve); err != nil {
			b.Fatal(err)
		}
	}
}
