package memregion_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/memregion"
)

func TestParseDevice(t *testing.T) {
	for text, want := range map[string]memregion.DevicePlace{
		"device:/dev/dax0.0":                        {Path: "/dev/dax0.0", Start: -1},
		"device:/dev/dax0.0@0":                      {Path: "/dev/dax0.0"},
		"device:/dev/dax0.0@8192,incoherent":        {Path: "/dev/dax0.0", Start: 8192},
		"device:/sys/bus/pci/0000:00:04.0/r@2GiB":   {Path: "/sys/bus/pci/0000:00:04.0/r", Start: 2 << 30},
		"device:/a@b,c@4KiB,home-snoop":             {Path: "/a@b,c", Start: 4096},
		"device:/dev/mishmem-s0@3MiB":               {Path: "/dev/mishmem-s0", Start: 3 << 20},
		"device:/dev/mishmem-s0,64,incoherent":      {Path: "/dev/mishmem-s0,64", Start: -1},
		"device:/dev/mishmem-s0@9007199254736896":   {Path: "/dev/mishmem-s0", Start: 9007199254736896},
		"device:/dev/mishmem-s0@8796093018112 KiB,": {},
	} {
		place, ok, err := memregion.ParseDevice(text)
		require.True(t, ok, text)
		if want.Path == "" {
			require.ErrorIs(t, err, memregion.ErrBadSpec, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, place, text)
	}
	for _, text := range []string{"device:", "device:dax", "device:/d@", "device:/d@-4096", "device:/d@1", "device:/d@1x", "device:/d@9223372036854775807GiB", "device:/d@8589934592GiB"} {
		_, ok, err := memregion.ParseDevice(text)
		require.True(t, ok, text)
		require.ErrorIs(t, err, memregion.ErrBadSpec, text)
		_, _, err = memregion.ParseFabric(text)
		require.ErrorIs(t, err, memregion.ErrBadSpec, text)
	}
	for text, properties := range map[string][3]bool{ // coherent, home-snooped, known
		"device:/d":            {true, false, true},
		"device:/d,incoherent": {false, false, true},
		"device:/d,home-snoop": {false, true, true},
	} {
		kind, _, err := memregion.ParseFabric(text)
		require.NoError(t, err)
		require.Equal(t, properties, [3]bool{kind.HardwareCoherent(), kind.HomeSnooped(), kind.Known()}, text)
		require.False(t, kind.Durable(), text)
	}
	spec := memregion.Spec{Fabric: memregion.FabricDevice + ",home-snoop", Path: "/d", Start: 8192}
	require.Equal(t, "device:/d@8192,home-snoop", spec.FabricText())
	_, ok, err := memregion.ParseDevice("shm")
	require.False(t, ok)
	require.NoError(t, err)
}

// devices are what can be had on every machine: a file that stands for one, in memory; a file of huge pages, which can be mapped in whole ones only, as DAX
// devices can; a file on a disk of its own, if loop devices can be made; and that disk itself.
func devices(t *testing.T, size int64) map[string]string {
	t.Helper()
	file := shmSpec(t, mebibyte).Path
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Truncate(file, size))
	all := map[string]string{"file in memory": file}
	huge, err := hugeFile(t, size)
	if err == nil {
		all["file of huge pages"] = huge
	} else {
		t.Logf("SKIPPED: a file of huge pages: %v", err)
	}
	disk, err := loopDevice(t, size)
	if err != nil {
		if os.Geteuid() == 0 && os.Getenv("CSMSQL_CLIENTS") == "required" {
			require.NoError(t, err, "loop devices")
		}
		t.Logf("SKIPPED: a loop device and a file on one: %v", err)
		return all
	}
	all["disk"] = disk
	mounted, err := loopFile(t, size)
	require.NoError(t, err)
	all["file on a disk of its own"] = mounted
	return all
}

