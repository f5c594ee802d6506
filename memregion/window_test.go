package memregion_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/memregion"
)

// M8: what a borrower stores through a window is in the region, there and nowhere else.
func TestAWindowShowsItsRangeAlone(t *testing.T) {
	for name, plan := range map[string]func(testing.TB, int64) memregion.Spec{"file": fileSpec, "shm": shmSpec} {
		t.Run(name, func(t *testing.T) {
			l := lend(t, plan(t, 16*mebibyte), memregion.LendOptions{})
			before, granted, after := allocate(t, l, mebibyte), allocate(t, l, mebibyte), allocate(t, l, mebibyte)
			for seed, r := range []memregion.Range{before, granted, after} {
				fill(l.Bytes(r), byte(seed))
			}
			v := borrow(t, l.Spec())
			w, err := v.Window(granted)
			require.NoError(t, err)
			require.Equal(t, granted, w.Range())
			requireFilled(t, w.Bytes(), 1)
			require.Len(t, w.Bytes(), int(granted.Length))
			require.Equal(t, len(w.Bytes()), cap(w.Bytes()))
			require.Zero(t, uintptr(unsafe.Pointer(&w.Bytes()[0]))%memregion.PageSize)

			fill(w.Bytes(), 9)
			requireFilled(t, l.Bytes(granted), 9)
			seen, err := v.Bytes(granted)
			require.NoError(t, err)
			requireFilled(t, seen, 9)
			require.Error(t, storeFault(seen), "the View itself stays read-only")
			requireFilled(t, l.Bytes(before), 0)
			requireFilled(t, l.Bytes(after), 2)

			require.NoError(t, w.Close())
			require.Nil(t, w.Bytes())
			require.NoError(t, w.Close())
		})
	}
}

// Memory that was given back cannot be stored into any more: the pages are unmapped, so the store faults. That nothing
// else lies there by then is luck, hence only the last page is tried.
func TestAShrunkWindow(t *testing.T) {
	l := lend(t, shmSpec(t, 16*mebibyte), memregion.LendOptions{})
	v := borrow(t, l.Spec())
	r := allocate(t, l, mebibyte)
	w, err := v.Window(r)
	require.NoError(t, err)
	for _, bad := range []int64{0, -1, 1, mebibyte + memregion.PageSize, 100} {
		require.ErrorIs(t, w.Shrink(bad), memregion.ErrBadSize)
	}
	require.NoError(t, w.Shrink(mebibyte))
	require.NoError(t, w.Shrink(3*memregion.PageSize))
	require.Len(t, w.Bytes(), 3*memregion.PageSize)
	require.Equal(t, memregion.Range{Offset: r.Offset, Length: 3 * memregion.PageSize}, w.Range())
	fill(w.Bytes(), 5)
	requireFilled(t, l.Bytes(w.Range()), 5)
	windows := windowsOf(t, l.Spec().Path, "rw-s")
	require.Len(t, windows, 2, "the lender's and the window")
	require.Contains(t, []int64{mappedBytes(t, windows[0]), mappedBytes(t, windows[1])}, roundedToKernelPages(3*memregion.PageSize), "nothing else is mapped")
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Shrink(memregion.PageSize), memregion.ErrClosed)
	require.Len(t, windowsOf(t, l.Spec().Path, "rw-s"), 1)
}

// mappedBytes is the size of a map.
func mappedBytes(t *testing.T, line string) int64 {
	var from, to int64
	_, err := fmt.Sscanf(line, "%x-%x", &from, &to)
	require.NoError(t, err)
	return to - from
}

func roundedToKernelPages(n int64) int64 {
	page := int64(os.Getpagesize())
	return (n + page - 1) / page * page
}

// windowsOf lists this process' maps of a file with such rights.
func windowsOf(t *testing.T, path, rights string) (lines []string) {
	text, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range bytes.Lines(text) {
		if bytes.Contains(line, []byte(path)) && bytes.Contains(line, []byte(rights)) {
			lines = append(lines, string(line))
		}
	}
	return lines
}

func TestWindowsThatAreRefused(t *testing.T) {
	spec := fileSpec(t, 16*mebibyte)
	l := lend(t, spec, memregion.LendOptions{GrowthStep: mebibyte})
	r := allocate(t, l, mebibyte)
	v, err := memregion.Borrow(spec)
	require.NoError(t, err)
	for _, bad := range []memregion.Range{
		{Offset: -memregion.PageSize, Length: memregion.PageSize}, {Offset: 0, Length: 0}, {Offset: 0, Length: -memregion.PageSize}, {Offset: 1, Length: memregion.PageSize},
		{Offset: 0, Length: 1}, {Offset: 0, Length: 17 * mebibyte}, {Offset: 16 * mebibyte, Length: memregion.PageSize}, {Offset: 1<<63 - 4096, Length: 1<<63 - 4096},
	} {
		_, err := v.Window(bad)
		require.ErrorIs(t, err, memregion.ErrOutOfRange, "%v", bad)
	}
	_, err = v.Window(memregion.Range{Offset: 15 * mebibyte, Length: mebibyte})
	require.ErrorIs(t, err, memregion.ErrRegionShort, "a store into what is not backed would end the process")

	// Another file takes the place of the region's.
	aside := filepath.Join(filepath.Dir(spec.Path), "aside")
	require.NoError(t, os.Rename(spec.Path, aside))
	require.NoError(t, os.WriteFile(spec.Path, make([]byte, 2*mebibyte), 0o600))
	_, err = v.Window(r)
	require.ErrorIs(t, err, memregion.ErrRegionGone)
	require.NoError(t, os.Rename(aside, spec.Path))
	w, err := v.Window(r)
	require.NoError(t, err)

	require.NoError(t, v.Close())
	_, err = v.Window(r)
	require.ErrorIs(t, err, memregion.ErrClosed)
	fill(w.Bytes(), 3) // a window outlives its view
	requireFilled(t, l.Bytes(r), 3)
	require.NoError(t, w.Close())
}

