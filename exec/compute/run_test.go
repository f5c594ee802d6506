package compute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/csmsql/csmsql/exec/compute"
	"github.com/csmsql/csmsql/exec/plan"
)

// fixture is a table of n rows in chunks of the given size: id counts, s and m cycle through texts in the given layout.
func fixture(mem memory.Allocator, n, chunk, layout int) *table {
	columns := []plan.Column{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String},
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 15, Scale: 2}}, {Name: "b", Type: arrow.FixedWidthTypes.Boolean},
	}
	t := &table{relation: &plan.Relation{Schema: "main", Name: "r", Rows: int64(n), Columns: columns}}
	for from := 0; from < n; from += chunk {
		var rows [][]cell
		for i := from; i < min(from+chunk, n); i++ {
			row := []cell{big.NewInt(int64(i)), someTexts[i%len(someTexts)], big.NewInt(int64(i % 1000)), i%3 == 0}
			if i%7 == 0 {
				row[1+i%3] = nil
			}
			rows = append(rows, row)
		}
		t.chunks = append(t.chunks, buildChunk(mem, columns, rows, []int{layout, layout, layout, layout}))
		t.rows = append(t.rows, rows...)
	}
	return t
}

func start(t *testing.T, mem memory.Allocator, sql string, tab *table, source compute.Source, args ...any) (*compute.Reader, error) {
	t.Helper()
	q, unsupported := mustPlan(t, sql, tab.resolver())
	require.Nil(t, unsupported, "%v", unsupported)
	return compute.Run(context.Background(), q, func(context.Context, plan.TableScan) (compute.Source, error) {
		return source, nil
	}, args, 2, mem)
}

// TestColumnsPassInPlace attacks X2: plain columns are the source's very buffers, sliced by LIMIT and OFFSET.
func TestColumnsPassInPlace(t *testing.T) {
	for layout := range 4 {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		tab := fixture(mem, 100, 40, layout)
		r, err := start(t, mem, "SELECT d, id, s FROM r LIMIT 50 OFFSET 10", tab, &chunkSource{tab.chunks, []int{2, 0, 1}, new(int)})
		require.NoError(t, err)
		var sizes []int64
		for chunk := 0; r.Next(); chunk++ {
			sizes = append(sizes, r.RecordBatch().NumRows())
			for out, column := range []int{2, 0, 1} {
				want, got := tab.chunks[chunk].Column(column), r.RecordBatch().Column(out)
				require.Equal(t, want.DataType(), got.DataType())
				for i, b := range want.Data().Buffers() {
					require.Same(t, b, got.Data().Buffers()[i], "layout %d column %d buffer %d was copied", layout, column, i)
				}
			}
		}
		require.NoError(t, r.Err())
		require.Equal(t, []int64{30, 20}, sizes)
		r.Release()
		tab.release()
		mem.AssertSize(t, 0)
	}
}

// TestFilterEveryLayout watches the kernels: every layout, nulls, slices, against picking rows one by one.
func TestFilterEveryLayout(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		tab := drawTable(rt, mem, testColumns)
		defer tab.release()
		q, unsupported := mustPlan(rt, "SELECT * FROM r WHERE i > 0 OR b", tab.resolver())
		require.Nil(rt, unsupported)
		want, err := twin(q, tab.rows)
		require.NoError(rt, err)
		got, err := tab.run(rt, mem, q)
		require.NoError(rt, err)
		require.Equal(rt, describe(want), describe(got))
	})
}

// endless is a source that never ends and never fails by itself.
type endless struct {
	chunk  arrow.RecordBatch
	served int
	after  func(served int)
}

func (s *endless) Next(context.Context) (arrow.RecordBatch, error) {
	s.served++
	s.after(s.served)
	s.chunk.Retain()
	return s.chunk, nil
}

