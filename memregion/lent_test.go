package memregion_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/memregion"
)

const mebibyte = 1 << 20

// fileSpec plans a region on a file that works on every machine.
func fileSpec(t testing.TB, capacity int64) memregion.Spec {
	t.Helper()
	base, err := memregion.ChooseBase(nil, capacity, t.Name())
	require.NoError(t, err)
	return memregion.Spec{ID: 7, Base: base, Capacity: capacity, Fabric: memregion.FabricFile, Path: filepath.Join(t.TempDir(), "region")}
}

// shmSpec plans a region in shared memory, or skips.
func shmSpec(t testing.TB, capacity int64) memregion.Spec {
	t.Helper()
	directory, err := shmdir.Make()
	if err != nil {
		t.Skipf("this machine has no usable /dev/shm: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(directory)) })
	spec := fileSpec(t, capacity)
	spec.Fabric, spec.Path = memregion.FabricShm, filepath.Join(directory, "region")
	spec.BootID, err = memregion.BootID()
	require.NoError(t, err)
	return spec
}

// lend makes a lender that is checked and closed at the end of the test.
func lend(t testing.TB, spec memregion.Spec, opts memregion.LendOptions) *memregion.Lent {
	t.Helper()
	l, err := memregion.Lend(context.Background(), spec, opts)
	require.NoError(t, err)
	t.Cleanup(func() { finish(t, l) })
	return l
}

func finish(t testing.TB, l *memregion.Lent) {
	require.NoError(t, l.Verify())
	require.NoError(t, l.Close())
}

func allocate(t testing.TB, l *memregion.Lent, size int64) memregion.Range {
	t.Helper()
	r, err := l.Allocate("t", size)
	require.NoError(t, err)
	return r
}

// fill writes a pattern that depends on the seed and on the place.
func fill(memory []byte, seed byte) {
	for i := 0; i < len(memory); i += 61 {
		memory[i] = seed + byte(i)
	}
}

func requireFilled(t require.TestingT, memory []byte, seed byte) {
	for i := 0; i < len(memory); i += 61 {
		if memory[i] != seed+byte(i) {
			require.Equal(t, seed+byte(i), memory[i], "byte %d", i)
		}
	}
}

func TestLendAllocateBorrowRead(t *testing.T) {
	for name, plan := range map[string]func(testing.TB, int64) memregion.Spec{"file": fileSpec, "shm": shmSpec} {
		t.Run(name, func(t *testing.T) {
			spec := plan(t, 64*mebibyte)
			l := lend(t, spec, memregion.LendOptions{GrowthStep: mebibyte})
			require.Equal(t, spec, l.Spec())
			r := allocate(t, l, 10000)
			require.EqualValues(t, 12288, r.Length, "rounded up to pages")
			fill(l.Bytes(r), 3)
			require.NoError(t, l.Sync(r))

			v, err := memregion.Borrow(spec)
			require.NoError(t, err)
			memory, err := v.Bytes(r)
			require.NoError(t, err)
			requireFilled(t, memory, 3)
			require.NoError(t, v.Close())

			memory, err = l.View().Bytes(r)
			require.NoError(t, err)
			requireFilled(t, memory, 3)
			require.NoError(t, l.View().Close(), "does not unmap the lender")
			requireFilled(t, l.Bytes(r), 3)
			info, err := os.Stat(spec.Path)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode())
			require.NoError(t, l.Free("t", r))
		})
	}
}

func TestLendRefuses(t *testing.T) {
	good := fileSpec(t, 4*mebibyte)
	for name, damage := range map[string]func(*memregion.Spec){
		"base not aligned":       func(s *memregion.Spec) { s.Base += page },
		"base too low":           func(s *memregion.Spec) { s.Base = memregion.Granule },
		"base too high":          func(s *memregion.Spec) { s.Base = windowEnd },
		"capacity zero":          func(s *memregion.Spec) { s.Capacity = 0 },
		"capacity negative":      func(s *memregion.Spec) { s.Capacity = -page },
		"capacity not pages":     func(s *memregion.Spec) { s.Capacity++ },
		"capacity leaves window": func(s *memregion.Spec) { s.Capacity = 1 << 62 },
		"fabric unknown":         func(s *memregion.Spec) { s.Fabric = "smoke" },
		"path empty":             func(s *memregion.Spec) { s.Path = "" },
		"path with zero byte":    func(s *memregion.Spec) { s.Path = "a\x00b" },
	} {
		t.Run(name, func(t *testing.T) {
			spec := good
			damage(&spec)
			_, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{})
			require.ErrorIs(t, err, memregion.ErrBadSpec)
			_, err = memregion.Adopt(context.Background(), spec, nil, memregion.LendOptions{})
			require.ErrorIs(t, err, memregion.ErrBadSpec)
			_, err = memregion.Borrow(spec)
			require.ErrorIs(t, err, memregion.ErrBadSpec)
		})
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := memregion.Lend(cancelled, good, memregion.LendOptions{})
	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, good.Path)
}

