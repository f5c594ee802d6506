package memregion_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/shmdir"
	"github.com/csmsql/csmsql/memregion"
)

const cachedKind memregion.FabricKind = "emulated"

// cachedRegion lends a region on an emulated fabric in a domain of its own.
func cachedRegion(t *testing.T, kind memregion.FabricKind) (*memregion.Lent, *memregion.Domain) {
	spec := memregion.Spec{ID: 1, Capacity: 1 << 20, Fabric: kind, Path: filepath.Join(shmdir.For(t), "a.region")}
	var err error
	spec.Base, err = memregion.ChooseBase(nil, spec.Capacity, spec.Path)
	require.NoError(t, err)
	domain := memregion.NewDomain(kind, "n1", 1)
	l, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{Domain: domain, GrowthStep: 64 << 10})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l, domain
}

func flushIn(d *memregion.Domain, b []byte) {
	d.Lines().FenceFull()
	d.Lines().Flush(b)
	d.Lines().FenceFull()
}

// Each domain has a cache of its own: what the lender stores another domain sees when both have flushed, and what that writes through a window the
// lender, likewise.
func TestCachesOfTwoDomains(t *testing.T) {
	l, home := cachedRegion(t, "emulated,128")
	r, err := l.Allocate("t", 8192)
	require.NoError(t, err)
	foreign := memregion.NewDomain("emulated,128", "n2", 2)
	v, err := memregion.BorrowIn(foreign, false, l.Spec())
	require.NoError(t, err)
	defer func() { require.NoError(t, v.Close()) }()
	seen, err := v.Bytes(r)
	require.NoError(t, err)

	ones, twos := bytes.Repeat([]byte{1}, 8192), bytes.Repeat([]byte{2}, 8192)
	copy(l.Bytes(r), ones)
	flushIn(foreign, seen)
	require.False(t, bytes.Equal(ones, seen))
	flushIn(home, l.Bytes(r))
	require.False(t, bytes.Equal(ones, seen))
	flushIn(foreign, seen)
	require.True(t, bytes.Equal(ones, seen))
	if !memregion.CachesOnHeap {
		require.NoError(t, l.Protect(r))
		flushIn(home, l.Bytes(r)) // lines of read-only pages can be dropped
	}

	w, err := v.Window(r)
	require.NoError(t, err)
	copy(w.Bytes(), twos)
	require.NoError(t, w.Shrink(4096))
	flushIn(foreign, w.Bytes())
	flushIn(home, l.Bytes(r))
	require.True(t, bytes.Equal(twos[:4096], l.Bytes(r)[:4096]))
	require.False(t, bytes.Equal(twos[:4096], l.Bytes(r)[4096:]), "beyond the window nothing was flushed, and the adversary has not got far")
	flushIn(foreign, seen)
	require.NoError(t, w.Close())
	flushIn(home, l.Bytes(r))
	require.True(t, bytes.Equal(twos, l.Bytes(r)))
	require.NoError(t, l.Verify())
}

// A cache outlives its process: here, its view. With it goes what was modified; it ends with the region.
func TestCachesOutliveProcesses(t *testing.T) {
	if memregion.CachesOnHeap {
		t.Skip("in race builds a cache ends with its process")
	}
	l, home := cachedRegion(t, cachedKind)
	r, err := l.Allocate("t", 4096)
	require.NoError(t, err)
	clear(l.Bytes(r))
	flushIn(home, l.Bytes(r))
	open := func() (*memregion.Domain, *memregion.View) {
		d := memregion.NewDomain(cachedKind, "a/b", 2)
		v, err := memregion.BorrowIn(d, false, l.Spec())
		require.NoError(t, err)
		return d, v
	}
	_, v := open()
	w, err := v.Window(r)
	require.NoError(t, err)
	w.Bytes()[100] = 7
	require.NoError(t, w.Close())
	require.NoError(t, v.Close())
	flushIn(home, l.Bytes(r))
	require.Zero(t, l.Bytes(r)[100])

	d, v := open() // the next process
	seen, err := v.Bytes(r)
	require.NoError(t, err)
	require.EqualValues(t, 7, seen[100])
	flushIn(d, seen)
	flushIn(home, l.Bytes(r))
	require.EqualValues(t, 7, l.Bytes(r)[100])

	guest, err := memregion.BorrowIn(memregion.GuestDomain(cachedKind, "a/b"), false, l.Spec())
	require.NoError(t, err)
	seen, err = guest.Bytes(r)
	require.NoError(t, err)
	require.EqualValues(t, 7, seen[100], "it has the domain's cache")
	require.NoError(t, guest.Close())

	require.NoError(t, v.Close())
	require.NoError(t, l.Remove())
	left, err := os.ReadDir(filepath.Dir(l.Spec().Path))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Who says nothing of a domain cannot map what is not coherent.
func TestADomainIsRequired(t *testing.T) {
	l, _ := cachedRegion(t, cachedKind)
	_, err := memregion.Borrow(l.Spec())
	require.ErrorIs(t, err, memregion.ErrBadSpec)
}

func TestParseFabric(t *testing.T) {
	for text, want := range map[string]struct {
		kind memregion.FabricKind
		seed uint64
	}{
		"shm": {"shm", 1}, "file": {"file", 1}, "emulated": {"emulated", 1}, "emulated:7": {"emulated", 7}, "emulated:7,64": {"emulated", 7},
		"emulated:18446744073709551615,128,home-snoop": {"emulated,home-snoop,128", 1<<64 - 1}, "emulated,home-snoop": {"emulated,home-snoop", 1},
	} {
		kind, seed, err := memregion.ParseFabric(text)
		require.NoError(t, err, text)
		require.Equal(t, want.kind, kind)
		require.Equal(t, want.seed, seed)
		require.True(t, kind.Known())
		require.Equal(t, kind == "shm" || kind == "file", kind.HardwareCoherent())
	}
	for _, text := range []string{"", "floppy", "shm:1", "shm,128", "emulated:", "emulated:-1", "emulated,96", "emulated,", "emulated7"} {
		_, _, err := memregion.ParseFabric(text)
		require.ErrorIs(t, err, memregion.ErrBadSpec, text)
	}
	require.False(t, memregion.FabricKind("emulated:7").Known(), "a seed is no part of a kind")
	require.True(t, memregion.FabricKind("emulated,home-snoop,128").HomeSnooped())
	require.False(t, memregion.FabricEmulated.HomeSnooped())
}