// M9: a store into a window whose backing was truncated is an error inside Guarded.
func TestAFaultInAWindow(t *testing.T) {
	spec := fileSpec(t, 16*mebibyte)
	l := lend(t, spec, memregion.LendOptions{GrowthStep: mebibyte})
	allocate(t, l, mebibyte)
	r := allocate(t, l, mebibyte)
	w, err := borrow(t, spec).Window(r)
	require.NoError(t, err)
	defer w.Close() //nolint:errcheck // a test's
	require.NoError(t, os.Truncate(spec.Path, r.Offset))
	err = memregion.Guarded(func() { w.Bytes()[memregion.PageSize] = 1 })
	require.ErrorIs(t, err, memregion.ErrRegionGone)
	require.ErrorContains(t, err, "truncated")
	require.ErrorContains(t, err, "offset 1052672") // of the region, not of the window
}

// M12: windows come and go without an alarm for watches by events; the end of the borrower is one.
func TestWindowsAreNoAlterations(t *testing.T) {
	for _, kind := range []memregion.WatchKind{memregion.WatchProcess, memregion.WatchEvents} {
		t.Run(string(kind), func(t *testing.T) {
			l := lend(t, shmSpec(t, 16*mebibyte), memregion.LendOptions{})
			memregion.WatchBy(l, kind)
			if l.View().Watch() != kind {
				t.Skipf("this machine does not grant %s", kind)
			}
			r := allocate(t, l, mebibyte)
			v, err := memregion.Borrow(l.Spec())
			require.NoError(t, err)
			before := l.View().Look()
			for range 5 {
				w, err := v.Window(r)
				require.NoError(t, err)
				fill(w.Bytes(), 7)
				require.NoError(t, w.Close())
			}
			require.Equal(t, before, l.View().Look())
			require.NoError(t, v.Close())
			require.Greater(t, l.View().Look(), before, "who may have stored is looked at when it is gone")
		})
	}
}

func TestManyWindowsAtOnce(t *testing.T) {
	l := lend(t, shmSpec(t, 64*mebibyte), memregion.LendOptions{})
	v := borrow(t, l.Spec())
	var group errgroup.Group
	for seed := range byte(8) {
		group.Go(func() error {
			for range 20 {
				r, err := l.Allocate("t", 64<<10)
				if err != nil {
					return err
				}
				w, err := v.Window(r)
				if err != nil {
					return err
				}
				copy(w.Bytes(), bytes.Repeat([]byte{seed}, 64<<10))
				if err := w.Shrink(16 << 10); err != nil {
					return err
				}
				if err := w.Close(); err != nil {
					return err
				}
				if !bytes.Equal(bytes.Repeat([]byte{seed}, 64<<10), l.Bytes(r)) {
					return fmt.Errorf("%v does not hold what was stored through its window", r)
				}
				if err := l.Free("t", r); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
}

// A window is a slice of the region, whatever is asked for.
func TestWindowsAgainstASlice(t *testing.T) {
	l := lend(t, shmSpec(t, 4*mebibyte), memregion.LendOptions{})
	whole := allocate(t, l, 4*mebibyte)
	twin := make([]byte, whole.Length)
	copy(l.Bytes(whole), twin)
	v := borrow(t, l.Spec())
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(0, whole.Length/memregion.PageSize-1).Draw(t, "first")
		pages := rapid.Int64Range(1, whole.Length/memregion.PageSize-first).Draw(t, "pages")
		w, err := v.Window(memregion.Range{Offset: first * memregion.PageSize, Length: pages * memregion.PageSize})
		require.NoError(t, err)
		defer w.Close() //nolint:errcheck // a test's
		if rapid.Bool().Draw(t, "shrink") {
			require.NoError(t, w.Shrink(rapid.Int64Range(1, pages).Draw(t, "to")*memregion.PageSize))
		}
		at := rapid.IntRange(0, len(w.Bytes())-1).Draw(t, "at")
		value := rapid.Byte().Draw(t, "value")
		w.Bytes()[at] = value
		twin[w.Range().Offset+int64(at)] = value
		require.True(t, bytes.Equal(twin, l.Bytes(whole)))
	})
}

func BenchmarkWindow(b *testing.B) {
	l := lend(b, shmSpec(b, 64*mebibyte), memregion.LendOptions{})
	v := borrow(b, l.Spec())
	r := allocate(b, l, mebibyte)
	for b.Loop() {
		w, err := v.Window(r)
		require.NoError(b, err)
		require.NoError(b, w.Close())
	}
}