// TestCancelStops attacks X4: after cancel no further batch is read, whatever the shape of the plan.
func TestCancelStops(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	tab := fixture(mem, 50000, 50000, 1)
	for _, sql := range []string{"SELECT sum(id) FROM r", "SELECT id FROM r WHERE id < 0", "SELECT id + 1 FROM r", "SELECT id FROM r"} {
		q, unsupported := mustPlan(t, sql, tab.resolver())
		require.Nil(t, unsupported)
		ctx, cancel := context.WithCancel(context.Background())
		ids := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{tab.chunks[0].Schema().Field(0)}, nil), tab.chunks[0].Columns()[:1], 50000)
		source := &endless{chunk: ids, after: func(served int) {
			if served == 5 {
				cancel()
			}
		}}
		r, err := compute.Run(ctx, q, func(context.Context, plan.TableScan) (compute.Source, error) { return source, nil }, nil, 2, mem)
		require.NoError(t, err)
		for r.Next() {
		}
		require.ErrorIs(t, r.Err(), context.Canceled, sql)
		require.Equal(t, 5, source.served, sql)
		require.False(t, r.Next())
		r.Release()
		ids.Release()
	}
	tab.release()
	mem.AssertSize(t, 0)
}

// TestLimitStopsReading: a satisfied LIMIT asks for nothing more.
func TestLimitStopsReading(t *testing.T) {
	tab := fixture(memory.DefaultAllocator, 10, 10, 0)
	q, _ := mustPlan(t, "SELECT id FROM r LIMIT 25", tab.resolver())
	ids := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{tab.chunks[0].Schema().Field(0)}, nil), tab.chunks[0].Columns()[:1], 10)
	source := &endless{chunk: ids, after: func(int) {}}
	r, err := compute.Run(context.Background(), q, func(context.Context, plan.TableScan) (compute.Source, error) { return source, nil }, nil, 2, nil)
	require.NoError(t, err)
	rows := int64(0)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	require.EqualValues(t, 25, rows)
	require.Equal(t, 3, source.served)
	r.Release()
}

// failing is a source that breaks after some chunks.
type failing struct {
	chunkSource
	left int
}

var errBroken = errors.New("the lender is gone")

func (s *failing) Next(ctx context.Context) (arrow.RecordBatch, error) {
	if s.left--; s.left < 0 {
		return nil, errBroken
	}
	return s.chunkSource.Next(ctx)
}

// TestSourceErrors: the source's error is the run's error, at whatever point it comes, and nothing leaks (X6).
func TestSourceErrors(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	tab := fixture(mem, 100, 20, 3)
	for _, sql := range []string{"SELECT s FROM r", "SELECT count(s) FROM r", "SELECT s FROM r WHERE s LIKE 'a%'"} {
		for left := range 4 {
			closed := 0
			r, err := start(t, mem, sql, tab, &failing{chunkSource{tab.chunks, []int{1}, &closed}, left})
			if err == nil {
				for r.Next() {
				}
				err = r.Err()
				r.Release()
			}
			require.ErrorIs(t, err, errBroken, "%s after %d", sql, left)
			require.Equal(t, 1, closed)
		}
	}
	q, _ := mustPlan(t, "SELECT s FROM r", tab.resolver())
	_, err := compute.Run(context.Background(), q, func(context.Context, plan.TableScan) (compute.Source, error) { return nil, errBroken }, nil, 2, mem)
	require.ErrorIs(t, err, errBroken)
	tab.release()
	mem.AssertSize(t, 0)
}

func state(t *testing.T, err error) string {
	t.Helper()
	var s interface{ SQLState() string }
	require.True(t, errors.As(err, &s), "%v", err)
	return s.SQLState()
}

