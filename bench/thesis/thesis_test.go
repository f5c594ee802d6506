package thesis

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/coherence"
	"github.com/csmsql/csmsql/internal/shmdir"
)

// The formulas agree with adding up, at the ends of periods, too.
func TestTotals(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 4, 5, 255, 256, 257, 511, 1000, 65535, 65536, 65537, 70001} {
		for _, bits := range []int{8, 16, 32, 64} {
			for _, threads := range []int{1, 3} {
				b := make([]byte, 8*n)
				storeAll(b, bits, n, threads)
				var want uint64
				for i := range uint64(n) {
					want += i & (1<<bits - 1)
				}
				require.Equal(t, want, expectedTotal(uint64(n), bits), "%d of %d bits", n, bits)
				require.Equal(t, want, totalAll(b, bits, n, threads), "%d of %d bits, %d threads", n, bits, threads)
			}
		}
	}
}

// Every element is accessed once, whatever the stride and however many threads there are.
func TestStridesVisitEachElementOnce(t *testing.T) {
	for _, n := range []int{1, 2, 100, 4096, 5001} {
		for stride := 1; stride <= 4096; stride *= 2 {
			for _, threads := range []int{1, 2, 5} {
				b := make([]uint64, n)
				storeStrided(b, stride, threads)
				for i, v := range b {
					require.Equal(t, uint64(i), v, "%d elements, stride %d, %d threads", n, stride, threads)
				}
				require.Equal(t, expectedTotal(uint64(n), 64), totalStrided(b, stride, threads))
				for i := range b { // one that were counted twice and one not at all would make the same sum
					b[i] = 1 << (i % 50)
				}
				require.Equal(t, totalStrided(b, 1, 1), totalStrided(b, stride, threads))
			}
		}
	}
}

// What is published adds up to what the thesis says it does.
func TestPublished(t *testing.T) {
	require.InDelta(t, 300.44, Published.CreateRemote.Total().Seconds()*1000, 0.01)
	require.InDelta(t, 68.26, Published.CreateLocal.Total().Seconds()*1000, 0.01)
	require.InDelta(t, 0.67, Published.CreateRemote.Overhead(), 0.005)
	require.Len(t, PublishedTransfers.Full, 20)
	require.Len(t, PublishedTransfers.Descriptor, 20)
	require.Len(t, publishedWidths, 12)
	require.Len(t, publishedStrides, 4)
}

// world is a small one, whose other process is this one: the same steps over the same socket.
func world(t *testing.T, change func(*Setting)) *World {
	if _, err := coherence.NewCPULines(); err != nil {
		t.Skip(err)
	}
	remote, local := shmdir.For(t), shmdir.For(t)
	s := Setting{Bytes: 3<<20 + 4096, AccessBytes: 1 << 20, Runs: 2, Threads: []int{1, 3}, Directory: local}
	s.Send = func(b []byte) (int64, error) {
		d, err := descriptor.Decode(b)
		if err != nil {
			return 0, err
		}
		return d.Rows, nil
	}
	if change != nil {
		change(&s)
	}
	var cleaned func() Cleaned
	s.Cleaned = func() (Cleaned, error) { return cleaned(), nil }
	ctx, stop := context.WithCancel(context.Background())
	served, ready := make(chan error, 1), make(chan Lent, 1)
	go func() {
		served <- Serve(ctx, remote, Capacity(max(s.Bytes, s.AccessBytes)), func(l Lent, ask func() Cleaned) error { cleaned = ask; ready <- l; return nil })
	}()
	var lent Lent
	select {
	case lent = <-ready:
	case err := <-served:
		t.Fatal(err)
	}
	w, err := Open(t.Context(), s, lent)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.Zero(t, w.local.memory.Stats().Used, "extents were not given back")
		require.NoError(t, w.Close())
		stop()
		require.NoError(t, <-served)
		for _, directory := range []string{remote, local} {
			left, err := os.ReadDir(directory)
			require.NoError(t, err)
			for _, f := range left {
				require.Contains(t, f.Name(), ".lock", "%s was left behind", f.Name())
			}
			require.NoError(t, os.RemoveAll(directory))
		}
	})
	return w
}

