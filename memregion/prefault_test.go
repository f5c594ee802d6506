package memregion_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/memregion"
)

func TestPrefault(t *testing.T) {
	l := lend(t, shmSpec(t, 64*mebibyte), memregion.LendOptions{})
	r := allocate(t, l, 40*mebibyte)
	fill(l.Bytes(r), 4)
	v, err := memregion.Borrow(l.Spec())
	require.NoError(t, err)
	defer func() { require.NoError(t, v.Close()) }()
	require.Zero(t, resident(t, v))
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, v.Prefault(cancelled, r), context.Canceled)
	require.Zero(t, resident(t, v))
	require.NoError(t, v.Prefault(context.Background(), r))
	require.Equal(t, r.Length, resident(t, v))
	require.NoError(t, l.Protect(r))
	require.NoError(t, l.View().Prefault(context.Background(), r), "of the lender's own map, too")

	require.ErrorIs(t, v.Prefault(context.Background(), memregion.Range{Offset: -1, Length: page}), memregion.ErrOutOfRange)
	require.NoError(t, os.Truncate(l.Spec().Path, mebibyte))
	require.ErrorIs(t, v.Prefault(context.Background(), r), memregion.ErrRegionShort)
}

// resident is how much of a map is in this process' page table.
func resident(t *testing.T, v *memregion.View) (bytes int64) {
	file, err := os.Open("/proc/self/smaps")
	require.NoError(t, err)
	defer file.Close()
	base, _ := v.Mapping()
	found := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if head := fmt.Sprintf("%x-", uint64(base)); strings.HasPrefix(lines.Text(), head) {
			found = true
		}
		if n, err := fmt.Sscanf(lines.Text(), "Rss: %d kB", &bytes); found && n == 1 && err == nil {
			return bytes << 10
		}
	}
	t.Fatal("the map is not listed")
	return 0
}
