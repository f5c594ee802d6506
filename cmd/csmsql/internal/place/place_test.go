package place_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cmd/csmsql/internal/place"
)

func TestDefaultData(t *testing.T) {
	t.Setenv("HOME", "/home/anna")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv(place.DataVariable, "")
	require.Equal(t, "/home/anna/.local/share/csmsql", place.DefaultData())
	t.Setenv("XDG_DATA_HOME", "relative/is/ignored")
	require.Equal(t, "/home/anna/.local/share/csmsql", place.DefaultData())
	t.Setenv("XDG_DATA_HOME", "/data")
	require.Equal(t, "/data/csmsql", place.DefaultData())
	t.Setenv(place.DataVariable, "/elsewhere")
	require.Equal(t, "/elsewhere", place.DefaultData())
	t.Setenv(place.DataVariable, "")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", "")
	require.Equal(t, "csmsql-data", place.DefaultData())
}

func TestTarget(t *testing.T) {
	t.Setenv(place.DataVariable, "/nowhere/yet")
	dir := t.TempDir()
	require.Equal(t, "/nowhere/yet/csmsql.sock", place.Target(""))
	require.Equal(t, filepath.Join(dir, "csmsql.sock"), place.Target(dir))
	require.Equal(t, filepath.Join(dir, "csmsql.sock"), place.Target("unix:"+dir))
	require.Equal(t, filepath.Join(dir, "other.sock"), place.Target(filepath.Join(dir, "other.sock")))
	require.Equal(t, "127.0.0.1:7000", place.Target("127.0.0.1:7000"))
}
