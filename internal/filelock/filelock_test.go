package filelock_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/internal/filelock"
)

func open(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// keep does what a process that is being started does: it has the descriptor, too.
func keep(t *testing.T, file *os.File) {
	t.Helper()
	fd, err := unix.Dup(int(file.Fd()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
}

// filelock.1
func TestGiven(t *testing.T) {
	for name, take := range map[string]func(*os.File) error{
		"file":   filelock.Take,
		"range":  func(f *os.File) error { return filelock.TakeRange(f, 4096, 4096) },
		"shared": filelock.Share,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			exclusive := take
			if name == "shared" {
				exclusive = filelock.Take
			}
			first := open(t, path)
			require.NoError(t, take(first))
			keep(t, first)
			second := open(t, path)
			require.ErrorIs(t, exclusive(second), filelock.ErrTaken)
			require.NoError(t, filelock.Give(first))
			require.NoError(t, exclusive(second))
			require.NoError(t, filelock.Give(second))
			closed := filelock.Give(second)
			require.ErrorIs(t, closed, os.ErrClosed)
			require.NotContains(t, closed.Error(), "\n", "it is reported once")
		})
	}
}

func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, filelock.Share(open(t, path)))
	require.NoError(t, filelock.Share(open(t, path)))
}

func TestRangesBesideEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, filelock.TakeRange(open(t, path), 0, 100))
	require.NoError(t, filelock.TakeRange(open(t, path), 100, 100))
	require.ErrorIs(t, filelock.TakeRange(open(t, path), 199, 10), filelock.ErrTaken)
}
