package engine_test

import (
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
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

// Verify names every replica that is damaged or not there, and goes on; what it was not asked for it does not look at.
func TestVerifyNamesWhatIsDamaged(t *testing.T) {
	t.Parallel()
	c, ctx := newCluster(t, 2), t.Context()
	s := c.session(0)
	exec(t, s, "CREATE TABLE pair WITH (placement = 'node(n1)', replicas = 2) AS SELECT i FROM range(5000) r(i)")
	exec(t, s, "CREATE TABLE single WITH (placement = 'node(n1)') AS SELECT i FROM range(300) r(i)")
	exec(t, s, "INSERT INTO single SELECT i FROM range(7) r(i)")
	e := c.nodes[0]
	var reports []noderpc.Progress
	verify := func(tables ...string) noderpc.VerifyResult {
		var request noderpc.VerifyRequest
		for _, name := range tables {
			request.Tables = append(request.Tables, catalog.TableName{Name: name})
		}
		reports = nil
		r, err := e.Verify(ctx, request, func(p noderpc.Progress) { reports = append(reports, p) })
		require.NoError(t, err)
		return r
	}
	whole := verify()
	require.Empty(t, whole.Damaged)
	require.Equal(t, []int64{2, 3, 4}, []int64{whole.Tables, whole.Chunks, whole.Replicas})
	require.Equal(t, noderpc.Progress{Step: "public.single", Rows: 307, RowsTotal: 307, Bytes: reports[2].BytesTotal, BytesTotal: reports[2].BytesTotal}, reports[2])

	file, err := os.OpenFile(c.nodes[1].RegionSpec().Path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer file.Close()
	extents, err := e.LiveExtents(ctx)
	require.NoError(t, err)
	for _, x := range extents {
		if x.Region == c.nodes[1].RegionSpec().ID {
			flip(t, file, x.Range.Offset+x.Seal.Length/2, 1)
		}
	}
	c.nodes[1].DropAll() // where its cache is snooped, it answers as long as it has the lines
	r := verify("single", "pair", "single")
	require.EqualValues(t, 2, r.Tables, "a table that is named twice is one")
	type found struct {
		table       string
		chunk, rows int64
		first       int64
		node        string
		spared      bool
	}
	var list []found
	for _, d := range r.Damaged {
		require.Contains(t, d.Reason, "checksum")
		list = append(list, found{d.Table, d.Chunk, d.Rows, d.FirstRow, d.Node, d.Spared})
	}
	require.Equal(t, []found{{"single", 0, 300, 0, "n1", false}, {"single", 1, 7, 300, "n1", false}, {"pair", 0, 5000, 0, "n1", true}}, list)
	require.Len(t, verify("pair").Damaged, 1)
	require.ErrorContains(t, e.VerifyChecksums(ctx), "single")
	_, err = e.Verify(ctx, noderpc.VerifyRequest{Tables: []catalog.TableName{{Name: "none"}}}, nil)
	require.Equal(t, "42P01", state(t, err))
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = e.Verify(cancelled, noderpc.VerifyRequest{}, nil)
	require.ErrorIs(t, err, context.Canceled)
}
