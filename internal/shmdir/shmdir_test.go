package shmdir

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A directory is there as long as its test.
func TestFor(t *testing.T) {
	var directory string
	t.Run("test", func(t *testing.T) {
		directory = For(t)
		require.DirExists(t, directory)
		require.True(t, strings.HasPrefix(directory, Root+"/csmsql-test-"))
	})
	require.NoDirExists(t, directory)
}
