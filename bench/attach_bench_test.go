package bench

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/ingest"
)

// What the descriptor side costs by number of chunks, without the peers: for profiles.
func BenchmarkBorrowTable(b *testing.B) {
	o, err := Options{}.withDefaults()
	require.NoError(b, err)
	node, hello, err := startNode(b.Context(), o, 2<<30)
	require.NoError(b, err)
	defer func() { require.NoError(b, node.close()) }()
	for _, chunks := range []int64{1, 40, 160} {
		var made loaded
		require.NoError(b, node.ask(request{Do: "load", Rows: chunks * ingest.RowsPerChunkMax}, &made))
		b.Run(strconv.FormatInt(made.Chunks, 10), func(b *testing.B) {
			for b.Loop() {
				a, err := borrowTable(b.Context(), hello.Socket, benchTable)
				require.NoError(b, err)
				require.NoError(b, a.close())
			}
		})
	}
}
