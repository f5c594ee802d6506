package wire_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/sql/lex"
	"github.com/csmsql/csmsql/wire"
)

// wideBackend answers every query with the same batch, over and over: what is measured is this package alone.
type wideBackend struct {
	fakeBackend
	batch arrow.RecordBatch
	times int
}

func (b *wideBackend) Open(context.Context, wire.Startup) (wire.Session, error) {
	return &wideSession{fakeSession{backend: &b.fakeBackend, status: wire.TxIdle}, b}, nil
}

type wideSession struct {
	fakeSession
	wide *wideBackend
}

func (s *wideSession) Prepare(context.Context, *lex.Text, []uint32) (wire.Statement, error) {
	return s, nil
}
func (s *wideSession) Parameters() []uint32  { return nil }
func (s *wideSession) Fields() *arrow.Schema { return s.wide.batch.Schema() }
func (s *wideSession) Close() error          { return nil }

func (s *wideSession) Execute(context.Context, []wire.Value) (wire.Result, error) {
	return &wideResult{s.wide.batch, s.wide.times}, nil
}

type wideResult struct {
	batch arrow.RecordBatch
	left  int
}

func (r *wideResult) Next(context.Context) (arrow.RecordBatch, error) {
	if r.left--; r.left < 0 {
		return nil, io.EOF
	}
	return r.batch, nil
}
func (r *wideResult) CommandTag() string { return "SELECT" }
func (r *wideResult) Close() error       { return nil }

// wideBatch has 16 columns as TPC-H's lineitem.
func wideBatch(rows int) arrow.RecordBatch {
	dictionary := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint8, ValueType: arrow.BinaryTypes.String}
	money := &arrow.Decimal64Type{Precision: 15, Scale: 2}
	types := []arrow.DataType{
		arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32,
		money, money, money, money, dictionary, dictionary, arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date32,
		arrow.FixedWidthTypes.Date32, dictionary, dictionary, arrow.BinaryTypes.StringView,
	}
	fields := make([]arrow.Field, len(types))
	for i := range types {
		fields[i] = arrow.Field{Name: string(rune('a' + i)), Type: types[i]}
	}
	builder := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	for row := range rows {
		for i := range types {
			switch column := builder.Field(i).(type) {
			case *array.Int64Builder:
				column.Append(int64(row*7919) % 6_000_000)
			case *array.Int32Builder:
				column.Append(int32(row % 7))
			case *array.Decimal64Builder:
				column.Append(decimal.Decimal64(row*131%10_000_000 + i))
			case *array.BinaryDictionaryBuilder:
				column.AppendString([]string{"DELIVER IN PERSON", "N", "TRUCK"}[(row+i)%3])
			case *array.Date32Builder:
				column.Append(arrow.Date32(8000 + row*37%2500))
			case *array.StringViewBuilder:
				column.Append("carefully final deposits sleep"[:10+row%20])
			}
		}
	}
	return builder.NewRecordBatch()
}

// BenchmarkEgress sends 1,000,000 rows × 16 columns over a unix socket to a client that only counts bytes, or SELECT 1.
func BenchmarkEgress(b *testing.B) {
	b.Run("million", func(b *testing.B) {
		benchmarkEgress(b, &wideBackend{batch: wideBatch(2048), times: 1_000_000/2048 + 1})
	})
	one := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "?column?", Type: arrow.PrimitiveTypes.Int32}}, nil),
		[]arrow.Array{wideBatch(1).Column(3)}, 1)
	b.Run("one", func(b *testing.B) { benchmarkEgress(b, &wideBackend{batch: one, times: 1}) })
}

func benchmarkEgress(b *testing.B, backend *wideBackend) {
	path := filepath.Join(b.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	require.NoError(b, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	server := wire.NewServer(backend, wire.Options{})
	go func() { done <- server.Serve(ctx, listener) }()
	network, err := net.Dial("unix", path)
	require.NoError(b, err)
	buffer := make([]byte, 1<<20)
	start, _ := (&pgproto3.StartupMessage{ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": "a"}}).Encode(nil)
	query, _ := (&pgproto3.Query{String: "SELECT"}).Encode(nil)
	drain := func(message []byte) (total int) {
		_, err := network.Write(message)
		require.NoError(b, err)
		for {
			n, err := network.Read(buffer)
			require.NoError(b, err)
			if total += n; bytes.HasSuffix(buffer[:n], []byte("Z\x00\x00\x00\x05I")) {
				return total
			}
		}
	}
	drain(start)
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(drain(query)))
	}
	network.Close()
	stop()
	require.NoError(b, <-done)
}

// BenchmarkPreparedSelect is the extended protocol with a real driver: one round trip of Bind, Describe, Execute and Sync.
func BenchmarkPreparedSelect(b *testing.B) {
	s := startServer(b, wire.Options{})
	conn := s.connect(b, "")
	ctx := context.Background()
	var one int
	for b.Loop() {
		require.NoError(b, conn.QueryRow(ctx, "SELECT 1").Scan(&one))
	}
}
