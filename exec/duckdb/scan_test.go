package duckdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// D2: test data lies in C memory, as a region's data does.
var offHeap = mallocator.NewMallocator()

func open(t testing.TB) (*duckdb.Database, *duckdb.Connection) {
	t.Helper()
	db, err := duckdb.Open(duckdb.Options{Threads: 2})
	require.NoError(t, err)
	c, err := db.Connect(nil)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close(); db.Close() })
	return db, c
}

// scanOf shows batches as chunks of one table.
func scanOf(schema *arrow.Schema, batches ...arrow.RecordBatch) *duckdb.Scan {
	s := &duckdb.Scan{Schema: schema, Chunks: len(batches)}
	for _, b := range batches {
		s.Rows += b.NumRows()
	}
	s.Open = func(chunk int, columns []int) (arrow.RecordBatch, error) {
		b := batches[chunk]
		fields := make([]arrow.Field, len(columns))
		arrays := make([]arrow.Array, len(columns))
		for i, c := range columns {
			fields[i], arrays[i] = b.Schema().Field(c), b.Column(c)
		}
		return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, b.NumRows()), nil
	}
	return s
}

// ask returns the rows as text.
func ask(t testing.TB, c *duckdb.Connection, sql string) []string {
	t.Helper()
	out, err := tryAsk(c, sql)
	require.NoError(t, err, sql)
	return out
}

func tryAsk(c *duckdb.Connection, sql string) (out []string, err error) {
	s, err := c.Prepare(sql)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	rows, err := s.Execute(context.Background())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	return read(rows)
}

// read gives the rows that are left as text.
func read(rows *duckdb.Rows) (out []string, err error) {
	for {
		b, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		for r := range int(b.NumRows()) {
			line := ""
			for i := range int(b.NumCols()) {
				if i > 0 {
					line += "|"
				}
				line += b.Column(i).ValueStr(r)
			}
			out = append(out, strings.Clone(line)) // the text lies in the batch, which goes
		}
		b.Release()
	}
}

func numbers(t testing.TB, rows int) (*arrow.Schema, arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int64}, {Name: "c", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	builder := array.NewRecordBuilder(offHeap, schema)
	defer builder.Release()
	for i := range int64(rows) {
		for k, factor := range []int64{1, 10, 100} {
			builder.Field(k).(*array.Int64Builder).Append(i * factor)
		}
	}
	batch := builder.NewRecordBatch()
	t.Cleanup(batch.Release)
	return schema, batch
}

// The first test of the package: what DuckDB's own Arrow scan gets wrong.
func TestScanReadsWhatWasAskedFor(t *testing.T) {
	_, c := open(t)
	schema, batch := numbers(t, 10)
	number := c.Register(scanOf(schema, batch))
	defer c.Forget(number)
	require.NoError(t, c.Exec(fmt.Sprintf("CREATE TEMP VIEW t AS SELECT * FROM csm_scan(%d)", number)))
	require.Equal(t, []string{"4500"}, ask(t, c, "SELECT sum(c) FROM t"))
	require.Equal(t, []string{"5|50|500"}, ask(t, c, "SELECT * FROM t WHERE b = 50"))
	require.Equal(t, []string{"450"}, ask(t, c, "SELECT sum(b) FROM t"))
	require.Equal(t, []string{"450"}, ask(t, c, "SELECT sum(b) FROM t"), "the same view twice")
	require.Equal(t, []string{"10|4500"}, ask(t, c, "SELECT count(*), sum(y.c) FROM t x JOIN t y ON x.b = y.b"))
	require.Equal(t, []string{"10"}, ask(t, c, "SELECT count(*) FROM t"))
	require.Equal(t, []string{"900|0"}, ask(t, c, "SELECT c, a - b / 10 FROM t ORDER BY a DESC LIMIT 1"))
	require.Equal(t, []string{"9"}, ask(t, c, "WITH x AS (SELECT * FROM t) SELECT max(p.a) FROM x p, x q WHERE p.a = q.a"))
}

func TestScanManyChunks(t *testing.T) {
	_, c := open(t)
	schema, batch := numbers(t, 300_000)
	_, empty := numbers(t, 0)
	slice := batch.NewSlice(100_001, 250_002)
	defer slice.Release()
	number := c.Register(scanOf(schema, batch, empty, slice, batch))
	defer c.Forget(number)
	from := fmt.Sprintf(" FROM csm_scan(%d)", number)
	require.Equal(t, []string{"750001"}, ask(t, c, "SELECT count(*)"+from))
	want := 2*int64(299_999)*300_000/2 + (int64(250_001)*250_002-int64(100_000)*100_001)/2
	require.Equal(t, []string{fmt.Sprint(want)}, ask(t, c, "SELECT sum(a)"+from))
}

// A statement that waits for what another thread does for it leaves the processor to others. Which of its threads has the
// long row is chance.
func TestWaitingTakesNoProcessor(t *testing.T) {
	const times, share = 200, 0.2 // where processors are busy the other thread seldom comes to the long task first
	_, c := open(t)
	schema, batch := numbers(t, 130_000)
	_, long := numbers(t, 130_001)
	number := c.Register(scanOf(schema, batch, long))
	defer c.Forget(number)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func(clock int32) time.Duration {
		var spec unix.Timespec
		require.NoError(t, unix.ClockGettime(clock, &spec))
		return time.Duration(spec.Nano())
	}
	least := 1.0
	for i := 0; i < times && least >= share; i++ {
		thread, process := used(unix.CLOCK_THREAD_CPUTIME_ID), used(unix.CLOCK_PROCESS_CPUTIME_ID)
		require.Equal(t, []string{"9000"}, ask(t, c, fmt.Sprintf("SELECT max(CASE WHEN a = 130000 THEN "+
			"levenshtein(repeat('a', 9000), repeat('b', a::int - 121001)) END) FROM csm_scan(%d)", number)))
		thread, process = used(unix.CLOCK_THREAD_CPUTIME_ID)-thread, used(unix.CLOCK_PROCESS_CPUTIME_ID)-process
		least = min(least, float64(thread)/float64(process))
	}
	require.Less(t, least, share, "its part of what the statement took")
}
