package bench

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the descriptor side costs by number of chunks, without the peers: for profiles.
func BenchmarkBorrowTable(b *testing.B) {
	o, err := Options{}.withDefaults()
	require.NoError(b, err)
	node, hello, err := startNode(b.Context(), o, 2<<30)
	require.NoError(b, err)
	defer func() { require.NoError(b, node.close()) }()
	for _, chunks := range []int64{1, 160, 640} {
		var made loaded
		require.NoError(b, node.ask(request{Do: "load", Rows: chunks * 2 * 122_880}, &made))
		b.Run(strconv.FormatInt(made.Chunks, 10), func(b *testing.B) {
			for b.Loop() {
				a, err := borrowTable(b.Context(), hello.Socket, benchTable)
				require.NoError(b, err)
				require.NoError(b, a.close())
			}
		})
	}
}
