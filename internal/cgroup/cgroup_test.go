package cgroup_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/internal/cgroup"
)

// A process that wants more than its group has is killed, and one that wants less is not.
func TestGroupsLimitMemory(t *testing.T) {
	for _, want := range []struct {
		mib   string
		kills int64
	}{{"8", 0}, {"200", 1}} {
		g, err := cgroup.Make("csmsql-cgroup-test-"+want.mib, 64<<20)
		if errors.Is(err, cgroup.ErrUnavailable) && os.Getenv(cgroup.Variable) != cgroup.Required {
			t.Skip(err)
		}
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, g.Close()) })
		c := exec.Command("dd", "if=/dev/zero", "of=/dev/null", "bs="+want.mib+"M", "count=1")
		g.Confine(c)
		err = c.Run()
		kills, killsErr := g.Kills()
		require.NoError(t, killsErr)
		require.Equal(t, want.kills, kills, "%v", err)
		require.Equal(t, want.kills > 0, err != nil, "%v", err)
		peak, err := g.Peak()
		require.NoError(t, err)
		require.LessOrEqual(t, peak, int64(64<<20))
		usage, err := g.Usage()
		require.NoError(t, err)
		require.Less(t, usage.Anonymous, int64(1<<20), "the process is gone")
	}
}
