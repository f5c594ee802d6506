package textblock

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// fake is a block of one column with some numbers.
type fake struct {
	first, rows int
	failed      error
	panics      bool
}

func (f *fake) Size() int        { return 10 * f.rows }
func (f *fake) Values() int      { return f.rows }
func (f *fake) Line(row int) int { return f.first + row + 1 }

func (f *fake) Rows() (text []byte, fields []int32, err error) {
	if f.panics {
		panic("of a block")
	}
	time.Sleep(time.Duration(rand.IntN(200)) * time.Microsecond)
	for row := range f.rows {
		from := len(text)
		text = strconv.AppendInt(text, int64(f.first+row), 10)
		fields = append(fields, int32(from), int32(len(text)))
	}
	return text, fields, f.failed
}

// stream gives blocks, and keeps account.
type stream struct {
	blocks  []Block
	end     error
	waits   chan struct{} // closed by Stop; nil: no Next waits
	stopped sync.Once
	most    int64

	mu    sync.Mutex
	taken int64
	peak  int64
	short int // how often there is no memory for other goroutines
}

func (s *stream) source() Source {
	return Source{Columns: 1, Stop: func() {
		if s.waits != nil {
			s.stopped.Do(func() { close(s.waits) })
		}
	}, Next: func(int) (Block, error) {
		if len(s.blocks) == 0 {
			if s.waits != nil {
				<-s.waits
			}
			return nil, s.end
		}
		b := s.blocks[0]
		s.blocks = s.blocks[1:]
		return b, nil
	}}
}

func (s *stream) memory() Memory {
	take := func(bytes int64) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken += bytes
		s.peak = max(s.peak, s.taken)
		return nil
	}
	return Memory{Take: take, Most: s.most, TakeAside: func(bytes int64) error {
		s.mu.Lock()
		if s.short > 0 {
			s.short--
			s.mu.Unlock()
			return errors.New("memory is short")
		}
		s.mu.Unlock()
		return take(bytes)
	}, Give: func(bytes int64) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.taken -= bytes
	}}
}

func many(n int) (blocks []Block) {
	for i := range n {
		blocks = append(blocks, &fake{first: 100 * i, rows: 100})
	}
	return blocks
}

// each runs Each and gives the values that were handed over. Whatever happens, nothing is left (TB3).
func each(t *testing.T, ctx context.Context, s *stream, threads int, take func(*Batch) error) (values []int64, err error) {
	t.Helper()
	if s.most == 0 {
		s.most = 1 << 20
	}
	before := duckdb.Outside.AllocatedBytes()
	defer func() {
		require.Equal(t, before, duckdb.Outside.AllocatedBytes())
		require.Zero(t, s.taken)
	}()
	columns := ColumnsOf("t", []arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}})
	err = columns.Each(ctx, s.source(), s.memory(), threads, func(b *Batch) error {
		require.Equal(t, int64(len(values)+1), b.Line(0))
		values = append(values, b.Rows.Column(0).(*array.Int64).Values()...)
		if take != nil {
			return take(b)
		}
		return nil
	})
	for i, v := range values {
		require.Equal(t, int64(i), v, "TB1")
	}
	return values, err
}

func TestBlocksComeInOrder(t *testing.T) {
	for threads := 1; threads < 5; threads++ {
		for _, n := range []int{0, 1, 2, 100} {
			values, err := each(t, t.Context(), &stream{blocks: many(n), end: io.EOF}, threads, nil)
			require.NoError(t, err)
			require.Len(t, values, 100*n)
		}
	}
}

// An error comes behind the rows before it, wherever it is from, and nothing comes behind it.
func TestFirstErrorOfTheStream(t *testing.T) {
	bad, refused, gone := errors.New("a bad row"), errors.New("refused"), errors.New("the client has gone")
	for threads := 1; threads < 4; threads++ {
		s := &stream{blocks: many(50), end: io.EOF}
		s.blocks[20].(*fake).failed, s.blocks[21].(*fake).failed = bad, gone
		values, err := each(t, t.Context(), s, threads, nil)
		require.ErrorIs(t, err, bad)
		require.Len(t, values, 2100)

		values, err = each(t, t.Context(), &stream{blocks: many(50), end: gone}, threads, nil)
		require.ErrorIs(t, err, gone)
		require.Len(t, values, 5000)

		n := 0
		values, err = each(t, t.Context(), &stream{blocks: many(50), end: io.EOF, waits: make(chan struct{})}, threads, func(*Batch) error {
			if n++; n == 30 {
				return refused
			}
			return nil
		})
		require.ErrorIs(t, err, refused)
		require.Len(t, values, 3000)
	}
}

