package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/worker"
)

// This binary is its own worker, if roleVariable says so.
const roleVariable = "CSMSQL_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		if err := worker.Serve(&puppet{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// puppet does what a statement's text says.
type puppet struct {
	revision int64
	record   string
	broken   bool
}

func (p *puppet) Start(_ context.Context, payload []byte) error {
	if string(payload) == "fail" {
		return errors.New("it does not want to")
	}
	return nil
}

func (p *puppet) Failed() bool { return p.broken }

func (p *puppet) Describe(_ context.Context, s *worker.Statement, notice func(worker.Notice)) (*worker.Description, error) {
	notice(worker.Notice{Message: "described " + s.Text})
	return &worker.Description{Parameters: []int{len(s.Text)}}, nil
}

var numbers = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

func (p *puppet) Execute(ctx context.Context, s *worker.Statement, _ func(worker.Notice)) (worker.Rows, error) {
	if len(s.Record) > 0 {
		p.revision, p.record = s.Revision, string(s.Record)
	}
	word, rest, _ := strings.Cut(s.Text, " ")
	n, _ := strconv.Atoi(rest)
	switch word {
	case "snapshot":
		if p.revision != s.Revision {
			return nil, errors.New("no snapshot")
		}
		return nil, &worker.Failure{State: "00000", Message: p.record, Position: 3}
	case "segfault":
		return nil, syscall.Kill(os.Getpid(), syscall.SIGSEGV)
	case "exit":
		fmt.Fprintln(os.Stderr, "last words")
		os.Exit(n)
	case "deaf": // neither listens nor ends
		select {}
	case "break":
		p.broken = true
		return nil, &worker.Failure{State: "XX000", Message: "broken"}
	case "wait": // for its end
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &puppetRows{word: word, left: n}, nil
}

type puppetRows struct {
	word string
	left int
}

func (r *puppetRows) Description() (*worker.Description, error) {
	columns, err := worker.EncodeSchema(numbers)
	return &worker.Description{Columns: columns}, err
}

// Next gives batches of 1,000 rows: the number of rows that are left, again and again.
func (r *puppetRows) Next(context.Context) (arrow.RecordBatch, error) {
	if r.left == 0 {
		return nil, io.EOF
	}
	if r.word == "garbage" {
		r.left--
		return garbage(), nil
	}
	if r.word == "halfway" && r.left == 1 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSEGV)
		select {}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, numbers)
	defer b.Release()
	for range 1000 {
		b.Field(0).(*array.Int64Builder).Append(int64(r.left))
	}
	r.left--
	return b.NewRecordBatch(), nil
}

func (r *puppetRows) Read() (local, remote int64) { return 7, 8 }
func (r *puppetRows) Close()                      {}

// garbage is a batch whose texts lie where there are no bytes.
func garbage() arrow.RecordBatch {
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes([]int32{0, 1 << 20}))
	data := array.NewData(arrow.BinaryTypes.String, 1, []*memory.Buffer{nil, offsets, memory.NewBufferBytes(make([]byte, 2<<20))}, nil, 0, 0)
	column := array.NewStringData(data)
	short := array.NewData(arrow.BinaryTypes.String, 1, []*memory.Buffer{nil, offsets, memory.NewBufferBytes([]byte("x"))}, nil, 0, 0)
	schema := arrow.NewSchema([]arrow.Field{{Name: "t", Type: arrow.BinaryTypes.String}}, nil)
	return shortened{array.NewRecordBatch(schema, []arrow.Array{column}, 1), short}
}

// shortened shows other data than arrow-go would accept.
type shortened struct {
	arrow.RecordBatch
	data arrow.ArrayData
}

func (s shortened) Columns() []arrow.Array { return []arrow.Array{lying{s.Column(0), s.data}} }

type lying struct {
	arrow.Array
	data arrow.ArrayData
}

func (l lying) Data() arrow.ArrayData { return l.data }

// log keeps what a pool logs.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func open(t *testing.T, count int, change ...func(*worker.Options)) (*worker.Pool, *log) {
	l := &log{}
	o := worker.Options{
		Count: count, Command: []string{"/proc/self/exe"}, Environment: []string{roleVariable + "=1"}, Log: slog.New(slog.NewTextHandler(l, nil)),
		Start: func(int) ([]byte, error) { return nil, nil },
	}
	for _, c := range change {
		c(&o)
	}
	p := worker.Open(o)
	t.Cleanup(p.Close)
	return p, l
}

func snapshot(revision int64) worker.Snapshot {
	return worker.Snapshot{Revision: revision, Record: func() ([]byte, error) { return fmt.Appendf(nil, "record %d", revision), nil }}
}

func execute(t *testing.T, p *worker.Pool, text string) (*worker.Result, error) {
	return executeWith(t, context.Background(), p, text)
}

// executeWith checks that what the statement holds is given back once (WK5).
func executeWith(t *testing.T, ctx context.Context, p *worker.Pool, text string) (*worker.Result, error) {
	var released atomic.Int32
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return released.Load() == 1 }, 20*time.Second, time.Millisecond, "%s: released %d times", text, released.Load())
	})
	return p.Execute(ctx, &worker.Statement{Text: text}, snapshot(1), 0, func() { released.Add(1) })
}

