package catalog_test

import (
	"os"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/catalog/chunk"
	"github.com/csmsql/csmsql/catalog/internal/lendertest"
	"github.com/csmsql/csmsql/catalog/store"
)

// bigChunks is the size at which Vineyard took minutes (v6d#179).
const bigChunks = 21_000

var threeColumns = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "name", Type: arrow.BinaryTypes.StringView}, {Name: "price", Type: arrow.PrimitiveTypes.Float64},
}, nil)

type bigTable struct {
	directory string
	lender    *lendertest.Lender
	chunks    []*catalog.Chunk
}

// newBig seals the chunks of a table with three columns in a region; the store lies where the temporary directory does.
func newBig(b *testing.B, chunks int) *bigTable {
	t := &bigTable{directory: b.TempDir(), lender: lendertest.New(b, 1, lendertest.NewMemory(int64(chunks)*4096+64<<20), 0)}
	builder := array.NewRecordBuilder(memory.NewGoAllocator(), threeColumns)
	for i := range chunks {
		for k := range 8 {
			builder.Field(0).(*array.Int64Builder).Append(int64(8*i + k))
			builder.Field(1).(*array.StringViewBuilder).Append("a name of some length")
			builder.Field(2).(*array.Float64Builder).Append(float64(i) / 7)
		}
		c, err := chunk.NewWriter(t.lender, "t", 4096).Seal(ctx, builder.NewRecordBatch(), chunk.SealOptions{SkipValidation: true})
		require.NoError(b, err)
		t.chunks = append(t.chunks, c)
	}
	return t
}

func (t *bigTable) open(b *testing.B, options catalog.Options) (*store.Bolt, *catalog.Catalog) {
	s, err := store.OpenBolt(t.directory)
	require.NoError(b, err)
	options.InitialSchemas = []string{"public"}
	c, err := catalog.Open(ctx, s, catalog.Homes{1: t.lender.Home.Home}, options)
	require.NoError(b, err)
	return s, c
}

func publish(b *testing.B, c *catalog.Catalog, chunks []*catalog.Chunk) {
	s, err := c.Snapshot(ctx, catalog.Holder{})
	require.NoError(b, err)
	defer s.Close()
	tx := c.Begin(s)
	_, err = tx.CreateTable(ctx, tableA, threeColumns, catalog.TableOptions{})
	require.NoError(b, err)
	require.NoError(b, tx.Append(tableA, chunks))
	require.NoError(b, tx.Commit(ctx))
}

// BenchmarkPublish21000 is one commit of 21,000 sealed chunks, bbolt with fsync.
func BenchmarkPublish21000(b *testing.B) {
	for range b.N {
		b.StopTimer()
		t := newBig(b, bigChunks)
		s, c := t.open(b, catalog.Options{})
		b.StartTimer()
		publish(b, c, t.chunks)
		b.StopTimer()
		info, err := os.Stat(t.directory + "/" + store.FileName)
		require.NoError(b, err)
		b.ReportMetric(float64(info.Size())/1e6, "file-MB")
		require.NoError(b, s.Close())
	}
}

