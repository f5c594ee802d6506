package account_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/account"
)

// What arrays take is charged while they live, whatever becomes of them, and given back to the byte (A6).
func TestAllocatorCharges(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		node := account.NewNode(64 << 20)
		session := node.Open(1, "u")
		mem := session.Allocator(account.Computed)
		var arrays [][]byte
		live := func() (bytes int64) {
			for _, a := range arrays {
				bytes += int64(cap(a))
			}
			return bytes
		}
		for range 200 {
			switch n := rng.IntN(1 << rng.IntN(18)); {
			case len(arrays) == 0 || rng.IntN(3) == 0:
				arrays = append(arrays, mem.Allocate(n))
			case rng.IntN(3) == 0:
				a, err := mem.Try(n)
				require.NoError(t, err)
				require.Len(t, a, n)
				arrays = append(arrays, a)
			case rng.IntN(2) == 0:
				i := rng.IntN(len(arrays))
				arrays[i] = mem.Reallocate(n, arrays[i])
			default:
				i := rng.IntN(len(arrays))
				mem.Free(arrays[i])
				arrays = append(arrays[:i], arrays[i+1:]...)
			}
			require.GreaterOrEqual(t, session.Used(), live())
			require.LessOrEqual(t, session.Used(), live()+48<<10)
		}
		require.NoError(t, mem.Refused())
		for _, a := range arrays {
			mem.Free(a)
		}
		require.Zero(t, session.Used())
	}
}

// What the session may not have is refused before it is made where that can be said, and noted where it cannot; what is
// charged stays right.
func TestAllocatorRefuses(t *testing.T) {
	node := account.NewNode(4 << 20)
	session := node.Open(1, "u")
	session.SetShare(1 << 20)
	mem := session.Allocator(account.Computed)
	_, err := mem.Try(2 << 20)
	require.Equal(t, "54000", state(t, err))
	require.Equal(t, "54000", state(t, mem.Fits(2<<20)))
	require.NoError(t, mem.Refused(), "nothing was made")
	require.NoError(t, mem.Fits(1<<19))
	require.Zero(t, session.Used())

	first, err := mem.Try(3 << 18)
	require.NoError(t, err)
	second := mem.Allocate(1 << 19)
	require.Len(t, second, 1<<19)
	require.Equal(t, "53200", state(t, mem.Refused()))
	_, err = mem.Try(1)
	require.Equal(t, "53200", state(t, err), "it stays refused")
	require.Error(t, mem.Fits(0))
	require.LessOrEqual(t, session.Used(), int64(1<<20))
	mem.Free(second)
	mem.Free(first)
	require.Zero(t, session.Used())

	last := session.Allocator(account.Computed)
	kept := last.Allocate(1000)
	session.Close()
	last.Free(kept) // of a batch that outlives its session
	require.Zero(t, node.Usage().Used)
}