// hugeFile is a file on a file system of huge pages, which the kernel may take from all memory as long as the test runs.
func hugeFile(t *testing.T, size int64) (string, error) {
	const setting = "/proc/sys/vm/nr_overcommit_hugepages"
	before, err := os.ReadFile(setting)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(setting, []byte("1000"), 0); err != nil {
		return "", err
	}
	t.Cleanup(func() { require.NoError(t, os.WriteFile(setting, before, 0)) })
	at := filepath.Join(t.TempDir(), "huge")
	if err := os.Mkdir(at, 0o700); err != nil {
		return "", err
	}
	if out, err := exec.Command("mount", "-t", "hugetlbfs", "none", at).CombinedOutput(); err != nil {
		return "", fmt.Errorf("mount: %s: %w", out, err)
	}
	// Lazily: a test that failed may have it mapped still.
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", "--lazy", at).Run()) })
	file := filepath.Join(at, "device")
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	// All of it now: later it could be that there are so many pages, and not in one piece.
	return file, errors.Join(unix.Fallocate(int(f.Fd()), 0, 0, size), f.Close())
}

func loopDevice(t *testing.T, size int64) (string, error) {
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return "", err
	}
	if err := os.Truncate(image, size); err != nil {
		return "", err
	}
	out, err := exec.Command("losetup", "--find", "--show", image).Output()
	if err != nil {
		return "", err
	}
	disk := strings.TrimSpace(string(out))
	t.Cleanup(func() { require.NoError(t, exec.Command("losetup", "--detach", disk).Run()) })
	return disk, nil
}

// loopFile is a sparse file on a mounted file system that has room for it.
func loopFile(t *testing.T, size int64) (string, error) {
	disk, err := loopDevice(t, 2*size+16*mebibyte)
	if err != nil {
		return "", err
	}
	if out, err := exec.Command("mkfs.ext4", "-q", disk).CombinedOutput(); err != nil {
		return "", &exec.Error{Name: "mkfs.ext4: " + string(out), Err: err}
	}
	at := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(at, 0o700); err != nil {
		return "", err
	}
	if err := exec.Command("mount", disk, at).Run(); err != nil {
		return "", err
	}
	t.Cleanup(func() { require.NoError(t, exec.Command("umount", at).Run()) })
	file := filepath.Join(at, "device")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return "", err
	}
	return file, os.Truncate(file, size)
}

func deviceSpec(t *testing.T, path string, id memregion.RegionID, start, capacity int64) memregion.Spec {
	t.Helper()
	base, err := memregion.ChooseBase([]memregion.Placement{{Base: 0x4000_0000_0000, Length: int64(id) << 30}}, capacity, path)
	require.NoError(t, err)
	return memregion.Spec{ID: id, Base: base + memregion.Addr(id)<<30, Capacity: capacity, Fabric: memregion.FabricDevice, Path: path, Start: start, BootID: "another boot"}
}

