package record_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog/record"
	"github.com/csmsql/csmsql/memregion"
)

// What an attached process is sent with each snapshot hardly grows with the nodes of the cluster.
func TestPartialSnapshotsAreSmall(t *testing.T) {
	size := func(nodes int, partial bool) int {
		s := &record.Snapshot{Revision: 7, Lease: 5, Schemas: []string{"public", "sales"}, Partial: partial}
		for i := range nodes {
			s.Regions = append(s.Regions, record.Region{Node: fmt.Sprintf("node%02d", i), Generations: 1 << 20, Spec: memregion.Spec{
				ID: memregion.RegionID(1 + 1024*i), Base: memregion.Addr(0x4000_0000_0000 + i<<37), Capacity: 64 << 20, Fabric: "shm",
				Path: fmt.Sprintf("/dev/shm/csmsql-0b1c2d3e4f5a6978/node%02d/1.region", i), BootID: "8f0f3f0a-3a6a-4a53-9f38-2b0d0e0f1a2b",
			}})
		}
		data := s.Encode()
		received, err := record.DecodeSnapshot(data)
		require.NoError(t, err)
		require.Equal(t, s, received)
		if partial && nodes > 3 {
			for cut := range data {
				_, err := record.DecodeSnapshot(data[:cut])
				require.Error(t, err)
			}
		}
		return len(data)
	}
	require.Less(t, size(16, true), 2*size(3, true))
	require.Greater(t, size(16, false), 4*size(3, false))
}
