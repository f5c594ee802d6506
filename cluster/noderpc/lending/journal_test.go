package lending

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/memregion"
)

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
