package engine_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestErrorsOfBytesThatAreAnothersByNow: a lender that has restarted may have written over what an earlier snapshot
// still names. A statement that reads nonsense there fails because the lender has restarted, which can be repeated, and
// does not call the chunk damaged.
func TestErrorsOfBytesThatAreAnothersByNow(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	writer, reader := c.session(0), c.session(1)
	exec(t, writer, "CREATE TABLE words AS SELECT 's' || (range % 13) AS s, range AS v FROM range(2000)")
	extents, err := c.nodes[0].LiveExtents(t.Context())
	require.NoError(t, err)
	const question = "SELECT s, count(*) FROM words GROUP BY s ORDER BY s LIMIT 1"
	exec(t, reader, "SET csm.distribute = off")
	exec(t, reader, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	require.Equal(t, []string{"s0|154"}, rows(t, reader, question))

	c.stop(0)
	c.nodes[0] = c.open(0)
	for _, x := range extents {
		file, err := os.OpenFile(c.nodes[0].RegionSpec().Path, os.O_RDWR, 0)
		require.NoError(t, err)
		_, err = file.WriteAt(bytes.Repeat([]byte{0xdb}, int(x.Seal.Length)), x.Range.Offset)
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	fails(t, reader, "40001", question)
}