func TestLendRefusesRegionLargerThanFabric(t *testing.T) {
	spec := shmSpec(t, 1<<44)
	_, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{})
	if err == nil {
		t.Skip("this /dev/shm has no limit")
	}
	require.ErrorIs(t, err, memregion.ErrRegionTooLarge)
	require.ErrorContains(t, err, "it would have 16 TiB, and "+filepath.Dir(spec.Path))
	require.NoFileExists(t, spec.Path)
}

// TestOneLender attacks M7: a second lender, of either kind, is refused while the first lives and not after.
func TestOneLender(t *testing.T) {
	spec := fileSpec(t, 4*mebibyte)
	l, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{})
	require.NoError(t, err)
	_, err = memregion.Lend(context.Background(), spec, memregion.LendOptions{})
	require.ErrorIs(t, err, memregion.ErrExists)
	_, err = memregion.Adopt(context.Background(), spec, nil, memregion.LendOptions{})
	require.ErrorIs(t, err, memregion.ErrLentElsewhere)
	finish(t, l)
	l, err = memregion.Adopt(context.Background(), spec, nil, memregion.LendOptions{})
	require.NoError(t, err)
	finish(t, l)
}

// TestAddressTaken attacks M8: a mapping in the way is named, not replaced, and no file is left.
func TestAddressTaken(t *testing.T) {
	spec := fileSpec(t, 8*mebibyte)
	first := lend(t, spec, memregion.LendOptions{})
	r := allocate(t, first, page)
	fill(first.Bytes(r), 1)
	second := spec
	second.Path += ".second"
	_, err := memregion.Lend(context.Background(), second, memregion.LendOptions{})
	require.ErrorIs(t, err, memregion.ErrAddressTaken)
	require.ErrorContains(t, err, fmt.Sprintf("%#x–%#x", spec.Base, spec.Base+memregion.Addr(spec.Capacity)))
	require.ErrorContains(t, err, spec.Path+" at ")
	require.NoFileExists(t, second.Path)
	requireFilled(t, first.Bytes(r), 1)
}

func TestQuota(t *testing.T) {
	l := lend(t, fileSpec(t, 16*mebibyte), memregion.LendOptions{Quotas: map[string]int64{"t": 2 * mebibyte}})
	r := allocate(t, l, 2*mebibyte)
	_, err := l.Allocate("t", 1)
	require.ErrorIs(t, err, memregion.ErrQuota)
	other, err := l.Allocate("other", 4*mebibyte)
	require.NoError(t, err)
	require.ErrorIs(t, l.Free("other", r), memregion.ErrNotOwner)
	require.ErrorIs(t, l.Free("t", memregion.Range{Offset: r.Offset, Length: page}), memregion.ErrNotAllocated)
	l.SetQuota("t", 3*mebibyte)
	allocate(t, l, mebibyte)
	require.Equal(t, map[string]int64{"t": 3 * mebibyte, "other": 4 * mebibyte}, l.Stats().Owners)
	require.NoError(t, l.Free("other", other))
}

func TestHugePagesAreAskedFor(t *testing.T) {
	l := lend(t, shmSpec(t, 64*mebibyte), memregion.LendOptions{HugePages: true})
	require.True(t, l.Stats().HugePagesRequested)
	fill(l.Bytes(allocate(t, l, 4*mebibyte)), 1) // whatever the kernel said, memory works
}

