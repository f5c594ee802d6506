package noderpc_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/cluster/noderpc"
)

// filelock.1: a process that is being started while the listener ends has the lock's descriptor for a moment longer.
func TestListenAgainWhileAProcessStarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	first, err := noderpc.ListenUnix(path)
	require.NoError(t, err)
	kept := 0
	descriptors, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, d := range descriptors {
		if name, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil && name == path+".lock" {
			number, err := strconv.Atoi(d.Name())
			require.NoError(t, err)
			fd, err := unix.Dup(number)
			require.NoError(t, err)
			defer unix.Close(fd)
			kept++
		}
	}
	require.Equal(t, 1, kept)
	require.NoError(t, first.Close())
	second, err := noderpc.ListenUnix(path)
	require.NoError(t, err)
	require.NoError(t, second.Close())
}