// Everything is measured as often as it is to be, in both places.
func TestMeasuring(t *testing.T) {
	w := world(t, nil)
	flushed, err := w.Flush(t.Context())
	require.NoError(t, err)
	require.Len(t, flushed, 2)
	for i, place := range []string{"local", "remote"} {
		require.Equal(t, place, flushed[i].Place)
		require.Len(t, flushed[i].Empty, 2)
		require.Len(t, flushed[i].Touched, 2)
		require.Equal(t, (3<<20+4096)/w.lines.LineSize(), flushed[i].Lines)
	}
	described, err := w.Descriptor(t.Context())
	require.NoError(t, err)
	require.Len(t, described.Serialize, 40)
	require.Len(t, described.Deserialize, 40)
	require.Len(t, described.Known, 40)
	allocated, err := w.Allocate(t.Context())
	require.NoError(t, err)
	require.Len(t, allocated.Local, 2*allocations)
	require.Len(t, allocated.Remote, 2*allocations)
	widths, err := w.Widths(t.Context())
	require.NoError(t, err)
	require.Len(t, widths, 2*2*4*2)
	for _, p := range widths {
		require.Equal(t, p.Threads == 1, p.Published > 0, "theirs are of 1, 4 and 48 threads")
		require.Equal(t, int64(1<<20*p.Bits/64), p.Bytes)
	}
	strides, err := w.Strides(t.Context())
	require.NoError(t, err)
	require.Len(t, strides, 12*2*2)
	for _, p := range strides {
		require.Positive(t, p.Published)
		require.Len(t, p.Times, 1)
	}
}

// The table is created in every way, and what is compared with what is of the same runs.
func TestCreating(t *testing.T) {
	w := world(t, nil)
	c, err := w.Create(t.Context())
	require.NoError(t, err)
	paths := len(copiers(w.lines))
	require.Len(t, c.Cases, 2+2*paths+3)
	require.Len(t, c.Ahead, 2)
	for _, a := range c.Ahead {
		require.Positive(t, a.Worked)
		require.Positive(t, a.Done)
	}
	for i, one := range c.Cases {
		require.Len(t, c.Parts[i], 2, "%v", one)
		for _, p := range c.Parts[i] {
			require.Positive(t, p.Write, "%v", one)
			require.Positive(t, p.Serialize, "%v", one)
		}
	}
	require.Len(t, c.Chosen, 2)
	for _, remote := range []bool{false, true} {
		require.Contains(t, c.Cases, Case{Remote: remote, Class: coherence.Incoherent, Path: c.Chosen[remote]})
	}
	one := Case{Remote: true, Class: coherence.Incoherent, Path: coherence.OnePass}
	c.Parts[0] = []Parts{{Write: 100}, {Write: 200}, {Write: 300}} // the write itself, of three runs
	require.Equal(t, Case{Remote: true}, c.Cases[0])
	for i := range c.Cases {
		if c.Cases[i] == one {
			c.Parts[i] = []Parts{{Write: 110, Allocate: 10}, {Write: 250, Flush: 50, Checksum: 1000, Map: 1000}, {Write: 300}}
		}
	}
	require.InDelta(t, 0.2, c.Overhead(one), 1e-9, "the median of 20, 50 and 0 %%; checksum and mapping do not count")
}

// TH1: a wrong byte, sum, place or descriptor is an error, and nothing else comes back.
func TestAWrongAnswerIsAnError(t *testing.T) {
	w := world(t, func(s *Setting) { s.InjectFault, s.Runs = true, 1 })
	for what, measure := range map[string]func() error{
		"flush":      func() error { _, err := w.Flush(t.Context()); return err },
		"allocate":   func() error { _, err := w.Allocate(t.Context()); return err },
		"descriptor": func() error { _, err := w.Descriptor(t.Context()); return err },
		"create":     func() error { _, err := w.Create(t.Context()); return err },
		"widths":     func() error { _, err := w.Widths(t.Context()); return err },
		"strides":    func() error { _, err := w.Strides(t.Context()); return err },
	} {
		require.Error(t, measure(), what)
	}
}

// Settings that cannot be measured are refused.
func TestSettings(t *testing.T) {
	for _, s := range []Setting{{}, {Bytes: 1, Runs: 1}, {Bytes: 4096, AccessBytes: 100, Runs: 1}, {Bytes: 4096}} {
		_, err := Open(t.Context(), s, Lent{})
		require.Error(t, err, fmt.Sprint(s.Bytes, s.AccessBytes, s.Runs))
	}
}
