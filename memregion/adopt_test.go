package memregion_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/memregion"
)

// lentOnce makes a region with three extents, closes the lender, and returns what was live.
func lentOnce(t testing.TB, spec memregion.Spec) []memregion.Owned {
	l, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{GrowthStep: mebibyte})
	require.NoError(t, err)
	for seed, owner := range []string{"a", "b", "c"} {
		r, err := l.Allocate(owner, 2*mebibyte)
		require.NoError(t, err)
		fill(l.Bytes(r), byte(seed))
	}
	live := l.Extents()
	finish(t, l)
	return live
}

func TestAdoptKeepsTheLivingAndPunchesTheRest(t *testing.T) {
	spec := fileSpec(t, 16*mebibyte)
	live := lentOnce(t, spec)
	kept := []memregion.Owned{live[2], live[0]} // in any order
	l, err := memregion.Adopt(context.Background(), spec, kept, memregion.LendOptions{GrowthStep: mebibyte})
	require.NoError(t, err)
	defer finish(t, l)
	requireFilled(t, l.Bytes(live[0].Range), 0)
	requireFilled(t, l.Bytes(live[2].Range), 2)
	stats := l.Stats()
	require.EqualValues(t, 4*mebibyte, stats.Used)
	require.EqualValues(t, 4*mebibyte, stats.Backed)
	require.Less(t, stats.FileAllocated, int64(5*mebibyte), "the middle is punched")
	require.Equal(t, map[string]int64{"a": 2 * mebibyte, "c": 2 * mebibyte}, stats.Owners)
	hole, err := l.Allocate("d", 2*mebibyte)
	require.NoError(t, err)
	require.Equal(t, live[1].Range, hole)
	fill(l.Bytes(hole), 8)
	requireFilled(t, l.Bytes(live[2].Range), 2)
}

func TestAdoptRefuses(t *testing.T) {
	spec := fileSpec(t, 16*mebibyte)
	live := lentOnce(t, spec)
	adopt := func(spec memregion.Spec, live ...memregion.Owned) error {
		l, err := memregion.Adopt(context.Background(), spec, live, memregion.LendOptions{})
		if err == nil {
			finish(t, l)
		}
		return err
	}
	before, err := os.ReadFile(spec.Path)
	require.NoError(t, err)

	require.ErrorIs(t, adopt(spec, live[0], live[0]), memregion.ErrOverlap)
	require.ErrorContains(t, adopt(spec, live[0], live[0]), `of "a"`)
	outside := memregion.Owned{Owner: "x", Range: memregion.Range{Offset: 15 * mebibyte, Length: 2 * mebibyte}}
	require.ErrorIs(t, adopt(spec, outside), memregion.ErrOutOfRange)
	short := memregion.Owned{Owner: "x", Range: memregion.Range{Offset: 12 * mebibyte, Length: 2 * mebibyte}}
	err = adopt(spec, live[0], short)
	require.ErrorIs(t, err, memregion.ErrRegionShort)
	require.ErrorContains(t, err, short.Range.String()+` of "x"`)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = memregion.Adopt(cancelled, spec, nil, memregion.LendOptions{})
	require.ErrorIs(t, err, context.Canceled)
	neighbour := spec
	neighbour.Path += ".neighbour"
	l, err := memregion.Lend(context.Background(), neighbour, memregion.LendOptions{})
	require.NoError(t, err)
	require.ErrorIs(t, adopt(spec), memregion.ErrAddressTaken)
	require.NoError(t, l.Remove())

	after, err := os.ReadFile(spec.Path)
	require.NoError(t, err)
	require.True(t, string(before) == string(after), "M6: refused, and nothing punched")
	require.NoError(t, adopt(spec, live...), "nothing keeps the lock")

	require.NoError(t, os.Truncate(spec.Path, 3*mebibyte))
	err = adopt(spec, live...)
	require.ErrorIs(t, err, memregion.ErrRegionShort)
	require.ErrorContains(t, err, live[1].Range.String()+` of "b"`)
	require.NoError(t, os.Remove(spec.Path))
	require.ErrorIs(t, adopt(spec), memregion.ErrRegionGone)
	require.NoError(t, os.Mkdir(spec.Path, 0o700))
	require.Error(t, adopt(spec))
}

func TestAdoptAfterReboot(t *testing.T) {
	spec := shmSpec(t, 16*mebibyte)
	lentOnce(t, spec)
	spec.BootID = "another boot"
	_, err := memregion.Adopt(context.Background(), spec, nil, memregion.LendOptions{})
	require.ErrorIs(t, err, memregion.ErrRegionGone)
	_, err = memregion.Borrow(spec)
	require.ErrorIs(t, err, memregion.ErrRegionGone)
}

// TestAdoptReservesAgain attacks M5: a live extent was punched while no lender was there.
func TestAdoptReservesAgain(t *testing.T) {
	spec := fileSpec(t, 16*mebibyte)
	live := lentOnce(t, spec)
	require.NoError(t, os.Truncate(spec.Path, 0))
	require.NoError(t, os.Truncate(spec.Path, 6*mebibyte))
	l, err := memregion.Adopt(context.Background(), spec, live, memregion.LendOptions{})
	require.NoError(t, err, "content is for the checksums to judge")
	defer finish(t, l)
	require.GreaterOrEqual(t, l.Stats().FileAllocated, int64(6*mebibyte))
}

// TestAdoptLargeFile: bytes past the capacity are given back, too.
func TestAdoptLargeFile(t *testing.T) {
	spec := fileSpec(t, 16*mebibyte)
	live := lentOnce(t, spec)
	require.NoError(t, os.WriteFile(spec.Path, make([]byte, 20*mebibyte), 0o600))
	l, err := memregion.Adopt(context.Background(), spec, live[1:2], memregion.LendOptions{})
	require.NoError(t, err)
	defer finish(t, l)
	require.Less(t, l.Stats().FileAllocated, int64(3*mebibyte))
}

// BenchmarkAdopt1GB is the time from a dead lender to a usable region: 1 GB in 1000 extents with gaps, every page present. Target 100 ms.
func BenchmarkAdopt1GB(b *testing.B) {
	spec := shmSpec(b, 4<<30)
	l, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{})
	require.NoError(b, err)
	var live []memregion.Owned
	for range 1000 {
		r := allocate(b, l, mebibyte)
		gap := allocate(b, l, page)
		clear(l.Bytes(r))
		clear(l.Bytes(gap))
		live = append(live, memregion.Owned{Owner: "t", Range: r})
	}
	require.NoError(b, l.Close())
	var took time.Duration
	for b.Loop() {
		start := time.Now()
		l, err := memregion.Adopt(context.Background(), spec, live, memregion.LendOptions{})
		took += time.Since(start)
		require.NoError(b, err)
		require.NoError(b, l.Close())
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(b.N), "adopt-ms")
}