// count reads a result to its end.
func count(t *testing.T, r *worker.Result) (rows int64, err error) {
	for {
		b, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows += b.NumRows()
		b.Release()
	}
}

func mustCount(t *testing.T, p *worker.Pool, text string, want int64) {
	t.Helper()
	r, err := execute(t, p, text)
	require.NoError(t, err)
	defer r.Close()
	got, err := count(t, r)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func state(err error) string {
	var f *worker.Failure
	if errors.As(err, &f) {
		return f.State
	}
	return ""
}

func TestStatementsAreRunAndDescribed(t *testing.T) {
	p, _ := open(t, 1)
	mustCount(t, p, "rows 5", 5000)
	mustCount(t, p, "rows 0", 0)
	mustCount(t, p, "rows 2000", 2_000_000) // far more than is read ahead
	r, err := p.Describe(context.Background(), &worker.Statement{Text: "four"}, snapshot(1), 0, func() {})
	require.NoError(t, err)
	require.Equal(t, []int{4}, r.Description().Parameters)
	require.Equal(t, "described four", r.Notices()[0].Message)
	r, err = execute(t, p, "rows 1")
	require.NoError(t, err)
	_, err = count(t, r)
	require.NoError(t, err)
	local, remote := r.Read()
	require.Equal(t, []int64{7, 8}, []int64{local, remote})
	require.Equal(t, int64(5), p.Status()[0].Statements)
}

func TestAWorkerReceivesASnapshotOnce(t *testing.T) {
	p, _ := open(t, 1)
	var written []int64
	for _, revision := range []int64{1, 1, 2, 2, 1} {
		sent := snapshot(revision)
		record := sent.Record
		sent.Record = func() ([]byte, error) {
			written = append(written, revision)
			return record()
		}
		_, err := p.Execute(context.Background(), &worker.Statement{Text: "snapshot"}, sent, 0, func() {})
		var f *worker.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, fmt.Sprintf("record %d", revision), f.Message)
		require.Equal(t, 3, f.Position)
	}
	require.Equal(t, []int64{1, 2, 1}, written)
}

// WK1.
func TestACrashCostsOneStatement(t *testing.T) {
	for text, how := range map[string]string{
		"segfault": "SIGSEGV", "exit 3": "exit status 3", "exit 0": "exit status 0", "halfway 3": "SIGSEGV", "garbage 1": "makes no sense",
	} {
		t.Run(text, func(t *testing.T) {
			p, l := open(t, 2)
			beside, err := execute(t, p, "rows 3000") // it is stalled, and goes on afterwards
			require.NoError(t, err)
			r, err := execute(t, p, text)
			if err == nil {
				_, err = count(t, r)
			}
			crash, ok := worker.IsCrash(err)
			require.True(t, ok, "%v", err)
			require.Contains(t, crash.How, how)
			rows, err := count(t, beside)
			require.NoError(t, err)
			require.Equal(t, int64(3_000_000), rows)
			mustCount(t, p, "rows 5", 5000)
			require.Contains(t, l.String(), "a worker crashed")
			require.Contains(t, l.String(), text)
			require.Eventually(t, func() bool { return crashes(p) == 1 }, 20*time.Second, time.Millisecond)
		})
	}
}

func crashes(p *worker.Pool) (n int64) {
	for _, s := range p.Status() {
		n += s.Crashes
	}
	return n
}

func kills(p *worker.Pool) (n int64) {
	for _, s := range p.Status() {
		n += s.Kills
	}
	return n
}

// WK2.
func TestACancelledStatementFailsAtOnceAndAWorkerThatDoesNotListenIsKilled(t *testing.T) {
	p, l := open(t, 1)
	for _, text := range []string{"wait", "deaf"} {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(20*time.Millisecond, cancel)
		_, err := executeWith(t, ctx, p, text)
		require.Equal(t, "57014", state(err), "%v", err)
		mustCount(t, p, "rows 5", 5000)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := executeWith(t, ctx, p, "deaf")
	require.Equal(t, "57014", state(err))
	require.ErrorContains(t, err, "statement timeout")
	mustCount(t, p, "rows 5", 5000)
	require.Equal(t, []int64{2, 0}, []int64{kills(p), crashes(p)}) // the one that listened lives
	require.NotContains(t, l.String(), "crash")
}

// A context that has ended before the order is sent must not be missed.
func TestCancelMayComeAtAnyTime(t *testing.T) {
	p, _ := open(t, 2)
	for i := range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Duration(i)*5*time.Microsecond, cancel)
		r, err := executeWith(t, ctx, p, "rows 1000")
		if err == nil {
			_, err = count(t, r)
			r.Close()
		}
		if err != nil {
			require.Equal(t, "57014", state(err), "%v", err)
		}
	}
	mustCount(t, p, "rows 5", 5000)
}

