package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// attach measures how long another process needs to get at a table: by its descriptors, reading in place; by a whole
// Arrow IPC copy over a unix socket; by Arrow Flight over loopback TCP. Thesis section 5.5, figure 5.1: the table of
// 157,286,400 rows of int64, int8, uint16, and slices of it, here 20 sizes each twice the one before.
//
//	node process: owns the table ──┬─ descriptors ─► this process: batches over the mapped region   (nothing copied)
//	                               ├─ IPC stream  ─► this process: batches in its own memory
//	                               └─ Flight      ─► this process: batches in its own memory
//
// Every time starts with nothing (no connection, no mapping, no descriptor) and ends when the first value of every
// column of the first and the last batch was read. Before, every side's column sums were compared with the formula's,
// and the bytes that it copied were counted.
func attach(ctx context.Context, o Options) (_ *Report, err error) {
	largest := o.rows(fullRows)
	node, hello, err := startNode(ctx, o, max(64<<20, 2*bytesOfRow*largest+largest))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, node.close()) }()
	var all []attachSize
	for _, rows := range tableSizes(largest, o.Sizes) {
		size, err := attachOne(ctx, o, node, waysTo(hello), rows)
		if err != nil {
			return nil, fmt.Errorf("%d rows: %w", rows, err)
		}
		all = append(all, size)
	}
	return attachReport(o, all), nil
}

// tableSizes is a series of n sizes, each twice the one before, without those that would be less than a row.
func tableSizes(largest int64, n int) (sizes []int64) {
	for k := n - 1; k >= 0; k-- {
		if rows := largest >> min(k, 62); rows > 0 {
			sizes = append(sizes, rows)
		}
	}
	return sizes
}

// attachSize is what was found for one size.
type attachSize struct {
	rows, bytes, chunks int64
	times               [3][]time.Duration
	copied              [3]int64
	heap                int64 // of the descriptor side: all that it allocated, for descriptors and batches
}

// way is one way to get at the table. It returns the batches, what of the process is the lender's memory, and how to
// give it back.
type way struct {
	name string
	get  func(ctx context.Context, counter *copyCounter) (batches []arrow.RecordBatch, mapped []span, done func() error, err error)
}

func waysTo(hello nodeHello) []way {
	copying := func(get func(context.Context, string, memory.Allocator) ([]arrow.RecordBatch, error), from string) func(context.Context, *copyCounter) ([]arrow.RecordBatch, []span, func() error, error) {
		return func(ctx context.Context, counter *copyCounter) ([]arrow.RecordBatch, []span, func() error, error) {
			batches, err := get(ctx, from, counter)
			return batches, nil, func() error { release(batches); return nil }, err
		}
	}
	inPlace := func(ctx context.Context, _ *copyCounter) ([]arrow.RecordBatch, []span, func() error, error) {
		a, err := borrowTable(ctx, hello.Socket, benchTable)
		if err != nil {
			return nil, nil, nil, err
		}
		return a.batches, a.mapped(), a.close, nil
	}
	return []way{{"descriptor", inPlace}, {"IPC copy", copying(copyTable, hello.Copies)}, {"Flight", copying(flyTable, hello.Flight)}}
}

// attachOne measures some of the ways, which are in the order of waysTo.
func attachOne(ctx context.Context, o Options, node *process, ways []way, rows int64) (size attachSize, err error) {
	o.say("%d rows: making the table", rows)
	var made loaded
	if err := node.ask(request{Do: "load", Rows: rows, Skew: o.sabotage}, &made); err != nil {
		return size, err
	}
	size = attachSize{rows: rows, bytes: made.Bytes, chunks: made.Chunks}
	want := expectedSums(rows)
	o.say("%d rows: checking sums", rows)
	for i, w := range ways {
		if size.copied[i], err = w.check(ctx, want); err != nil {
			return size, fmt.Errorf("%s: %w", w.name, err)
		}
	}
	o.say("%d rows: measuring", rows)
	for run := range o.Runs {
		for k := range ways {
			i := (k + run) % len(ways) // which side goes first changes
			if err := size.measure(ctx, i, ways[i]); err != nil {
				return size, fmt.Errorf("%s: %w", ways[i].name, err)
			}
		}
	}
	return size, node.ask(request{Do: "drop"}, nil)
}

// measure times way i: the descriptor side several times, because what takes a millisecond is soon disturbed.
func (s *attachSize) measure(ctx context.Context, i int, w way) error {
	again := 1
	if i == 0 {
		again = attachAgain
	}
	for range again {
		took, heap, err := w.time(ctx)
		if err != nil {
			return err
		}
		s.times[i] = append(s.times[i], took)
		if i == 0 {
			s.heap = heap
		}
	}
	return nil
}

// attachAgain is how often a run attaches by descriptor for every copy that it makes.
const attachAgain = 5

// check gets the table, compares its sums (B1) and counts what was copied.
func (w way) check(ctx context.Context, want sums) (copied int64, err error) {
	counter := newCopyCounter(memory.DefaultAllocator)
	batches, mapped, done, err := w.get(ctx, counter)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, done()) }()
	got, err := sumsOf(batches)
	if err != nil {
		return 0, err
	}
	return counter.copied(batches, mapped), got.check(w.name, want)
}

// time gets the table once. Garbage of the run before is collected first, or it would be this one's burden.
func (w way) time(ctx context.Context) (took time.Duration, heap int64, err error) {
	runtime.GC()
	counter := newCopyCounter(memory.DefaultAllocator)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	batches, _, done, err := w.get(ctx, counter)
	if err != nil {
		return 0, 0, err
	}
	err = firstValues(batches)
	took = time.Since(begin)
	runtime.ReadMemStats(&after)
	return took, int64(after.TotalAlloc - before.TotalAlloc), errors.Join(err, done())
}

func attachReport(o Options, all []attachSize) *Report {
	r := &Report{
		Name: "attach", Machine: thisMachine(),
		Setting: fmt.Sprintf("a table of int64, int8, uint16 in another process: by descriptor in place, by an Arrow IPC copy over a unix socket, by Arrow Flight over loopback; from no connection to the first values; medians of %d interleaved runs, in each of which the descriptor side is asked %d times; sums of all columns compared", o.Runs, attachAgain),
		Columns: []string{"rows", "MB", "chunks", "descriptor", "IPC copy", "Flight", "IPC / d.", "Flight / d.", "bytes copied", "by IPC", "by Flight", "heap KiB"},
	}
	r.Samples = map[string][]time.Duration{}
	var slowest, ratio float64
	var copied int64
	for _, s := range all {
		here, ipc, flight := median(s.times[0]), median(s.times[1]), median(s.times[2])
		ratio = float64(ipc) / float64(here) // of the largest in the end
		slowest = max(slowest, here.Seconds()*1000)
		copied = max(copied, s.copied[0])
		for i, name := range []string{"descriptor", "IPC copy", "Flight"} {
			r.Samples[fmt.Sprintf("%d rows, %s", s.rows, name)] = s.times[i]
		}
		r.Rows = append(r.Rows, []any{
			s.rows, float64(s.bytes) / 1e6, s.chunks, here, ipc, flight, ratio, float64(flight) / float64(here), s.copied[0], s.copied[1], s.copied[2], s.heap >> 10,
		})
	}
	r.Goals = []Goal{
		atMost("slowest attach by descriptor of all sizes, ms", slowest, 5),
		atLeast(fmt.Sprintf("IPC copy / descriptor at %d rows", all[len(all)-1].rows), ratio, 100),
		atMost("bytes of columns copied by descriptor", float64(copied), 0),
	}
	return r
}