// TestErrors lists what goes wrong and how SQL sees it.
func TestErrors(t *testing.T) {
	tab := fixture(memory.DefaultAllocator, 10, 10, 0)
	for _, c := range []struct {
		sql      string
		args     []any
		sentinel error
		state    string
	}{
		{"SELECT 2147483647 + 1 AS c", nil, compute.ErrOverflow, "22003"},
		{"SELECT -(id + 9223372036854775800) AS c FROM r", nil, compute.ErrOverflow, "22003"},
		{"SELECT $1::int", []any{int64(math.MaxInt32 + 1)}, compute.ErrArgument, "22003"},
		{"SELECT $1::int", nil, compute.ErrArgument, "22023"},
		{"SELECT $1::int", []any{"5x"}, compute.ErrArgument, "22023"},
		{"SELECT $1::int", []any{2.5}, compute.ErrArgument, "22023"},
		{"SELECT id FROM r WHERE s = $1", []any{5}, compute.ErrArgument, "22023"},
		{"SELECT $1::date", []any{"2020-02-30"}, compute.ErrArgument, "22023"},
		{"SELECT $1::int, $1::text", []any{"5"}, compute.ErrArgument, "22023"},
		{"SELECT id FROM r LIMIT $1", []any{-1}, compute.ErrArgument, "2201W"},
	} {
		q, unsupported := mustPlan(t, c.sql, tab.resolver())
		require.Nil(t, unsupported, "%s: %v", c.sql, unsupported)
		_, err := tab.run(t, memory.DefaultAllocator, q, c.args...)
		require.ErrorIs(t, err, c.sentinel, c.sql)
		require.Equal(t, c.state, state(t, err), c.sql)
	}
}

// TestArguments: what a parameter may be, and what comes of it.
func TestArguments(t *testing.T) {
	tab := fixture(memory.DefaultAllocator, 100, 30, 2)
	noon := time.Date(2020, 1, 2, 12, 0, 0, 0, time.FixedZone("x", 3600))
	for _, c := range []struct {
		sql  string
		args []any
		want string
	}{
		{"SELECT $1::int, $2::text", []any{7, "x"}, `7 | "x" | `},
		{"SELECT $1::int2, $1::bigint", []any{"-12"}, `-12 | -12 | `},
		{"SELECT $1::bool, $2::float8", []any{true, 5}, `true | 5 | `},
		{"SELECT $1::date, $2::timestamp", []any{"1970-01-03", noon}, `2 | 1577966400000000 | `},
		{"SELECT $1::date", []any{arrow.Date32(9)}, `9 | `},
		{"SELECT $1::int", []any{nil}, `NULL | `},
		{"SELECT count(*) FROM r WHERE id < $1 AND s > $2", []any{int16(30), "a"}, `20 | `},
		{"SELECT count(*) FROM r WHERE d = $1", []any{5}, `0 | `},
		{"SELECT count(*) FROM r WHERE d = $1", []any{"0"}, `1 | `},
		{"SELECT id FROM r LIMIT $1 OFFSET $2", []any{1, int64(99)}, `99 | `},
		{"SELECT count(*) FROM r LIMIT $1", []any{nil}, `100 | `},
		{"SELECT count(*) FROM r LIMIT 0", nil, ``},
		{"SELECT count(*), sum(id), min(s) FROM r WHERE false", nil, `0 | NULL | NULL | `},
	} {
		q, unsupported := mustPlan(t, c.sql, tab.resolver())
		require.Nil(t, unsupported, "%s: %v", c.sql, unsupported)
		rows, err := tab.run(t, memory.DefaultAllocator, q, c.args...)
		require.NoError(t, err, c.sql)
		require.Equal(t, c.want, describe(rows), c.sql)
	}
}

// described says beforehand what all chunks are brought to.
type described struct {
	chunkSource
	schema *arrow.Schema
}

func (s *described) Schema() *arrow.Schema { return s.schema }

// TestMixedLayouts attacks X2 where chunks differ: with Schema they all come out alike, without it the run says what to
// do.
func TestMixedLayouts(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	tab := fixture(mem, 60, 20, 3)
	for i, layout := range []int{0, 1} {
		other := fixture(mem, 20*(i+2), 20, layout)
		tab.chunks[i+1].Release()
		tab.chunks[i+1] = other.chunks[i+1]
		for k, c := range other.chunks {
			if k != i+1 {
				c.Release()
			}
		}
	}
	want := tab.rows
	for _, text := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.StringView, arrow.BinaryTypes.LargeString} {
		for _, money := range []arrow.DataType{&arrow.Decimal64Type{Precision: 15, Scale: 2}, &arrow.Decimal128Type{Precision: 15, Scale: 2}} {
			schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: text}, {Name: "d", Type: money}}, nil)
			closed := 0
			r, err := start(t, mem, "SELECT s, d FROM r", tab, &described{chunkSource{tab.chunks, []int{1, 2}, &closed}, schema})
			require.NoError(t, err)
			at := 0
			for r.Next() {
				require.Equal(t, text, r.RecordBatch().Column(0).DataType())
				for i := range int(r.RecordBatch().NumRows()) {
					require.Equal(t, describeCell(want[at][1]), describeCell(readCell(r.RecordBatch().Column(0), i)))
					require.Equal(t, describeCell(want[at][2]), describeCell(readCell(r.RecordBatch().Column(1), i)))
					at++
				}
			}
			require.NoError(t, r.Err())
			require.Equal(t, 60, at)
			r.Release()
		}
	}
	r, err := start(t, mem, "SELECT s FROM r", tab, &chunkSource{tab.chunks, []int{1}, new(int)})
	require.NoError(t, err)
	for r.Next() {
	}
	require.ErrorIs(t, r.Err(), compute.ErrLayout)
	require.Equal(t, "XX000", state(t, r.Err()))
	r.Release()
	tab.release()
	mem.AssertSize(t, 0)
}

