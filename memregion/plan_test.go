package memregion_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/memregion"
)

const (
	windowStart = memregion.Addr(0x1000_0000_0000)
	quietStart  = memregion.Addr(0x4000_0000_0000)
	windowEnd   = memregion.Addr(0x5000_0000_0000)
)

func TestChooseBase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		taken := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) memregion.Placement {
			return memregion.Placement{
				Base:   windowStart + memregion.Addr(rapid.Int64Range(-10, 70000).Draw(t, "granule")*memregion.Granule),
				Length: rapid.Int64Range(1, 20000).Draw(t, "length") * memregion.Granule,
			}
		}), 0, 6).Draw(t, "taken")
		capacity := rapid.Int64Range(1, 4000*memregion.Granule).Draw(t, "capacity")
		seed := rapid.String().Draw(t, "seed")
		base, err := memregion.ChooseBase(taken, capacity, seed)
		if err != nil {
			require.ErrorIs(t, err, memregion.ErrNoAddress)
			require.NotEmpty(t, taken, "an empty plan has room")
			return
		}
		again, err := memregion.ChooseBase(taken, capacity, seed)
		require.NoError(t, err)
		require.Equal(t, base, again, "deterministic")
		require.Zero(t, base%memregion.Granule)
		require.GreaterOrEqual(t, base, windowStart)
		require.LessOrEqual(t, base+memregion.Addr(capacity), windowEnd)
		for _, p := range taken {
			require.False(t, base < p.Base+memregion.Addr(p.Length) && p.Base < base+memregion.Addr(capacity), "%#x overlaps %+v", base, p)
		}
	})
}

func TestChooseBaseFillsTheQuietPartFirst(t *testing.T) {
	const capacity = 2000 * memregion.Granule
	var taken []memregion.Placement
	for i := range 5 {
		base, err := memregion.ChooseBase(taken, capacity, fmt.Sprint("node ", i))
		require.NoError(t, err)
		require.GreaterOrEqual(t, base, quietStart)
		taken = append(taken, memregion.Placement{Base: base, Length: capacity})
	}
	taken = append(taken, memregion.Placement{Base: quietStart, Length: int64(windowEnd - quietStart)})
	base, err := memregion.ChooseBase(taken, capacity, "late node")
	require.NoError(t, err)
	require.Less(t, base, quietStart)
	taken = append(taken, memregion.Placement{Base: windowStart, Length: int64(windowEnd - windowStart)})
	_, err = memregion.ChooseBase(taken, capacity, "too late")
	require.ErrorIs(t, err, memregion.ErrNoAddress)
	for _, bad := range []int64{0, -1, int64(windowEnd-windowStart) + 1} {
		_, err = memregion.ChooseBase(nil, bad, "")
		require.ErrorIs(t, err, memregion.ErrBadSize)
	}
}

// TestChooseBaseAvoidsOwnMaps: what this process has mapped counts as taken.
func TestChooseBaseAvoidsOwnMaps(t *testing.T) {
	spec := fileSpec(t, 4*mebibyte)
	lend(t, spec, memregion.LendOptions{})
	base, err := memregion.ChooseBase(nil, spec.Capacity, t.Name())
	require.NoError(t, err)
	require.NotEqual(t, spec.Base, base)
}

func TestParseMaps(t *testing.T) {
	placements, names := memregion.ParseMaps(strings.Join([]string{
		"00400000-004ab000 r-xp 00000000 fe:00 99 /a path/with spaces", "1000-2000 rw-p 00000000 00:00 0 ", "", "zz-1 a b c d", "3000-2000 r 0 0 0", "5",
	}, "\n"))
	require.Equal(t, []memregion.Placement{{Base: 0x400000, Length: 0xab000}, {Base: 0x1000, Length: 0x1000}}, placements)
	require.Equal(t, []string{"/a path/with spaces", "anonymous memory"}, names)
}

func TestCapacity(t *testing.T) {
	directory := t.TempDir()
	capacity, err := memregion.DefaultCapacity(directory)
	require.NoError(t, err)
	require.Positive(t, capacity)
	require.Zero(t, capacity%mebibyte)
	require.NoError(t, memregion.CheckCapacity(directory, capacity))
	_, err = memregion.DefaultCapacity(directory + "/missing")
	require.ErrorIs(t, err, os.ErrNotExist)

	err = memregion.CheckCapacity(directory, 1<<60)
	require.ErrorIs(t, err, memregion.ErrRegionTooLarge)
	require.ErrorContains(t, err, "it would have 1024 PiB, and "+directory)
	require.ErrorContains(t, err, "pass --region")
}

func TestBootID(t *testing.T) {
	boot, err := memregion.BootID()
	require.NoError(t, err)
	require.Len(t, boot, 36)
}
