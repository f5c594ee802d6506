package smaps

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSumMappings(t *testing.T) {
	const smaps = `100000000000-100004000000 r--s 00000000 00:1a 17                         /dev/shm/csmsql-x-1.region
Size:              65536 kB
Rss:                 120 kB
Pss:                  13 kB
Pss_Dirty:             5 kB
VmFlags: rd sh mr mw me ms sd
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
Rss:                   4 kB
Pss:                   4 kB
`
	pss, rss, err := sum(strings.NewReader(smaps), func(head string) bool { return strings.HasSuffix(head, " /dev/shm/csmsql-x-1.region") })
	require.NoError(t, err)
	require.Equal(t, int64(13<<10), pss)
	require.Equal(t, int64(120<<10), rss)
	pss, rss, err = sum(strings.NewReader(smaps), func(string) bool { return true })
	require.NoError(t, err)
	require.Equal(t, int64(17<<10), pss)
	require.Equal(t, int64(124<<10), rss)
	_, _, err = sum(strings.NewReader(smaps), func(string) bool { return false })
	require.Error(t, err)
}
