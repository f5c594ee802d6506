package borrowing_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/cluster/noderpc/borrowing"
)

// timings reports what the median and the slowest hundredth of the operations took.
type timings []time.Duration

func (t timings) report(b *testing.B) {
	slices.Sort(t)
	b.ReportMetric(float64(t[len(t)/2].Nanoseconds())/1e3, "p50-µs")
	b.ReportMetric(float64(t[len(t)*99/100].Nanoseconds())/1e3, "p99-µs")
}

// A remote allocation: from the question until the memory can be stored into, over mutual TLS on loopback.
// The target is 250 µs (the thesis: 4.99 ms).
func BenchmarkRemoteAllocate(b *testing.B) {
	for name, size := range map[string]int64{"4KiB": page, "1MiB": mebibyte} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, 256*mebibyte)
			space := borrowing.NewSpace(w.dial(b, "writer"), w.view, borrowing.Options{})
			var took timings
			for b.Loop() {
				began := time.Now()
				g, err := space.Grant("t", size)
				took = append(took, time.Since(began))
				require.NoError(b, err)
				require.NoError(b, g.Abort())
			}
			took.report(b)
		})
	}
}

// A chunk of 10,000 rows, from nothing to sealed, local against remote: what the messages cost.
func BenchmarkChunk(b *testing.B) {
	for _, where := range []string{"local", "remote"} {
		b.Run(where, func(b *testing.B) {
			w := newWorld(b, 256*mebibyte)
			var space chunk.Space = borrowing.NewSpace(w.dial(b, "writer"), w.view, borrowing.Options{})
			if where == "local" {
				space = chunk.Home{Home: w.home}
			}
			var took timings
			for b.Loop() {
				began := time.Now()
				writer := chunk.NewWriter(space, "t", mebibyte)
				built := batch(writer.Allocator(), 10_000)
				c, err := writer.Seal(ctx, built, chunk.SealOptions{SkipValidation: true})
				took = append(took, time.Since(began))
				require.NoError(b, err)
				built.Release()
				for _, id := range c.Extents() {
					require.NoError(b, space.Discard(id.Generation))
				}
			}
			took.report(b)
		})
	}
}
