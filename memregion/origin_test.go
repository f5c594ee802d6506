package memregion_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/memregion"
)

// attributed skips where the file system keeps no attributes of users.
func attributed(t *testing.T, path string) {
	if err := unix.Setxattr(path, "user.csmsql.test", []byte("x"), 0); err != nil {
		t.Skipf("no attributes here: %v", err)
	}
}

func found(t *testing.T, directory string, replaced bool) (paths []string) {
	t.Helper()
	files, err := memregion.FindAbandoned(directory, "region*", func(string, memregion.Origin) bool { return replaced })
	require.NoError(t, err)
	for _, f := range files {
		paths = append(paths, filepath.Base(f.Path))
	}
	return paths
}

// A region is abandoned when it has no lender and its directory is not there; one without an origin never is.
func TestFindAbandoned(t *testing.T) {
	spec := shmSpec(t, 1<<20)
	directory := filepath.Dir(spec.Path)
	home := t.TempDir()
	l, err := memregion.Lend(context.Background(), spec, memregion.LendOptions{GrowthStep: 64 << 10, Origin: memregion.Origin{Directory: home}})
	require.NoError(t, err)
	attributed(t, spec.Path)
	require.NoError(t, os.WriteFile(spec.Path+"-unknown", []byte("x"), 0o600))
	allocate(t, l, 64<<10)

	require.Empty(t, found(t, directory, false), "its directory is there")
	require.NoError(t, os.RemoveAll(home))
	require.Empty(t, found(t, directory, false), "M7: it is lent")
	require.Empty(t, found(t, directory, true))
	finish(t, l)
	require.Equal(t, []string{"region"}, found(t, directory, false))
	files, err := memregion.FindAbandoned(directory, "region", func(string, memregion.Origin) bool { return false })
	require.NoError(t, err)
	require.Equal(t, []memregion.Abandoned{{Path: spec.Path, Bytes: 64 << 10, Origin: memregion.Origin{Directory: home}}}, files)

	require.NoError(t, os.MkdirAll(home, 0o700))
	require.Empty(t, found(t, directory, false))
	require.Equal(t, []string{"region"}, found(t, directory, true), "other tables lie there now")

	// A lender that adopts it notes again where its catalog lies.
	l, err = memregion.Adopt(context.Background(), spec, nil, memregion.LendOptions{Origin: memregion.Origin{Directory: home, Temporary: true}})
	require.NoError(t, err)
	require.Empty(t, found(t, directory, false))
	finish(t, l)
	require.Equal(t, []string{"region"}, found(t, directory, false), "a temporary directory is not used again")
	l, err = memregion.Adopt(context.Background(), spec, nil, memregion.LendOptions{Origin: memregion.Origin{Directory: home}})
	require.NoError(t, err)
	finish(t, l)
	require.Empty(t, found(t, directory, false))
}

// The caches of an emulated fabric go with their region: they are no regions of their own, and their memory counts.
func TestFindAbandonedWithCaches(t *testing.T) {
	spec := shmSpec(t, 1<<20)
	directory := filepath.Dir(spec.Path)
	require.NoError(t, os.WriteFile(spec.Path, make([]byte, 4096), 0o600))
	attributed(t, spec.Path)
	require.NoError(t, unix.Setxattr(spec.Path, "user.csmsql.directory", []byte("/not/there"), 0))
	caches := []string{spec.Path + ".cache", spec.Path + ".cache.shadow", spec.Path + ".n2.cache"}
	for _, path := range append([]string{spec.Path + "2.cache", spec.Path + ".note"}, caches...) {
		require.NoError(t, os.WriteFile(path, make([]byte, 8192), 0o600))
		require.NoError(t, unix.Setxattr(path, "user.csmsql.directory", []byte("/not/there"), 0))
	}
	files, err := memregion.FindAbandoned(directory, filepath.Base(spec.Path), nil)
	require.NoError(t, err)
	require.Equal(t, []memregion.Abandoned{{Path: spec.Path, Caches: caches, Bytes: 4096 + 3*8192, Origin: memregion.Origin{Directory: "/not/there"}}}, files)
}

// Files of other kinds and from other programs are neither followed nor trusted.
func TestFindAbandonedSkipsForeignFiles(t *testing.T) {
	directory := filepath.Dir(shmSpec(t, 1<<20).Path)
	plain := filepath.Join(directory, "region-plain")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	attributed(t, plain)
	require.NoError(t, unix.Setxattr(plain, "user.csmsql.directory", []byte("not/absolute"), 0))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(directory, "region-link")))
	require.NoError(t, unix.Mkfifo(filepath.Join(directory, "region-pipe"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(directory, "region-directory"), 0o700))
	require.NoError(t, unix.Setxattr(filepath.Join(directory, "region-directory"), "user.csmsql.directory", []byte("/not/there"), 0))
	require.Empty(t, found(t, directory, true))
	none, err := memregion.FindAbandoned(filepath.Join(directory, "missing"), "region*", nil)
	require.NoError(t, err)
	require.Empty(t, none)
}
