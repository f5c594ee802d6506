package chunk_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/memregion"
)

// The arena against a naive twin: every allocation keeps its bytes through whatever happens to the others.
func TestArenaModel(t *testing.T) {
	t.Run("that stays", func(t *testing.T) { arenaModel(t, func(l *lendertest.Lender) chunk.Space { return l }) })
	t.Run("that moves", func(t *testing.T) { arenaModel(t, func(l *lendertest.Lender) chunk.Space { return &moving{Space: l} }) })
}

func arenaModel(t *testing.T, space func(*lendertest.Lender) chunk.Space) {
	rapid.Check(t, func(rt *rapid.T) {
		l := lender(rt, 8<<20)
		dirty(rt, l, 256<<10)
		w := chunk.NewWriter(space(l), "t", 8192)
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

// moving is a Space whose lender moves extents.
type moving struct {
	chunk.Space
	moves, refuse int
}

type movingGrant struct {
	chunk.Grant
	space *moving
}

func (m *moving) Grant(owner string, size int64) (chunk.Grant, error) {
	g, err := m.Space.Grant(owner, size)
	return &movingGrant{g, m}, err
}

func (g *movingGrant) Grow(length, used int64) error {
	if g.space.refuse > 0 {
		g.space.refuse--
		return lendertest.ErrFull
	}
	longer, err := g.space.Space.Grant("t", length)
	if err != nil {
		return err
	}
	g.space.moves++
	copy(longer.Bytes()[:used], g.Bytes())
	old := g.Grant
	g.Grant = longer
	return old.Abort()
}

// The only allocation of a piece grows where its lender copies; one of several would pull the others along.
func TestArenaHasTheLenderCopy(t *testing.T) {
	l := lender(t, 8<<20)
	m := &moving{Space: l}
	w := chunk.NewWriter(m, "t", 4096)
	mem := w.Allocator()
	b := mem.Allocate(4096)
	b[0], b[4095] = 1, 2
	b = mem.Reallocate(100_000, b)
	require.Equal(t, 1, m.moves)
	require.Equal(t, []byte{1, 2, 0}, []byte{b[0], b[4095], b[99_999]})
	require.EqualValues(t, 102_400, l.Memory.Live(), "the old extent went back")

	other := mem.Allocate(2000)
	b = mem.Reallocate(200_000, b)
	require.Equal(t, 1, m.moves, "another allocation lives in the piece")
	require.Equal(t, byte(2), b[4095])
	mem.Free(other)

	m.refuse = 1
	b = mem.Reallocate(3_000_000, b)
	require.Equal(t, 1, m.moves, "a lender that refuses is no error: a new piece takes it")
	require.NoError(t, w.Err())
	require.Equal(t, byte(2), b[4095])
	require.NoError(t, w.Abort())
	require.Zero(t, l.Memory.Live())
}
