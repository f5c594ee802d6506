package coherence_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/memregion"
)

// stillMemory costs nothing, so that the benchmark sees the bookkeeping alone.
type stillMemory struct {
	bytes []byte
	next  int64
	free  []memregion.Range
}

func (m *stillMemory) Allocate(string, int64) (memregion.Range, error) {
	if n := len(m.free); n > 0 {
		r := m.free[n-1]
		m.free = m.free[:n-1]
		return r, nil
	}
	m.next += memregion.PageSize
	return memregion.Range{Offset: m.next, Length: memregion.PageSize}, nil
}

func (m *stillMemory) Shrink(_ string, r memregion.Range, _ int64) (memregion.Range, error) {
	return r, nil
}

func (m *stillMemory) Free(_ string, r memregion.Range) error {
	m.free = append(m.free, r)
	return nil
}

func (m *stillMemory) Bytes(r memregion.Range) []byte { return m.bytes[:r.Length] }

func newStillMemory() *stillMemory { return &stillMemory{bytes: make([]byte, memregion.PageSize)} }

func BenchmarkGrantCleanSealPublishRetire(b *testing.B) {
	h := newHome(b, newStillMemory(), nil)
	b.ReportAllocs()
	for b.Loop() {
		g, _ := h.Grant("t", "home", 1)
		_ = g.Clean()
		_ = g.Seal(coherence.Seal{Length: 1})
		_ = h.Publish(g.Generation())
		if err := h.Retire(g.Generation()); err != nil {
			b.Fatal(err)
		}
	}
}

// chunks is how many a large table has.
const chunks = 21000

func publishMany(b *testing.B, h *coherence.Home) []coherence.Generation {
	gens := make([]coherence.Generation, chunks)
	for i := range gens {
		gens[i] = publish(b, h, "t", 1)
	}
	return gens
}

func BenchmarkPinUnpin21000(b *testing.B) {
	h := newHome(b, newStillMemory(), nil)
	gens := publishMany(b, h)
	require.NoError(b, h.Pin("other", gens))
	b.Run("pin+unpin", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if h.Pin("reader", gens) != nil || h.Unpin("reader", gens) != nil {
				b.Fatal("refused")
			}
		}
	})
	b.Run("pin+expire", func(b *testing.B) {
		for b.Loop() {
			if h.Pin("reader", gens) != nil || h.ExpireDomain("reader") != chunks {
				b.Fatal("refused")
			}
		}
	})
}

func BenchmarkAcquire(b *testing.B) {
	r := coherence.NewReader(coherence.Coherent, nil, nil)
	data := make([]byte, memregion.PageSize)
	ctx := context.Background()
	b.Run("again", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = r.Acquire(ctx, 1, 1, data, nil)
		}
	})
	b.Run("again-parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for g := coherence.Generation(0); pb.Next(); g++ {
				_ = r.Acquire(ctx, 1, g%64, data, nil)
			}
		})
	})
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = r.Acquire(ctx, 1, 1000, data, nil)
			r.Release(1, 1000)
		}
	})
}
