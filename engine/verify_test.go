package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// TestVerifyHashesEveryByteOnce: whether a chunk was read before or not, VerifyChecksums compares each of its bytes once.
func TestVerifyHashesEveryByteOnce(t *testing.T) {
	config := engine.Config{Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 64 << 20}
	e, err := engine.Open(context.Background(), config)
	require.NoError(t, err)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i, 'text ' || i AS s FROM range(50000) r(i)")
	require.NoError(t, e.Close())

	e, err = engine.Open(context.Background(), config) // the next process has read nothing and trusts nothing
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, e.Close()) })
	live, err := e.LiveExtents(context.Background())
	require.NoError(t, err)
	var sealed int64
	for _, x := range live {
		sealed += x.Seal.Length
	}
	require.Positive(t, sealed)
	for _, what := range []string{"unread chunks", "chunks that were read"} {
		before := e.VerifiedBytes()
		require.NoError(t, e.VerifyChecksums(context.Background()))
		require.Equal(t, sealed, e.VerifiedBytes()-before, what)
	}
}