func TestClosedLender(t *testing.T) {
	l := lend(t, fileSpec(t, 4*mebibyte), memregion.LendOptions{})
	r := allocate(t, l, page)
	view := l.View()
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	_, err := l.Allocate("t", page)
	for _, err := range []error{
		err, l.Free("t", r), l.Trim(), l.Remove(), l.Sync(r), l.Protect(r), view.Check(r),
	} {
		require.ErrorIs(t, err, memregion.ErrClosed)
	}
	_, err = l.Shrink("t", r, 1)
	require.ErrorIs(t, err, memregion.ErrClosed)
	_, err = view.Bytes(r)
	require.ErrorIs(t, err, memregion.ErrClosed)
	require.Panics(t, func() { l.Bytes(r) })
	require.Panics(t, func() { l.Bytes(memregion.Range{Offset: 1 << 40, Length: 1}) })
}

func TestRemoveLeavesForeignFileAlone(t *testing.T) {
	spec := fileSpec(t, 4*mebibyte)
	l, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{})
	require.NoError(t, err)
	require.NoError(t, os.Remove(spec.Path))
	require.NoError(t, os.WriteFile(spec.Path, []byte("foreign"), 0o600))
	require.NoError(t, l.Remove())
	require.FileExists(t, spec.Path)
}

// TestConcurrentOwners: extents of several goroutines never share a byte (M1). The race detector is blind here, the patterns are not.
func TestConcurrentOwners(t *testing.T) {
	l := lend(t, fileSpec(t, 64*mebibyte), memregion.LendOptions{GrowthStep: mebibyte, RecycleLimit: 2 * mebibyte})
	var group sync.WaitGroup
	failures := make(chan error, 8)
	for worker := range byte(8) {
		group.Go(func() { failures <- churn(l, worker) })
	}
	group.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	require.Zero(t, l.Stats().Extents)
}

func churn(l *memregion.Lent, worker byte) error {
	owner := fmt.Sprint("worker ", worker)
	for round := range 200 {
		r, err := l.Allocate(owner, int64(1+round*977%300_000))
		if err != nil {
			return err
		}
		memory := l.Bytes(r)
		want := bytes.Repeat([]byte{worker + 1}, len(memory))
		copy(memory, want)
		if round%3 == 0 {
			if r, err = l.Shrink(owner, r, r.Length/2+1); err != nil {
				return err
			}
		}
		if round%5 == 0 {
			if err := errors.Join(l.Protect(r), l.Trim()); err != nil {
				return err
			}
		}
		if !bytes.Equal(l.Bytes(r), want[:r.Length]) {
			return fmt.Errorf("M1: foreign bytes in %v of %s", r, owner)
		}
		if err := l.Free(owner, r); err != nil {
			return err
		}
	}
	return nil
}