// TestDevice: two lenders share a device, each within its range (M1, M7); a borrower sees what they store, and stores through a window; the device stays,
// with its bytes, whatever ends.
func TestDevice(t *testing.T) {
	const size, half = 32 * mebibyte, 16 * mebibyte
	for name, path := range devices(t, size) {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			have, unit, err := memregion.DeviceSize(path)
			require.NoError(t, err)
			require.EqualValues(t, size, have)
			if name == "file of huge pages" {
				require.Greater(t, unit, int64(memregion.PageSize))
				_, err = memregion.Lend(ctx, deviceSpec(t, path, 3, memregion.PageSize, half), memregion.LendOptions{})
				require.ErrorIs(t, err, memregion.ErrBadSpec)
				require.ErrorContains(t, err, "has pages of 2 MiB")
			} else {
				require.EqualValues(t, os.Getpagesize(), unit)
			}
			specs := []memregion.Spec{deviceSpec(t, path, 1, 0, half), deviceSpec(t, path, 2, half, half)}
			lenders := []*memregion.Lent{lend(t, specs[0], memregion.LendOptions{}), lend(t, specs[1], memregion.LendOptions{})}
			var held []memregion.Range
			for i, l := range lenders {
				r, err := l.Allocate("t", 3*mebibyte)
				require.NoError(t, err)
				held = append(held, r)
				copy(l.Bytes(r), bytes.Repeat([]byte{byte('a' + i)}, int(r.Length)))
				require.Equal(t, memregion.WatchNothing, l.View().Watch())
			}
			_, err = lenders[0].Allocate("t", half)
			require.ErrorIs(t, err, memregion.ErrRegionFull)
			_, err = memregion.Lend(ctx, deviceSpec(t, path, 3, half-memregion.PageSize, mebibyte), memregion.LendOptions{})
			require.ErrorIs(t, err, memregion.ErrLentElsewhere)
			_, err = memregion.Lend(ctx, deviceSpec(t, path, 3, half, half+memregion.PageSize), memregion.LendOptions{})
			require.ErrorIs(t, err, memregion.ErrRegionTooLarge)

			view, err := memregion.Borrow(specs[1])
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, view.Close()) })
			got, err := view.Bytes(held[1])
			require.NoError(t, err)
			require.Equal(t, byte('b'), got[held[1].Length-1])
			window, err := view.Window(held[1])
			require.NoError(t, err)
			window.Bytes()[5] = 'w'
			require.NoError(t, window.Shrink(memregion.PageSize))
			require.NoError(t, window.Close())
			require.Equal(t, byte('w'), lenders[1].Bytes(held[1])[5])
			require.Equal(t, byte('w'), got[5])
			require.Equal(t, byte('a'), lenders[0].Bytes(held[0])[5])
			require.Zero(t, view.Look())

			// What lies in one page of the device with memory that may be stored into is not protected, or not any more.
			last, err := lenders[1].Allocate("t", mebibyte)
			require.NoError(t, err)
			whole := held[1].Length / unit * unit
			require.NoError(t, lenders[1].Protect(held[1]))
			require.Equal(t, whole, lenders[1].Stats().Protected)
			lenders[1].Bytes(last)[0] = 'l'
			require.NoError(t, lenders[1].Protect(held[1], last))
			require.Equal(t, held[1].Length+last.Length, lenders[1].Stats().Protected)
			require.NoError(t, lenders[1].Free("t", last))
			require.Equal(t, whole, lenders[1].Stats().Protected)
			require.NoError(t, lenders[1].Free("t", held[1]))
			require.Zero(t, lenders[1].Stats().Protected)
			require.NoError(t, lenders[1].Trim())
			require.NoError(t, lenders[0].Verify())
			require.NoError(t, lenders[0].Close())
			adopted, err := memregion.Adopt(ctx, specs[0], []memregion.Owned{{Owner: "t", Range: held[0]}}, memregion.LendOptions{})
			require.NoError(t, err)
			t.Cleanup(func() { finish(t, adopted) })
			require.Equal(t, byte('a'), adopted.Bytes(held[0])[held[0].Length-1])
			require.NoError(t, lenders[1].Remove())
			_, err = os.Stat(path)
			require.NoError(t, err, "a device is not removed")
		})
	}
}

// A file that stands for a device and was cut short, and a device that is not there, are errors.
func TestDeviceThatIsCutOff(t *testing.T) {
	path := shmSpec(t, mebibyte).Path
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, 8*mebibyte))
	spec := deviceSpec(t, path, 1, 4*mebibyte, 4*mebibyte)
	l := lend(t, spec, memregion.LendOptions{GrowthStep: mebibyte})
	r, err := l.Allocate("t", mebibyte)
	require.NoError(t, err)
	view, err := memregion.Borrow(spec)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, view.Close()) })
	require.NoError(t, view.Check(r))
	require.NoError(t, os.Truncate(path, 4*mebibyte+memregion.PageSize))
	require.ErrorIs(t, view.Check(r), memregion.ErrRegionShort)
	_, err = l.Allocate("t", mebibyte)
	require.ErrorIs(t, err, memregion.ErrRegionShort)
	require.NoError(t, os.Truncate(path, mebibyte))
	require.ErrorIs(t, view.Check(r), memregion.ErrRegionGone)
	_, err = memregion.Borrow(deviceSpec(t, filepath.Join(t.TempDir(), "none"), 2, 0, mebibyte))
	require.ErrorIs(t, err, memregion.ErrRegionGone)
	_, _, err = memregion.DeviceSize("/dev/null")
	require.ErrorIs(t, err, memregion.ErrUnsupported)
}
