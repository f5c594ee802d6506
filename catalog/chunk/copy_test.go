package chunk_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/descriptor"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/coherence"
)

// TestCopyFlushesEveryByte: a copy to memory that is not coherent has the same bytes, by whatever path, and every line of it was
// written back and dropped when it is sealed. A source that is not what was sealed is refused, and nothing is held.
func TestCopyFlushesEveryByte(t *testing.T) {
	lines, err := coherence.NewCPULines()
	if errors.Is(err, coherence.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	from := lender(t, 8<<20)
	w := chunk.NewWriter(from, "public.t", 4<<20)
	c, err := w.Seal(t.Context(), threeColumns(w.Allocator(), 90_001), chunk.SealOptions{})
	require.NoError(t, err)
	source := func(x *descriptor.Extent) ([]byte, error) { return from.Resolve(x.Region, x.Range) }

	memory, counters := lendertest.NewMemory(8<<20), &coherence.Counters{}
	chooser := coherence.NewChooser(lines, time.Now)
	home, err := coherence.NewHome(coherence.HomeConfig{
		Region: 2, Memory: memory, Lines: lines, Domain: "other", Class: coherence.Incoherent, Counters: counters, Chooser: chooser,
	})
	require.NoError(t, err)
	target := chunk.Home{Home: home}
	made, err := chunk.Copy(target, c.Descriptor(), source)
	require.NoError(t, err)
	var total int64
	for i, x := range made {
		want, err := source(&c.Descriptor().Extents[i])
		require.NoError(t, err)
		require.Equal(t, want[:x.Seal.Length], memory.Bytes(x.Range)[:x.Seal.Length])
		total += x.Range.Length
	}
	require.Greater(t, total, int64(1<<20))
	require.NotEmpty(t, chooser.Times(), "it was long enough to measure in")
	require.GreaterOrEqual(t, counters.FlushedBytes.Load(), uint64(total))
	t.Log(chooser.Times())

	live := memory.Live()
	_, err = chunk.Copy(target, c.Descriptor(), func(x *descriptor.Extent) ([]byte, error) {
		data, err := source(x)
		altered := append([]byte(nil), data...)
		altered[x.Seal.Length/2]++
		return altered, err
	})
	require.ErrorIs(t, err, coherence.ErrChecksum)
	require.Equal(t, live, memory.Live())
}