// TestLentHistory runs random histories, with a fabric that is full now and then and restarts in between, and looks at the bytes: what is
// live keeps its content (M1, M5), what was refused changes nothing (M6), and restarts lose nothing.
func TestLentHistory(t *testing.T) {
	spec := fileSpec(t, 8*mebibyte)
	opts := memregion.LendOptions{GrowthStep: 256 << 10, RecycleLimit: mebibyte}
	rapid.Check(t, func(t *rapid.T) {
		l, err := memregion.Lend(context.Background(), spec, opts)
		require.NoError(t, err)
		live := map[memregion.Range]byte{}
		full, seed := false, byte(0)
		stored := map[int64]bool{} // pages that the lender's domain may have stored into: M13
		each := func(r memregion.Range, visit func(page int64)) {
			for page := r.Offset / memregion.PageSize; page < r.End()/memregion.PageSize; page++ {
				visit(page)
			}
		}
		inject := func() {
			memregion.InjectFaults(l, memregion.Faults{Reserve: func(r memregion.Range, real func(memregion.Range) error) error {
				if full {
					return unix.ENOSPC
				}
				each(r, func(page int64) { stored[page] = true })
				return real(r)
			}})
		}
		inject()
		pick := func(t *rapid.T) memregion.Range {
			extents := l.Extents()
			if len(extents) == 0 {
				t.Skip("nothing is live")
			}
			return rapid.SampledFrom(extents).Draw(t, "extent").Range
		}
		t.Repeat(map[string]func(*rapid.T){
			"allocate": func(t *rapid.T) {
				r, err := l.Allocate("t", rapid.Int64Range(1, 2*mebibyte).Draw(t, "size"))
				if err != nil {
					require.ErrorIs(t, err, memregion.ErrRegionFull)
					return
				}
				seed++
				live[r] = seed
				fill(l.Bytes(r), seed)
			},
			"free": func(t *rapid.T) {
				r := pick(t)
				require.NoError(t, l.Free("t", r))
				delete(live, r)
			},
			"shrink": func(t *rapid.T) {
				r := pick(t)
				kept, err := l.Shrink("t", r, rapid.Int64Range(1, r.Length).Draw(t, "size"))
				require.NoError(t, err)
				pattern := live[r]
				delete(live, r)
				live[kept] = pattern
			},
			"protect": func(t *rapid.T) { require.NoError(t, l.Protect(pick(t))) },
			"dropped": func(t *rapid.T) {
				r := pick(t)
				l.Dropped(r)
				require.Equal(t, []memregion.Range{r}, l.Untouched(r))
				each(r, func(page int64) { delete(stored, page) })
			},
			"touch": func(t *rapid.T) {
				r := pick(t)
				l.Touch(r)
				require.Empty(t, l.Untouched(r))
				each(r, func(page int64) { stored[page] = true })
			},
			"drop ahead": func(t *rapid.T) {
				before, limit := l.ToDrop(), memregion.PageSize*rapid.Int64Range(1, 64).Draw(t, "pages")
				var dropped memregion.Range
				r, err := l.DropAhead(limit, func(at memregion.Range, memory []byte) {
					dropped = at
					require.Len(t, memory, int(at.Length))
				})
				require.NoError(t, err)
				require.Equal(t, r, dropped)
				require.LessOrEqual(t, r.Length, limit)
				require.Equal(t, before > 0, r.Length > 0)
				require.Equal(t, before-r.Length, l.ToDrop())
				for x := range live {
					require.False(t, r.Offset < x.End() && x.Offset < r.End(), "%v is live", x)
				}
				each(r, func(page int64) { delete(stored, page) })
			},
			"trim":   func(t *rapid.T) { require.NoError(t, l.Trim()) },
			"fabric": func(t *rapid.T) { full = rapid.Bool().Draw(t, "full") },
			"restart": func(t *rapid.T) {
				extents := l.Extents()
				require.NoError(t, l.Close())
				l, err = memregion.Adopt(context.Background(), spec, extents, opts)
				require.NoError(t, err)
				require.Equal(t, extents, l.Extents())
				require.Zero(t, l.Stats().Idle)
				for r := range live {
					require.Empty(t, l.Untouched(r), "nothing is remembered")
				}
				inject()
			},
			"": func(t *rapid.T) {
				require.NoError(t, l.Verify())
				require.Len(t, l.Extents(), len(live))
				require.LessOrEqual(t, l.Stats().Idle, int64(mebibyte)+opts.GrowthStep)
				for r, pattern := range live {
					requireFilled(t, l.Bytes(r), pattern)
					for _, part := range l.Untouched(r) {
						each(part, func(page int64) { require.False(t, stored[page], "M13: page %d", page) })
					}
				}
			},
		})
		require.NoError(t, l.Remove())
	})
}