// A cancel waits for no client, nor for a row.
func TestCancelledWhileTheClientIsSilent(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	_, err := each(t, ctx, &stream{blocks: many(10), end: errors.New("stopped"), waits: make(chan struct{})}, 2, func(*Batch) error {
		if n++; n == 10 {
			time.AfterFunc(10*time.Millisecond, cancel)
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
}

// TB4: what blocks take is bounded, whatever their number; and one that takes more than all may is served alone.
func TestWindow(t *testing.T) {
	s := &stream{blocks: many(200), end: io.EOF, most: 4000}
	values, err := each(t, t.Context(), s, 4, func(*Batch) error { time.Sleep(50 * time.Microsecond); return nil })
	require.NoError(t, err)
	require.Len(t, values, 20_000)
	require.LessOrEqual(t, s.peak, int64(8000))
	require.Greater(t, s.peak, chargeOf(&fake{rows: 100}), "several blocks are on their way at once")

	s = &stream{blocks: many(20), end: io.EOF, most: 10}
	_, err = each(t, t.Context(), s, 2, nil)
	require.NoError(t, err)
	require.Equal(t, chargeOf(&fake{rows: 100}), s.peak)
}

// Memory that other goroutines do not get, the caller's may.
func TestShortMemory(t *testing.T) {
	for _, short := range []int{1, 3, 1000} {
		values, err := each(t, t.Context(), &stream{blocks: many(50), end: io.EOF, short: short}, 2, nil)
		require.NoError(t, err)
		require.Len(t, values, 5000)
	}
}

// What panics in a worker panics where Each was called.
func TestPanicOfAWorker(t *testing.T) {
	s := &stream{blocks: many(50), end: io.EOF, waits: make(chan struct{})}
	s.blocks[20].(*fake).panics = true
	require.PanicsWithValue(t, "of a block", func() { _, _ = each(t, t.Context(), s, 2, nil) })
}

// The error of the first row that cannot be spelled comes with the rows before it, whichever its column is.
func TestFirstBadSpelling(t *testing.T) {
	bytes, number := arrow.Field{Name: "b", Type: arrow.BinaryTypes.Binary}, arrow.Field{Name: "i", Type: arrow.PrimitiveTypes.Int64}
	columns := ColumnsOf("t", []arrow.Field{bytes, number, {Name: "c", Type: arrow.BinaryTypes.Binary}})
	text := []byte(`1\x002\xg1`)
	row := func(b, i, c [2]int32) []int32 { return []int32{b[0], b[1], i[0], i[1], c[0], c[1]} }
	one, good, two, bad := [2]int32{0, 1}, [2]int32{1, 5}, [2]int32{5, 6}, [2]int32{6, 9}
	block := &given{text: text, fields: append(append(append(row(good, one, good), row(good, two, good)...), row(good, one, bad)...), row(bad, one, good)...)}
	b := columns.make(block)
	defer b.Rows.Release()
	require.ErrorContains(t, b.Failed, "hexadecimal")
	require.Equal(t, int64(2), b.Rows.NumRows())
	require.Equal(t, `["\\x00" "\\x00"]`, b.Rows.Column(0).String())
	require.Equal(t, "[1 2]", b.Rows.Column(1).String())
}

// Rows before one that cannot be spelled are spelled themselves.
func TestRowsBeforeABadSpelling(t *testing.T) {
	columns := ColumnsOf("t", []arrow.Field{{Name: "b", Type: arrow.BinaryTypes.Binary}})
	b := columns.make(&given{text: []byte(`a\\b\xg`), fields: []int32{0, 4, 4, 7}})
	defer b.Rows.Release()
	require.ErrorContains(t, b.Failed, "hexadecimal")
	require.Equal(t, `["a\\x5Cb"]`, b.Rows.Column(0).String())
}

type given struct {
	text   []byte
	fields []int32
}

func (g *given) Size() int                      { return len(g.text) }
func (g *given) Values() int                    { return len(g.fields) / 2 }
func (g *given) Line(row int) int               { return row + 1 }
func (g *given) Rows() ([]byte, []int32, error) { return g.text, g.fields, nil }
