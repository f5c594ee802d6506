package bench

import (
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestTableSizes(t *testing.T) {
	sizes := tableSizes(fullRows, 20)
	require.Len(t, sizes, 20)
	require.Equal(t, int64(300), sizes[0])
	require.Equal(t, int64(157_286_400), sizes[19])
	require.Equal(t, []int64{1, 2}, tableSizes(2, 100))
	require.Equal(t, []int64{7}, tableSizes(7, 1))
}

func batchOf(mem memory.Allocator, rows int64) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.PrimitiveTypes.Int8}, {Name: "c", Type: arrow.PrimitiveTypes.Uint16}}, nil)
	b := array.NewRecordBuilder(mem, schema)
	defer b.Release()
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(i*1000003 - 77)
		b.Field(1).(*array.Int8Builder).Append(int8(i*7%251 - 125))
		b.Field(2).(*array.Uint16Builder).Append(uint16(i * 40503 % 65521))
	}
	return b.NewRecordBatch()
}

// The formula of SQL and the formula of Go are the same one; and one wrong value is seen.
func TestSums(t *testing.T) {
	batch := batchOf(memory.DefaultAllocator, 1000)
	defer batch.Release()
	got, err := sumsOf([]arrow.RecordBatch{batch})
	require.NoError(t, err)
	require.NoError(t, got.check("this side", expectedSums(1000)))
	got.C++
	require.ErrorContains(t, got.check("this side", expectedSums(1000)), "this side gives a wrong answer")
	short := array.NewRecordBatch(arrow.NewSchema(nil, nil), nil, 3)
	_, err = sumsOf([]arrow.RecordBatch{short})
	require.Error(t, err)
}

// The counter sees a copy in both ways in which it looks, and sees none where there is none.
func TestCopyCounter(t *testing.T) {
	counter := newCopyCounter(memory.DefaultAllocator)
	batch := batchOf(counter, 100)
	defer batch.Release()
	batches := []arrow.RecordBatch{batch}
	require.GreaterOrEqual(t, counter.allocated.Load(), int64(100*bytesOfRow))

	innocent := newCopyCounter(memory.DefaultAllocator)
	var mapped []span
	for _, column := range batch.Columns() {
		for _, buffer := range column.Data().Buffers() {
			if buffer != nil {
				mapped = append(mapped, span{address(buffer.Bytes()), address(buffer.Bytes()) + uintptr(buffer.Len())})
			}
		}
	}
	require.Zero(t, innocent.copied(batches, mapped))
	values := batch.Column(0).Data().Buffers()[1]
	for i, s := range mapped { // a mapping that is a byte short does not hold the buffer
		if s.from == address(values.Bytes()) {
			mapped[i].to--
		}
	}
	require.Equal(t, int64(values.Len()), innocent.copied(batches, mapped))
	require.GreaterOrEqual(t, innocent.copied(batches, nil), int64(100*bytesOfRow), "without a mapping all is copied")
	grown := innocent.Reallocate(64, innocent.Allocate(16))
	require.Len(t, grown, 64)
	require.Equal(t, int64(64), innocent.allocated.Load())
}

func TestModulo64(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-1": -1, "18446744073709551615": -1, "36893488147419103233": 1, "-9223372036854775809": 1<<63 - 1} {
		got, err := modulo64(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	_, err := modulo64("1e5")
	require.Error(t, err)
}

// The client's hash depends on every byte of every row and not on the order of rows; large messages do not trouble it.
func TestDrain(t *testing.T) {
	ask := func(rows ...string) drained {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			backend := pgproto3.NewBackend(server, server)
			if _, err := backend.Receive(); err != nil {
				return
			}
			for _, row := range rows {
				backend.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(row), nil}})
			}
			backend.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			_ = backend.Flush() // the client sees it otherwise
		}()
		d := newDrainOver(client)
		got, err := d.query(t.Context(), "SELECT")
		require.NoError(t, err)
		return got
	}
	large := strings.Repeat("x", 2*drainBuffer)
	got := ask("a", "b", large)
	require.Equal(t, int64(3), got.rows)
	require.Equal(t, got, ask(large, "b", "a"))
	require.NotEqual(t, got.hash, ask("a", "c", large).hash)
	require.NotEqual(t, got.hash, ask("a", "b", large+"x").hash)
}

func TestDrainTellsErrors(t *testing.T) {
	client, server := net.Pipe()
	go func() {
		backend := pgproto3.NewBackend(server, server)
		if _, err := backend.Receive(); err != nil {
			return
		}
		backend.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "42P01", Message: "no such table"})
		_ = backend.Flush() // as above
	}()
	_, err := newDrainOver(client).query(t.Context(), "SELECT")
	require.ErrorContains(t, err, "no such table")
}

// A process that is started on some processors has only those, and its parent has all of its own again.
func TestKeptToProcessors(t *testing.T) {
	var before, after unix.CPUSet
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	require.NoError(t, unix.SchedGetaffinity(0, &before))
	at := apart(1)
	if at[0] == nil {
		t.Skip("one processor")
	}
	require.NotEqual(t, at[0], at[1])
	require.Equal(t, [2][]int{}, apart(before.Count()), "there are not twice as many as there are")
	for _, processors := range at {
		require.NoError(t, keptTo(processors, func() error {
			said, err := exec.Command("grep", "Cpus_allowed_list", "/proc/self/status").Output()
			require.Regexp(t, fmt.Sprintf(`:\s*%d\n$`, processors[0]), string(said))
			return err
		}))
	}
	require.NoError(t, unix.SchedGetaffinity(0, &after))
	require.Equal(t, before, after)
}

// The ratio of pairs is not that of medians: what disturbs both of a pair disturbs neither's ratio.
func TestMedianRatio(t *testing.T) {
	require.Equal(t, 2.0, medianRatio([]time.Duration{2, 20, 6}, []time.Duration{1, 10, 6}))
	require.Equal(t, 1.5, medianRatio([]time.Duration{2, 1}, []time.Duration{1, 1}))
}