// TestDropAhead: what becomes idle is signaled and dropped piece by piece, as far as it is still idle then. A grant
// waits for the piece, and a piece that fails is not noted (M13).
func TestDropAhead(t *testing.T) {
	l, err := memregion.Lend(context.Background(), fileSpec(t, 8*mebibyte), memregion.LendOptions{GrowthStep: mebibyte, RecycleLimit: 4 * mebibyte})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Remove()) }()
	nothing := func(memregion.Range, []byte) {}
	a, err := l.Allocate("t", 3*mebibyte)
	require.NoError(t, err)
	select {
	case <-l.MoreToDrop():
		t.Fatal("nothing is idle: three steps were needed, and are used")
	default:
	}
	require.Zero(t, l.ToDrop())
	b, err := l.Allocate("t", mebibyte/2)
	require.NoError(t, err)
	<-l.MoreToDrop() // half a step was reserved ahead
	require.Equal(t, int64(mebibyte/2), l.ToDrop())
	require.NoError(t, l.Free("t", a))
	<-l.MoreToDrop()
	require.Equal(t, a.Length+mebibyte/2, l.ToDrop())

	held, waited := make(chan struct{}), make(chan memregion.Range)
	go func() {
		<-held
		r, err := l.Allocate("t", mebibyte)
		if err != nil {
			r = memregion.Range{}
		}
		waited <- r
	}()
	r, err := l.DropAhead(mebibyte, func(memregion.Range, []byte) {
		close(held)
		select {
		case <-waited:
			t.Error("memory was granted while lines were dropped")
		case <-time.After(20 * time.Millisecond):
		}
	})
	require.NoError(t, err)
	require.Equal(t, memregion.Range{Length: mebibyte}, r)
	require.Equal(t, r, <-waited, "the lowest memory is what is used next")
	require.Equal(t, []memregion.Range{r}, l.Untouched(memregion.Range{Length: 2 * mebibyte}))

	require.NoError(t, os.Truncate(l.Spec().Path, mebibyte))
	_, err = l.DropAhead(mebibyte, func(_ memregion.Range, memory []byte) { _ = bytes.Count(memory, []byte{1}) })
	require.ErrorIs(t, err, memregion.ErrRegionGone)
	require.Equal(t, []memregion.Range{r}, l.Untouched(memregion.Range{Length: 8 * mebibyte}))
	require.NoError(t, os.Truncate(l.Spec().Path, l.Spec().Capacity))
	require.NoError(t, errors.Join(l.Free("t", r), l.Free("t", b)))
	for left := l.ToDrop(); left > 0; left -= memregion.PageSize {
		_, err = l.DropAhead(1, nothing)
		require.NoError(t, err)
		require.Equal(t, left-memregion.PageSize, l.ToDrop())
	}
	require.NoError(t, l.Verify())
	r, err = l.DropAhead(mebibyte, nothing)
	require.NoError(t, err)
	require.Zero(t, r)
}

// What was freed meanwhile is not noted: another owner may have stored into it (M13).
func TestOnlyWhatIsHeldIsUntouched(t *testing.T) {
	l := lend(t, shmSpec(t, 8*mebibyte), memregion.LendOptions{GrowthStep: mebibyte, RecycleLimit: 4 * mebibyte})
	a, err := l.Allocate("t", mebibyte)
	require.NoError(t, err)
	l.Dropped(a)
	require.Equal(t, []memregion.Range{a}, l.Untouched(a))
	l.Touch(a)
	require.Empty(t, l.Untouched(a))
	require.NoError(t, l.Free("t", a))
	l.Dropped(a)
	require.Empty(t, l.Untouched(a))
	b, err := l.Allocate("u", mebibyte)
	require.NoError(t, err)
	require.Equal(t, a, b)
	require.Empty(t, l.Untouched(b), "the next owner does not get it as untouched")
}

// Pages that stay idle because they could not be given back may be half gone. They are dropped again, which is signaled
// (M13).
func TestDropAheadAfterARefusedPunch(t *testing.T) {
	l := lend(t, shmSpec(t, 8*mebibyte), memregion.LendOptions{GrowthStep: mebibyte, RecycleLimit: 4 * mebibyte})
	a, err := l.Allocate("t", mebibyte)
	require.NoError(t, err)
	require.NoError(t, l.Free("t", a))
	drop := func() memregion.Range {
		select {
		case <-l.MoreToDrop():
		default:
			t.Fatal("not signaled")
		}
		r, err := l.DropAhead(mebibyte, func(memregion.Range, []byte) {})
		require.NoError(t, err)
		return r
	}
	require.Equal(t, a, drop())
	require.Zero(t, l.ToDrop())
	r, err := l.DropAhead(mebibyte, func(memregion.Range, []byte) {})
	require.NoError(t, err)
	require.Zero(t, r)
	memregion.InjectFaults(l, memregion.Faults{Punch: func(memregion.Range, func(memregion.Range) error) error { return unix.EIO }})
	require.ErrorIs(t, l.Trim(), unix.EIO)
	require.Equal(t, a.Length, l.ToDrop())
	require.Equal(t, a, drop())
}