// TestForeignColumns attacks X3: a source that delivers something else is an error, not an answer.
func TestForeignColumns(t *testing.T) {
	tab := fixture(memory.DefaultAllocator, 10, 10, 0)
	for _, project := range [][]int{{1}, {2}, {0, 1}, {}} {
		for _, sql := range []string{"SELECT id FROM r", "SELECT sum(id) FROM r"} {
			r, err := start(t, memory.DefaultAllocator, sql, tab, &chunkSource{tab.chunks, project, new(int)})
			if err == nil {
				for r.Next() {
				}
				err = r.Err()
				r.Release()
			}
			require.ErrorIs(t, err, compute.ErrLayout, "%s from %v", sql, project)
		}
	}
}

// TestRowsOnly: count(*) reads no column at all, and a reader outlives nothing it should not.
func TestRowsOnly(t *testing.T) {
	tab := fixture(memory.DefaultAllocator, 100, 20, 0)
	closed := 0
	r, err := start(t, memory.DefaultAllocator, "SELECT count(*) FROM r", tab, &chunkSource{tab.chunks, nil, &closed})
	require.NoError(t, err)
	r.Retain()
	r.Release()
	require.Zero(t, closed)
	require.True(t, r.Next())
	require.EqualValues(t, 100, r.RecordBatch().Column(0).(*array.Int64).Value(0))
	r.Release()
	require.Equal(t, 1, closed)
	require.False(t, r.Next())
}

// repeated serves one chunk n times.
type repeated struct {
	chunk arrow.RecordBatch
	n     int
}

func (s *repeated) Next(context.Context) (arrow.RecordBatch, error) {
	if s.n--; s.n < 0 {
		return nil, io.EOF
	}
	s.chunk.Retain()
	return s.chunk, nil
}

// BenchmarkRun measures a million rows per plan, in the layouts of storage.
func BenchmarkRun(b *testing.B) {
	tab := fixture(memory.DefaultAllocator, 100_000, 100_000, 3)
	for _, sql := range []string{"SELECT count(*) FROM r", "SELECT * FROM r", "SELECT id FROM r WHERE id < 1000", "SELECT id, s FROM r WHERE s = 'a'",
		"SELECT sum(d), avg(d), count(*) FROM r WHERE id >= 10", "SELECT min(s), max(d) FROM r", "SELECT d * (1 - d) AS c FROM r"} {
		q, unsupported := mustPlan(b, sql, tab.resolver())
		require.Nil(b, unsupported)
		var columns []arrow.Array
		var fields []arrow.Field
		for _, c := range q.Table.Project {
			columns, fields = append(columns, tab.chunks[0].Column(c)), append(fields, tab.chunks[0].Schema().Field(c))
		}
		chunk := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, 100_000)
		b.Run(fmt.Sprint(sql), func(b *testing.B) {
			for b.Loop() {
				r, err := compute.Run(context.Background(), q, func(context.Context, plan.TableScan) (compute.Source, error) { return &repeated{chunk, 10}, nil }, nil, 2, nil)
				if err != nil {
					b.Fatal(err)
				}
				for r.Next() {
				}
				if r.Err() != nil {
					b.Fatal(r.Err())
				}
				r.Release()
			}
		})
	}
}
