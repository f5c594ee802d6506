package memregion_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/memregion"
)

func borrow(t testing.TB, spec memregion.Spec) *memregion.View {
	t.Helper()
	v, err := memregion.Borrow(spec)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, v.Close()) })
	return v
}

func TestBorrowAtThePlannedAddress(t *testing.T) {
	spec := fileSpec(t, 16*mebibyte)
	live := lentOnce(t, spec)
	v := borrow(t, spec)
	require.False(t, v.Relocated())
	require.Equal(t, spec.Base, v.Base())
	require.Equal(t, spec, v.Spec())
	address, length := v.Mapping()
	require.Equal(t, spec.Base, address)
	require.Equal(t, spec.Capacity, length)

	other := borrow(t, spec) // the address is taken now
	require.True(t, other.Relocated())
	for seed, o := range live {
		for _, view := range []*memregion.View{v, other} {
			memory, err := view.Bytes(o.Range)
			require.NoError(t, err)
			requireFilled(t, memory, byte(seed))
			require.Error(t, storeFault(memory), "M8: borrowers cannot write")
			require.Equal(t, len(memory), cap(memory))
		}
	}
}

func TestViewChecksRanges(t *testing.T) {
	spec := fileSpec(t, 16*mebibyte)
	lentOnce(t, spec) // 6 MiB are backed
	v := borrow(t, spec)
	for _, r := range []memregion.Range{
		{Offset: -1, Length: 1},
		{Offset: 0, Length: -1},
		{Offset: 16 * mebibyte, Length: 1},
		{Offset: 1, Length: 16 * mebibyte},
		{Offset: 1<<63 - 1, Length: 1<<63 - 1},
		{Offset: -1 << 63, Length: -1 << 63},
	} {
		_, err := v.Bytes(r)
		require.ErrorIs(t, err, memregion.ErrOutOfRange, "%v", r)
		require.ErrorIs(t, v.Check(r), memregion.ErrOutOfRange, "%v", r)
	}
	beyond := memregion.Range{Offset: 6*mebibyte - 1, Length: 2}
	_, err := v.Bytes(beyond)
	require.ErrorIs(t, err, memregion.ErrRegionShort)
	empty, err := v.Bytes(memregion.Range{Offset: 16 * mebibyte})
	require.ErrorIs(t, err, memregion.ErrRegionShort)
	require.Empty(t, empty)
}

// TestBorrowerSeesGrowth: what the lender backs later needs no new map.
func TestBorrowerSeesGrowth(t *testing.T) {
	spec := fileSpec(t, 64*mebibyte)
	l := lend(t, spec, memregion.LendOptions{GrowthStep: page})
	v := borrow(t, spec)
	for seed := range byte(20) {
		r := allocate(t, l, mebibyte)
		fill(l.Bytes(r), seed)
		memory, err := v.Bytes(r)
		require.NoError(t, err)
		requireFilled(t, memory, seed)
	}
}

func TestTruncatedRegionIsAnError(t *testing.T) {
	for name, plan := range map[string]func(testing.TB, int64) memregion.Spec{"file": fileSpec, "shm": shmSpec} {
		t.Run(name, func(t *testing.T) {
			spec := plan(t, 16*mebibyte)
			l, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{GrowthStep: mebibyte})
			require.NoError(t, err)
			r := allocate(t, l, 6*mebibyte)
			v := borrow(t, spec)
			memory, err := v.Bytes(r)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(spec.Path, mebibyte))

			require.ErrorIs(t, v.Check(r), memregion.ErrRegionShort)
			_, err = v.Bytes(r)
			require.ErrorIs(t, err, memregion.ErrRegionShort, "Bytes knows what Check found")
			require.NoError(t, v.Check(memregion.Range{Length: mebibyte}))
			sum := byte(0)
			err = memregion.Guarded(func() {
				for _, b := range memory {
					sum += b
				}
			})
			require.ErrorIs(t, err, memregion.ErrRegionGone)
			require.ErrorContains(t, err, "truncated to 1048576 bytes")
			require.ErrorContains(t, err, "offset 1048576 of "+spec.Path)
			err = memregion.Guarded(func() { copy(make([]byte, len(memory)), memory) })
			require.ErrorIs(t, err, memregion.ErrRegionGone, "a fault inside memmove")

			_, err = l.Allocate("t", page)
			require.ErrorIs(t, err, memregion.ErrRegionShort, "the lender finds out before it hands out memory")
			require.NoError(t, l.Free("t", r))

			require.NoError(t, os.Truncate(spec.Path, 0))
			require.ErrorIs(t, v.Check(r), memregion.ErrRegionGone)
			require.NoError(t, l.Remove())
			require.NoFileExists(t, spec.Path)
			require.ErrorIs(t, v.Check(r), memregion.ErrRegionGone)
			_, err = memregion.Borrow(spec)
			require.ErrorIs(t, err, memregion.ErrRegionGone)
		})
	}
}

func TestRemovedRegion(t *testing.T) {
	spec := fileSpec(t, 16*mebibyte)
	l, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{})
	require.NoError(t, err)
	r := allocate(t, l, page)
	fill(l.Bytes(r), 2)
	v := borrow(t, spec)
	memory, err := v.Bytes(r)
	require.NoError(t, err)
	require.NoError(t, os.Remove(spec.Path))
	_, err = l.Allocate("t", page)
	require.ErrorIs(t, err, memregion.ErrRegionGone)
	require.NoError(t, l.Remove())
	err = v.Check(r)
	require.ErrorIs(t, err, memregion.ErrRegionGone)
	require.ErrorContains(t, err, "was removed")
	requireFilled(t, memory, 2) // a running scan ends in peace
}

