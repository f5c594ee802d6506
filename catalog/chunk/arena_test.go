package chunk_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/memregion"
)

// The arena against a naive twin: every allocation keeps its bytes through whatever happens to the others.
func TestArenaModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := lender(rt, 8<<20)
		dirty(rt, l, 256<<10)
		w := chunk.NewWriter(l, "t", 8192)
		mem := w.Allocator()
		type allocation struct{ real, want []byte }
		var live []allocation
		fill := byte(1)
		paint := func(a *allocation, from int) {
			for i := from; i < len(a.real); i++ {
				require.Zero(rt, a.real[i], "fresh memory is zero")
				a.real[i] = fill
				a.want = append(a.want, fill)
			}
			fill++
		}
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			switch op := rapid.IntRange(0, 3).Draw(rt, "op"); {
			case op == 0 || len(live) == 0:
				a := allocation{real: mem.Allocate(rapid.IntRange(0, 9000).Draw(rt, "size"))}
				paint(&a, 0)
				live = append(live, a)
			case op == 1:
				i := rapid.IntRange(0, len(live)-1).Draw(rt, "which")
				mem.Free(live[i].real)
				live = append(live[:i], live[i+1:]...)
			default:
				a := &live[rapid.IntRange(0, len(live)-1).Draw(rt, "which")]
				size := rapid.IntRange(0, 9000).Draw(rt, "size")
				kept := min(size, len(a.real))
				a.real = mem.Reallocate(size, a.real)
				a.want = a.want[:kept]
				for i := kept; i < len(a.real); i++ {
					a.real[i] = 0 // a shrunk and regrown tail may still be there; Arrow does not rely on it
				}
				paint(a, kept)
			}
			for _, a := range live {
				require.True(rt, bytes.Equal(a.real, a.want))
			}
		}
		require.NoError(rt, w.Err())
		require.NoError(rt, w.Abort())
		require.Zero(rt, l.Memory.Live())
	})
}

func TestArenaReallocatesTheLastInPlace(t *testing.T) {
	l := lender(t, 8<<20)
	w := chunk.NewWriter(l, "t", 1<<20)
	mem := w.Allocator()
	mem.Allocate(100)
	last := mem.Allocate(1000)
	grown := mem.Reallocate(500_000, last)
	require.Same(t, &last[0], &grown[0])
	require.Equal(t, int64(1<<20), l.Memory.Live())
	require.Zero(t, int64(cap(grown))%memregion.LineSize)
	require.NoError(t, w.Abort())
}
