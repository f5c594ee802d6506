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
	descriptors, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	var locks []int // found before one of them is duplicated: the copy may get the number of a descriptor that is closed by now
	for _, d := range descriptors {
		if name, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil && name == path+".lock" {
			number, err := strconv.Atoi(d.Name())
			require.NoError(t, err)
			locks = append(locks, number)
		}
	}
	require.Len(t, locks, 1)
	kept, err := unix.Dup(locks[0])
	require.NoError(t, err)
	defer unix.Close(kept)
	require.NoError(t, first.Close())
	second, err := noderpc.ListenUnix(path)
	require.NoError(t, err)
	require.NoError(t, second.Close())
}
