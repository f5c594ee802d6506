package lending

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/memregion"
)

// Lines that this program never writes: what stands there may be outstanding, so nothing of the file is believed.
func TestLinesThatAreRefused(t *testing.T) {
	const ended = `{"Ended":{"Region":1,"Generation":2}}`
	orphan := func(offset, length int64) string {
		return fmt.Sprintf(`{"Orphan":{"Extent":{"Region":1,"Generation":2},"Range":{"Offset":%d,"Length":%d}}}`, offset, length)
	}
	live, err := decodeJournal(strings.NewReader(orphan(4096, 8192) + "\n" + orphan(4096, 8192)))
	require.NoError(t, err)
	require.Len(t, live, 1)
	for _, line := range []string{
		"", "{}", "[]", "5", `{"Ended":{"Region":"x","Generation":2}}`, ended[1:], `{"Orphan":5,` + ended[1:], orphan(0, 4096)[:len(orphan(0, 4096))-1] + "," + ended[1:],
		orphan(-4096, 4096), orphan(1, 4096), orphan(0, 0), orphan(0, -4096), orphan(0, 1), orphan(math.MaxInt64-4095, 8192),
	} {
		_, err := decodeJournal(strings.NewReader(ended + "\n" + line + "\n" + ended + "\n"))
		require.ErrorContains(t, err, "line 2 is damaged", line)
	}
}

// FuzzJournal: whatever is in the file, nothing panics, and no orphan lies where no region is.
func FuzzJournal(f *testing.F) {
	id := catalog.ExtentID{Region: 1, Generation: 2}
	line := func(e entry) []byte {
		data, err := json.Marshal(e)
		require.NoError(f, err)
		return append(data, '\n')
	}
	granted := line(entry{Orphan: &Orphan{Extent: id, Range: memregion.Range{Length: 4096}, Borrower: Borrower{"csmsql://node/a", noderpc.NewIncarnation()}, Process: noderpc.CurrentProcess()}})
	ended := line(entry{Ended: &id})
	for _, seed := range [][]byte{nil, granted, ended, append(granted, ended...), granted[:20], []byte("{}\n"), []byte(`{"Orphan":{"Range":{"Offset":-4096,"Length":4096}}}`)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		live, err := decodeJournal(bytes.NewReader(data))
		if err != nil {
			return
		}
		for id, o := range live {
			require.Equal(t, id, o.Extent)
			require.True(t, (memregion.Range{Length: 1<<63 - 1}).Contains(o.Range))
			require.Positive(t, o.Range.Length)
		}
	})
}