func TestAResultThatIsClosedEarlyFreesItsWorker(t *testing.T) {
	p, _ := open(t, 1)
	for range 20 {
		r, err := execute(t, p, "rows 100000")
		require.NoError(t, err)
		_, err = r.Next(context.Background())
		require.NoError(t, err)
		r.Close()
	}
	mustCount(t, p, "rows 5", 5000)
}

type lot struct{ used, most, peak atomic.Int64 }

func (l *lot) Take(bytes int64) bool {
	used := l.used.Add(bytes)
	if used > l.most.Load() {
		l.used.Add(-bytes)
		return false
	}
	l.peak.Store(max(l.peak.Load(), used))
	return true
}

func (l *lot) Give(bytes int64) { l.used.Add(-bytes) }

// WK6.
func TestAResultWithoutAReaderDoesNotKeepOthersOut(t *testing.T) {
	var room lot
	room.most.Store(1 << 30)
	p, _ := open(t, 1, func(o *worker.Options) { o.Lot = &room })
	slow, err := execute(t, p, "rows 2000") // 16 MB
	require.NoError(t, err)
	mustCount(t, p, "rows 5", 5000)
	rows, err := count(t, slow)
	require.NoError(t, err)
	require.Equal(t, int64(2_000_000), rows)
	require.Greater(t, room.peak.Load(), int64(10<<20))
	require.Zero(t, room.used.Load())

	room.most.Store(1 << 20)
	slow, err = execute(t, p, "rows 20000")
	require.NoError(t, err)
	mustCount(t, p, "rows 5", 5000)
	_, err = count(t, slow)
	require.ErrorIs(t, err, worker.ErrStands)
	slow.Close()
	require.Zero(t, room.used.Load())
}

func TestManyStatementsShareFewWorkersThatCrash(t *testing.T) {
	p, _ := open(t, 3)
	var group sync.WaitGroup
	var fallen atomic.Int64
	for g := range 6 {
		group.Go(func() {
			for i := range 30 {
				if g == 0 && i%3 == 0 {
					if _, err := execute(t, p, "segfault"); err == nil {
						t.Error("no crash")
					} else if _, ok := worker.IsCrash(err); !ok {
						t.Error(err)
					}
					fallen.Add(1)
					continue
				}
				r, err := execute(t, p, "rows 30")
				if err != nil {
					t.Error(err)
					continue
				}
				if rows, err := count(t, r); err != nil || rows != 30_000 {
					t.Error(rows, err)
				}
			}
		})
	}
	group.Wait()
	require.Eventually(t, func() bool { return crashes(p) == fallen.Load() }, 20*time.Second, time.Millisecond)
}

func TestWorkersThatDoNotComeUpFailStatements(t *testing.T) {
	p, l := open(t, 2, func(o *worker.Options) { o.Start = func(int) ([]byte, error) { return []byte("fail"), nil } })
	_, err := execute(t, p, "rows 5")
	var unstarted *worker.StartError
	require.ErrorAs(t, err, &unstarted)
	require.ErrorContains(t, err, "it does not want to")
	require.Contains(t, l.String(), "does not come up")

	p, _ = open(t, 1, func(o *worker.Options) { o.Command = []string{"/nonexistent"} })
	_, err = execute(t, p, "rows 5")
	require.ErrorAs(t, err, &unstarted)
}

func TestCloseEndsWhatRuns(t *testing.T) {
	p, _ := open(t, 2)
	failed := make(chan error, 3)
	for range 3 { // one of them waits for a worker
		go func() {
			_, err := execute(t, p, "wait")
			failed <- err
		}()
	}
	require.Eventually(t, func() bool {
		s := p.Status()
		return s[0].Busy && s[1].Busy
	}, 20*time.Second, time.Millisecond)
	processes := []int{p.Status()[0].Process, p.Status()[1].Process}
	p.Close()
	for range 3 {
		require.Error(t, <-failed)
	}
	for _, pid := range processes {
		require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
	}
	_, err := execute(t, p, "rows 5")
	require.ErrorIs(t, err, worker.ErrClosed)
}

// A worker that can do no more says so with its last answer, which is not lost.
func TestAWorkerThatCanDoNoMoreIsReplaced(t *testing.T) {
	p, _ := open(t, 1)
	for range 3 {
		_, err := execute(t, p, "break")
		require.Equal(t, "XX000", state(err), "%v", err)
		mustCount(t, p, "rows 5", 5000)
	}
	require.Eventually(t, func() bool { return crashes(p) == 3 }, 20*time.Second, time.Millisecond)
}

func TestAnIdleWorkerThatEndsIsReplaced(t *testing.T) {
	p, l := open(t, 1)
	mustCount(t, p, "rows 5", 5000)
	require.NoError(t, syscall.Kill(p.Status()[0].Process, syscall.SIGKILL))
	require.Eventually(t, func() bool { return crashes(p) == 1 }, 20*time.Second, time.Millisecond)
	mustCount(t, p, "rows 5", 5000)
	require.Contains(t, l.String(), "ran nothing")
}
