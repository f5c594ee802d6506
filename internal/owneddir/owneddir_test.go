package owneddir

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

const prefix = "csmsql-test-"

// childVariable makes this test binary a process that makes a directory, says so, and waits to be killed.
const childVariable = "OWNEDDIR_TEST_ROOT"

func TestMain(m *testing.M) {
	if root := os.Getenv(childVariable); root != "" {
		directory, err := Make(root, prefix)
		fmt.Println(directory, err)
		select {}
	}
	os.Exit(m.Run())
}

// Directories of a process that was killed are removed by the next one; those of a living process, and those that this
// package did not make, stay.
func TestWhatTheKilledLeft(t *testing.T) {
	root := t.TempDir()
	own, err := Make(root, prefix)
	require.NoError(t, err)
	strangers := []string{"csmsql-test-3478111492", "csmsql-test-1-2-3-4", "csm-test", "csmsql-test-a-b-c-d", "csmsql-0-1.region"}
	for _, name := range strangers {
		require.NoError(t, os.Mkdir(filepath.Join(root, name), 0o700))
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"="+root)
	child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	var theirs, failed string
	_, err = fmt.Fscan(out, &theirs, &failed)
	require.NoError(t, err)
	require.Equal(t, "<nil>", failed)
	require.NoError(t, os.WriteFile(filepath.Join(theirs, "region"), make([]byte, 4096), 0o600))

	require.NoError(t, Sweep(root, prefix))
	require.DirExists(t, theirs)
	require.NoError(t, child.Process.Kill())
	require.Error(t, child.Wait())
	require.NoError(t, Sweep(root, prefix))
	require.NoDirExists(t, theirs)
	for _, name := range append(strangers, filepath.Base(own)) {
		require.DirExists(t, filepath.Join(root, name))
	}
	require.NoError(t, Sweep(root, prefix))
}

// A process that got the number of one that has ended is not the owner of what that left.
func TestNumbersAreUsedAgain(t *testing.T) {
	me, err := self()
	require.NoError(t, err)
	require.Positive(t, me.start)
	require.False(t, me.hasEnded(me.namespace))
	former := me
	former.start--
	require.True(t, former.hasEnded(me.namespace))
	elsewhere := former
	elsewhere.namespace = "1"
	require.False(t, elsewhere.hasEnded(me.namespace), "another container's processes are unknown here")
	read, ok := ownerOf(prefix, prefix+me.String()+"-123")
	require.True(t, ok)
	require.Equal(t, me, read)
}