// TestGuardedLetsBugsThrough attacks M9.
func TestGuardedLetsBugsThrough(t *testing.T) {
	require.NoError(t, memregion.Guarded(func() {}))
	require.PanicsWithValue(t, "mine", func() { _ = memregion.Guarded(func() { panic("mine") }) })
	var nothing *[1 << 20]byte
	require.Panics(t, func() { _ = memregion.Guarded(func() { nothing[5000]++ }) })
	foreign, err := unix.Mmap(-1, 0, page, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(foreign)) }()
	require.Panics(t, func() { _ = memregion.Guarded(func() { _ = copy(make([]byte, page), foreign) }) }, "a fault, but not on a region")
	var list []int
	require.Panics(t, func() { _ = memregion.Guarded(func() { _ = list[len(os.Args)+3] }) })
}

func TestSymbolicLinkIsRefused(t *testing.T) {
	spec := fileSpec(t, 16*mebibyte)
	lentOnce(t, spec)
	link := spec
	link.Path = strings.TrimSuffix(spec.Path, "region") + "link"
	require.NoError(t, os.Symlink(spec.Path, link.Path))
	_, err := memregion.Borrow(link)
	require.Error(t, err)
	_, err = memregion.Lend(context.Background(), link, memregion.LendOptions{})
	require.ErrorIs(t, err, memregion.ErrExists)
}

// TestPlantedFileIsRefused: a file of another user at the region's path is not the region.
func TestPlantedFileIsRefused(t *testing.T) {
	spec := fileSpec(t, 16*mebibyte)
	live := lentOnce(t, spec)
	if err := os.Chown(spec.Path, 12345, -1); err != nil {
		t.Skipf("needs the right to give a file to another user: %v", err)
	}
	_, err := memregion.Adopt(context.Background(), spec, live, memregion.LendOptions{})
	require.ErrorIs(t, err, memregion.ErrRegionGone)
	require.ErrorContains(t, err, "belongs to user 12345")
}

func BenchmarkViewBytes(b *testing.B) {
	spec := fileSpec(b, 16*mebibyte)
	live := lentOnce(b, spec)
	v := borrow(b, spec)
	b.Run("Bytes", func(b *testing.B) {
		for b.Loop() {
			if _, err := v.Bytes(live[0].Range); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Check", func(b *testing.B) {
		for b.Loop() {
			if err := v.Check(live[0].Range); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// TestRemap: a page of zeros that a guard has put in the place of one that was gone goes away again, and protection stays as it is.
func TestRemap(t *testing.T) {
	spec := shmSpec(t, 16*mebibyte)
	l := lend(t, spec, memregion.LendOptions{GrowthStep: mebibyte})
	r, other := allocate(t, l, mebibyte), allocate(t, l, mebibyte)
	for seed, x := range []memregion.Range{r, other} {
		fill(l.Bytes(x), byte(seed))
	}
	half := memregion.Range{Offset: r.Offset, Length: mebibyte / 2}
	require.NoError(t, l.Protect(half))
	v := borrow(t, spec)
	for _, view := range []*memregion.View{l.View(), v} {
		memory, err := view.Bytes(r)
		require.NoError(t, err)
		for _, at := range []int{0, mebibyte/2 - page, mebibyte / 2, mebibyte - page} {
			putZeros(t, memory[at:at+page])
			require.Zero(t, memory[at+61])
		}
		require.NoError(t, view.Remap(r))
		requireFilled(t, memory, 0)
		require.ErrorIs(t, view.Remap(memregion.Range{Length: spec.Capacity + page}), memregion.ErrOutOfRange)
		require.ErrorIs(t, view.Remap(memregion.Range{Offset: spec.Capacity - page, Length: page}), memregion.ErrRegionShort)
	}
	require.Error(t, storeFault(l.Bytes(half)), "still protected")
	rest := memregion.Range{Offset: half.End(), Length: mebibyte / 2}
	fill(l.Bytes(rest), 7) // and still writable
	seen, err := v.Bytes(rest)
	require.NoError(t, err)
	requireFilled(t, seen, 7)
	require.Error(t, storeFault(seen), "M8: borrowers cannot write")
	requireFilled(t, l.Bytes(other), 1)
}

// putZeros maps a private page over memory, as a guard in C does.
func putZeros(t *testing.T, memory []byte) {
	t.Helper()
	_, err := unix.MmapPtr(-1, 0, unsafe.Pointer(&memory[0]), uintptr(len(memory)), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED)
	require.NoError(t, err)
}

// TestAPipeIsNoRegion: what lies at a region's path and is no file is refused at once, not waited for.
func TestAPipeIsNoRegion(t *testing.T) {
	spec := shmSpec(t, mebibyte)
	require.NoError(t, unix.Mkfifo(spec.Path, 0o600))
	t.Cleanup(func() { require.NoError(t, os.Remove(spec.Path)) })
	opened := make(chan error, 1)
	go func() {
		_, err := memregion.Borrow(spec)
		opened <- err
	}()
	select {
	case err := <-opened:
		require.ErrorIs(t, err, memregion.ErrRegionGone)
		require.ErrorContains(t, err, "is not a regular file")
	case <-time.After(10 * time.Second):
		t.Fatal("it waits for a writer of the pipe")
	}
}
