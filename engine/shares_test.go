package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/ingest"
)

// The parts of a memory limit are no more than the whole, whatever it is.
func TestShares(t *testing.T) {
	for bytes := int64(1 << 20); bytes < 1<<42; bytes *= 3 {
		counted, process, chunk, parked, keys, text := engine.SharesOf(bytes)
		require.LessOrEqual(t, counted+parked, bytes)
		require.Equal(t, bytes+150<<20, process+engine.HeapAndKernelBytes, "the parts of the promise are the whole")
		require.LessOrEqual(t, chunk, max(bytes/8, ingest.GrowthBytes))
		require.LessOrEqual(t, chunk, int64(ingest.BytesPerChunk))
		require.LessOrEqual(t, keys*32, bytes/8)
		require.GreaterOrEqual(t, text, int64(1<<20))
	}
}

// Results that stand in the way of other statements share a part of the memory; what one gives back another may have.
func TestSuspendedResultsAreBounded(t *testing.T) {
	t.Parallel()
	e, err := engine.Open(context.Background(), engine.Config{
		Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 64 << 20, MemoryBytes: 64 << 20, Threads: 2,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	ctx := context.Background()
	suspend := func(rows string) (*engine.Session, *engine.Rows) {
		s, err := e.Session(engine.SessionOptions{})
		require.NoError(t, err)
		st, err := s.Prepare(ctx, "SELECT repeat('x', 1000 + i::int % 2) FROM range("+rows+") r(i)")
		require.NoError(t, err)
		result, err := st.Execute(ctx, nil)
		require.NoError(t, err)
		_, err = s.Exec(ctx, "SELECT abs(1)")
		require.NoError(t, err, "the other statement runs in any case")
		return s, result
	}
	read := func(r *engine.Rows) error {
		for {
			b, err := r.Next(ctx)
			if err != nil {
				return err
			}
			b.Release()
		}
	}
	first, five := suspend("5000")
	defer first.Close()
	require.Greater(t, e.ParkedBytes(), int64(4<<20))
	second, six := suspend("6000")
	defer second.Close()
	require.Equal(t, "53400", sqlState(read(six)), "both are more than an eighth of the memory")
	require.NoError(t, six.Close())
	require.EqualError(t, read(five), "EOF")
	require.NoError(t, five.Close())
	require.Zero(t, e.ParkedBytes())
	third, seven := suspend("7000")
	defer third.Close()
	require.EqualError(t, read(seven), "EOF")
	require.NoError(t, seven.Close())
	require.Zero(t, e.ParkedBytes())
}

// A statement whose tree would not fit is refused before it is parsed.
func TestStatementTextIsBounded(t *testing.T) {
	e, err := engine.Open(context.Background(), engine.Config{
		Directory: t.TempDir(), RegionDirectory: shmDirectory(t), RegionBytes: 64 << 20, MemoryBytes: 128 << 20, Threads: 1,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	s, err := e.Session(engine.SessionOptions{})
	require.NoError(t, err)
	long := func(bytes int) string { return "SELECT 1" + strings.Repeat(" ", bytes-len("SELECT 1")) }
	_, err = s.Exec(context.Background(), "SELECT '"+strings.Repeat("x", 900<<10)+"'")
	require.NoError(t, err)
	require.NoError(t, s.Fits(long(1<<20)))
	err = s.Fits(long(1<<20 + 1))
	require.Equal(t, "54000", sqlState(err))
	_, err = s.Prepare(context.Background(), long(1<<20+1))
	require.Equal(t, "54000", sqlState(err))
}
