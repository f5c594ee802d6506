package memregion_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/memregion"
)

// filledAllocator holds the extents of random size, 4 KiB to 64 MiB, in a region that has been in use for a while: half as many again were
// allocated and freed in between, so that there are holes of every size.
func filledAllocator(b testing.TB, random *rand.Rand, extents int) (*memregion.Allocator, []memregion.Range) {
	a := memregion.NewAllocator(1 << 50)
	var live []memregion.Range
	for len(live) < extents*3/2 {
		live = append(live, mustAllocate(b, a, randomSize(random)))
	}
	random.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	for _, r := range live[extents:] {
		require.NoError(b, a.Free("t", r))
	}
	return a, live[:extents]
}

// randomSize is uniform in the logarithm: small and large extents are equally common.
func randomSize(random *rand.Rand) int64 {
	return int64(memregion.PageSize<<random.IntN(14)) + random.Int64N(32<<20)>>random.IntN(13)
}

func mustAllocate(b testing.TB, a *memregion.Allocator, size int64) memregion.Range {
	r, err := a.Allocate("t", size)
	require.NoError(b, err)
	return r
}

// BenchmarkAllocateFree is the measure: allocate and free of a random size with 10,000 live extents, target below 1 µs. The
// extent that is freed is a random one, not the one just allocated, so that no list stays warm.
func BenchmarkAllocateFree(b *testing.B) {
	for _, extents := range []int{0, 10_000, 100_000} {
		b.Run(fmt.Sprintf("live=%d", extents), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			a, live := filledAllocator(b, random, extents)
			live = append(live, mustAllocate(b, a, randomSize(random)))
			sizes, victims := make([]int64, 4096), make([]int, 4096)
			for i := range sizes {
				sizes[i], victims[i] = randomSize(random), random.IntN(len(live))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				victim := victims[i%len(victims)]
				if err := a.Free("t", live[victim]); err != nil {
					b.Fatal(err)
				}
				r, err := a.Allocate("t", sizes[i%len(sizes)])
				if err != nil {
					b.Fatal(err)
				}
				live[victim] = r
			}
			b.StopTimer()
			require.NoError(b, a.Verify())
			reportMedian(b, a, live, sizes)
		})
	}
}

// reportMedian times single pairs, because a mean hides a slow tail and the target is a median. The clock's own cost is inside.
func reportMedian(b *testing.B, a *memregion.Allocator, live []memregion.Range, sizes []int64) {
	const samples = 100_000
	random := rand.New(rand.NewPCG(3, 4))
	took := make([]time.Duration, samples)
	for i := range took {
		victim := random.IntN(len(live))
		start := time.Now()
		err := a.Free("t", live[victim])
		r, err2 := a.Allocate("t", sizes[i%len(sizes)])
		took[i] = time.Since(start)
		if err != nil || err2 != nil {
			b.Fatal(err, err2)
		}
		live[victim] = r
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[samples/2].Nanoseconds()), "p50-ns")
	b.ReportMetric(float64(took[samples*99/100].Nanoseconds()), "p99-ns")
}

// BenchmarkLentAllocateFree adds the lock, the page accounts and the recycling of backed memory; the sizes stay small enough to be recycled.
func BenchmarkLentAllocateFree(b *testing.B) {
	l := lend(b, fileSpec(b, 1<<30), memregion.LendOptions{})
	for _, size := range []int64{memregion.PageSize, mebibyte, 32 * mebibyte} {
		b.Run(fmt.Sprintf("KiB=%d", size>>10), func(b *testing.B) {
			for b.Loop() {
				r, err := l.Allocate("t", size)
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Free("t", r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLentColdAllocateFree is the price of what recycling avoids: reserve and punch 64 MiB of shared memory, without first touch and
// with it.
func BenchmarkLentColdAllocateFree(b *testing.B) {
	l := lend(b, shmSpec(b, 1<<30), memregion.LendOptions{RecycleLimit: -1})
	for _, touch := range []bool{false, true} {
		b.Run(fmt.Sprintf("touch=%v", touch), func(b *testing.B) {
			for b.Loop() {
				r, err := l.Allocate("t", 64*mebibyte)
				require.NoError(b, err)
				if touch {
					clear(l.Bytes(r))
				}
				require.NoError(b, l.Free("t", r))
			}
		})
	}
}

// BenchmarkAdoptExtents is the rebuild of 21,000 extents, without the file.
func BenchmarkAdoptExtents(b *testing.B) {
	for b.Loop() {
		a := memregion.NewAllocator(1 << 40)
		for i := range int64(21_000) {
			if err := a.Adopt("t", memregion.Range{Offset: i * 3 * page, Length: 2 * page}); err != nil {
				b.Fatal(err)
			}
		}
	}
}
