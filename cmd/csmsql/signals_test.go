package main_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A terminal signals a node and its supervisor, and the supervisor signals the node again: that counts as one signal. A
// second one comes later, from a user in haste.
func TestSignalsAtOnceAreOne(t *testing.T) {
	t.Parallel()
	t.Run("at once", func(t *testing.T) {
		n := startNode(t)
		require.NoError(t, n.command.Process.Signal(syscall.SIGINT))
		require.NoError(t, n.signal(syscall.SIGTERM))
		require.Contains(t, n.stderr.String(), "msg=stopped")
	})
	t.Run("again and again", func(t *testing.T) {
		n := startNode(t)
		busy := n.connect(t)
		failed := make(chan error, 1)
		go func() {
			_, err := busy.Exec(deadline(t), endless) // has the node wait for it
			failed <- err
		}()
		waitForStatement(t, n)
		go func() {
			for n.command.Process.Signal(syscall.SIGTERM) == nil { // until it has ended
				time.Sleep(50 * time.Millisecond)
			}
		}()
		require.ErrorContains(t, n.wait(), "exit status 130")
		require.Error(t, <-failed)
	})
}