// BenchmarkAttach21000: catalog opened from the file, snapshot, table version, first chunk with its record batch; then
// the same by a remote snapshot.
func BenchmarkAttach21000(b *testing.B) {
	t := newBig(b, bigChunks)
	s, c := t.open(b, catalog.Options{})
	publish(b, c, t.chunks)
	first := func(s *catalog.Snapshot) {
		v, ok := s.Table(tableA)
		require.True(b, ok)
		require.Equal(b, bigChunks, v.NumChunks())
		chunk, err := v.Chunk(ctx, 0)
		require.NoError(b, err)
		_, err = chunk.Descriptor().Record(t.lender.Resolve)
		require.NoError(b, err)
		s.Close()
	}
	local, err := c.Snapshot(ctx, catalog.Holder{})
	require.NoError(b, err)
	record, err := c.Record(local)
	require.NoError(b, err)
	encoded := record.Encode()
	b.Run("remote", func(b *testing.B) {
		b.ReportMetric(float64(len(encoded)), "record-bytes")
		for range b.N {
			r, err := catalog.DecodeSnapshotRecord(encoded)
			require.NoError(b, err)
			remote, err := catalog.NewRemoteSnapshot(r, c, catalog.RemoteOptions{})
			require.NoError(b, err)
			first(remote)
		}
	})
	b.Run("all-descriptors", func(b *testing.B) {
		for range b.N {
			r, err := catalog.DecodeSnapshotRecord(encoded)
			require.NoError(b, err)
			remote, err := catalog.NewRemoteSnapshot(r, c, catalog.RemoteOptions{})
			require.NoError(b, err)
			v, _ := remote.Table(tableA)
			for _, err := range v.Chunks(ctx) {
				require.NoError(b, err)
			}
		}
	})
	local.Close()
	require.NoError(b, s.Close())
	b.Run("store", func(b *testing.B) {
		for range b.N {
			s, c := t.open(b, catalog.Options{})
			snapshot, err := c.Snapshot(ctx, catalog.Holder{})
			require.NoError(b, err)
			first(snapshot)
			b.StopTimer()
			require.Empty(b, c.Leases())
			// The pins of the home stay on the current revision; this process goes on with the same lender.
			t.lender.ExpireDomain("local")
			require.NoError(b, s.Close())
			b.StartTimer()
		}
	})
}

// BenchmarkSnapshot is a lease taken and given back, with 100 tables.
func BenchmarkSnapshot(b *testing.B) {
	t := newBig(b, 100)
	s, c := t.open(b, catalog.Options{})
	for i, chunk := range t.chunks {
		snapshot, err := c.Snapshot(ctx, catalog.Holder{})
		require.NoError(b, err)
		tx := c.Begin(snapshot)
		name := catalog.TableName{Schema: "public", Name: string(rune('a'+i/26)) + string(rune('a'+i%26))}
		_, err = tx.CreateTable(ctx, name, threeColumns, catalog.TableOptions{})
		require.NoError(b, err)
		require.NoError(b, tx.Append(name, []*catalog.Chunk{chunk}))
		require.NoError(b, tx.Commit(ctx))
		snapshot.Close()
	}
	b.ReportAllocs()
	for b.Loop() {
		snapshot, err := c.Snapshot(ctx, catalog.Holder{})
		if err != nil {
			b.Fatal(err)
		}
		snapshot.Close()
	}
	b.StopTimer()
	require.NoError(b, s.Close())
}

// BenchmarkSmallInsert is a durable commit of one chunk to a table that has many.
func BenchmarkSmallInsert(b *testing.B) {
	t := newBig(b, 1000)
	s, c := t.open(b, catalog.Options{Now: time.Now})
	publish(b, c, t.chunks)
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		one := sealOne(b, t.lender)
		b.StartTimer()
		snapshot, err := c.Snapshot(ctx, catalog.Holder{})
		require.NoError(b, err)
		tx := c.Begin(snapshot)
		require.NoError(b, tx.Append(tableA, []*catalog.Chunk{one}))
		require.NoError(b, tx.Commit(ctx))
		snapshot.Close()
	}
	b.StopTimer()
	require.NoError(b, s.Close())
}

func sealOne(b *testing.B, l *lendertest.Lender) *catalog.Chunk {
	builder := array.NewRecordBuilder(memory.NewGoAllocator(), threeColumns)
	builder.Field(0).(*array.Int64Builder).Append(1)
	builder.Field(1).(*array.StringViewBuilder).Append("one")
	builder.Field(2).(*array.Float64Builder).Append(1)
	c, err := chunk.NewWriter(l, "t", 4096).Seal(ctx, builder.NewRecordBatch(), chunk.SealOptions{})
	require.NoError(b, err)
	return c
}
