package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/csmsql/csmsql/bench/serving"
	"github.com/csmsql/csmsql/bench/thesis"
	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
)

// Full sizes of steps.
const (
	adoptedRows  = 62_500_000 // of 16 bytes: 1 GB
	chunksOfMany = 21_000     // Vineyard took minutes for so many (v6d-io/v6d#179)
)

// What a step is called in the report, in its order.
const (
	stepAllocate  = "allocate and free 1 byte to 1 MiB, among 1,000 others"
	stepPing      = "ping another process"
	stepRemote    = "allocate in another process, up to 5000 bytes"
	stepAdopt     = "open a node over its former life's region of 1 GB"
	stepVerify    = "compare all of it with its checksums, if asked for"
	stepFirst     = "scan its table for the first time, each chunk compared with its checksum"
	stepFirstOff  = "that, checksums off"
	stepAgain     = "scan it again, each chunk compared in each statement"
	stepAgainOff  = "that, checksums off or compared once"
	stepCommit    = "commit a table of 21,000 chunks"
	stepAttach    = "attach to it, to its first rows"
	stepAttachAll = "attach to it, every descriptor validated, every batch made"
)

// peers of steps: how long the thesis' prototype took, or what the report calls the times measured beside ours.
var peersOfSteps = map[string]struct {
	name      string
	published time.Duration
}{
	stepAllocate: {"thesis", thesis.Published.AllocateLocal},
	stepPing:     {"thesis", thesis.Published.CreateLocal.Send},
	stepRemote:   {"thesis", thesis.Published.AllocateRemote},
	stepAdopt:    {name: "making its table again"},
	stepFirst:    {name: stepFirstOff},
	stepAgain:    {name: stepAgainOff},
}

// steps measures what a node does again and again, each step by itself.
func steps(ctx context.Context, o Options) (*Report, error) {
	r := &Report{
		Name: "steps", Machine: thisMachine(),
		Setting: fmt.Sprintf("what a node does again and again, step by step; medians of %d runs, of many steps each where they are short. Beside them what the thesis published of its prototype (another machine), and for a region that is adopted the time of making its table again, in turns. Ranges, counts and sums were compared first", o.Runs),
		Columns: []string{"step", "median", "beside it", "takes", "× ours"}, Samples: map[string][]time.Duration{},
	}
	for _, part := range []struct {
		what string
		do   func(context.Context, Options, *Report) error
	}{
		{"allocating", allocateSteps}, {"messages", messageSteps}, {"adopting a region", adoptSteps}, {"tables of many chunks", chunkSteps},
	} {
		o.say("%s", part.what)
		if err := part.do(ctx, o, r); err != nil {
			return nil, fmt.Errorf("%s: %w", part.what, err)
		}
	}
	for _, step := range []string{stepAllocate, stepPing, stepRemote, stepAdopt, stepVerify, stepFirst, stepAgain, stepCommit, stepAttach, stepAttachAll} {
		r.step(step)
	}
	r.Machine = thisMachine() // with the load at the end
	in := func(step string, unit time.Duration) float64 { return float64(median(r.Samples[step])) / float64(unit) }
	r.Goals = []Goal{
		atMost(stepAllocate+", µs (thesis: 3130)", in(stepAllocate, time.Microsecond), 1),
		atMost(stepPing+", µs (thesis: 3230)", in(stepPing, time.Microsecond), 150),
		atMost(stepRemote+", µs (thesis: 4990)", in(stepRemote, time.Microsecond), 250),
		atMost(stepAdopt+", ms", in(stepAdopt, time.Millisecond), 100),
		atMost(stepCommit+", s", in(stepCommit, time.Second), 2),
		atMost(stepAttach+", ms", in(stepAttach, time.Millisecond), 50),
	}
	return r, nil
}

// step adds a line of the samples of a step.
func (r *Report) step(name string) {
	ours := median(r.Samples[name])
	row := []any{name, ours, "-", "-", "-"}
	if p, ok := peersOfSteps[name]; ok {
		theirs := p.published
		if theirs == 0 {
			theirs = median(r.Samples[p.name])
		}
		row[2], row[3], row[4] = p.name, theirs, float64(theirs)/float64(ours)
	}
	r.Rows = append(r.Rows, row)
}

// allocateSteps times an allocator that holds a thousand extents: one is given back and another one taken.
func allocateSteps(_ context.Context, o Options, r *Report) error {
	const held, pairs, largest = 1000, 100, 1 << 20
	random := rand.New(rand.NewPCG(5, 4))
	a := memregion.NewAllocator(4 << 30)
	extents := make([]memregion.Range, held)
	for i := range extents {
		var err error
		if extents[i], err = a.Allocate("bench", 1+random.Int64N(largest)); err != nil {
			return err
		}
	}
	sizes := make([]int64, pairs)
	for range 100 * o.Runs {
		victims := random.Perm(held)[:pairs]
		for i := range sizes {
			sizes[i] = 1 + random.Int64N(largest)
		}
		begin := time.Now()
		for i, victim := range victims {
			if err := a.Free("bench", extents[victim]); err != nil {
				return err
			}
			given, err := a.Allocate("bench", sizes[i])
			if err != nil {
				return err
			}
			extents[victim] = given
		}
		r.Samples[stepAllocate] = append(r.Samples[stepAllocate], time.Since(begin)/pairs)
		for i, victim := range victims {
			if extents[victim].Length < sizes[i] {
				return fmt.Errorf("%d bytes were wanted and %v was given", sizes[i], extents[victim])
			}
		}
		if o.sabotage {
			extents[0] = extents[1]
		}
		if err := thesis.Disjoint(extents); err != nil {
			return err
		}
	}
	return nil
}

// messageSteps asks a process that lends memory.
func messageSteps(ctx context.Context, o Options, r *Report) (err error) {
	var lent thesis.Lent
	p, err := start(ctx, &lent, "lender", strconv.FormatInt(64<<20, 10))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	client, err := noderpc.Dial(ctx, lent.Socket, noderpc.WithIncarnation(noderpc.NewIncarnation()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	random := rand.New(rand.NewPCG(3, 8))
	for range 200 * o.Runs {
		begin := time.Now()
		if err := client.Ping(ctx); err != nil {
			return err
		}
		r.Samples[stepPing] = append(r.Samples[stepPing], time.Since(begin))
		size := 1 + random.Int64N(5000)
		begin = time.Now()
		given, err := client.Grant(ctx, lent.Request(size))
		if err != nil {
			return err
		}
		r.Samples[stepRemote] = append(r.Samples[stepRemote], time.Since(begin))
		if given.Range.Length < size {
			return fmt.Errorf("%d bytes were wanted and %v was given", size, given.Range)
		}
		if err := client.Free(ctx, noderpc.FreeRequest{Extents: []catalog.ExtentID{given.Extent}}); err != nil {
			return err
		}
	}
	return nil
}

// adoptSteps makes a table in a node, ends the node, and opens the next one over its region.
func adoptSteps(ctx context.Context, o Options, r *Report) (err error) {
	rows := o.rows(adoptedRows)
	directory, err := serving.Directory(serving.SharedMemory)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	config := engine.Config{Directory: directory, RegionDirectory: directory, RegionBytes: 64<<20 + 2*16*rows, Threads: o.Threads}
	for range o.Runs {
		if err := adoptOnce(ctx, o, r, config, rows); err != nil {
			return err
		}
		for _, v := range []engine.Verification{engine.VerifyOff, engine.VerifyFirst, engine.VerifyAlways} {
			if err := scanTwice(ctx, o, r, config, v, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// scanTwice reads the adopted table in a process that has not read it.
func scanTwice(ctx context.Context, o Options, r *Report, config engine.Config, v engine.Verification,
	rows int64) (err error) {
	config.Verify = v
	e, err := engine.Open(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	for _, step := range map[engine.Verification][]string{
		engine.VerifyOff: {stepFirstOff, stepAgainOff}, engine.VerifyFirst: {stepFirst, stepAgainOff}, engine.VerifyAlways: {stepFirst, stepAgain},
	}[v] {
		begin := time.Now()
		if err := checkAdopted(ctx, o, e, rows); err != nil {
			return err
		}
		r.Samples[step] = append(r.Samples[step], time.Since(begin))
	}
	return nil
}

func adoptOnce(ctx context.Context, o Options, r *Report, config engine.Config, rows int64) (err error) {
	e, err := engine.Open(ctx, config)
	if err != nil {
		return err
	}
	begin := time.Now()
	err = execute(ctx, e, fmt.Sprintf("CREATE OR REPLACE TABLE t AS SELECT i AS a, i * 7 AS b FROM range(%d) r(i)", rows))
	r.Samples[peersOfSteps[stepAdopt].name] = append(r.Samples[peersOfSteps[stepAdopt].name], time.Since(begin))
	used := usedOf(e)
	if err := errors.Join(err, e.Close()); err != nil {
		return err
	}

	begin = time.Now()
	if e, err = engine.Open(ctx, config); err != nil {
		return err
	}
	r.Samples[stepAdopt] = append(r.Samples[stepAdopt], time.Since(begin))
	defer func() { err = errors.Join(err, e.Close()) }()
	begin = time.Now()
	if err := e.VerifyChecksums(ctx); err != nil {
		return err
	}
	r.Samples[stepVerify] = append(r.Samples[stepVerify], time.Since(begin))
	if now := usedOf(e); now != used {
		return fmt.Errorf("%d bytes of the region were used, and %d are after it was adopted", used, now)
	}
	return checkAdopted(ctx, o, e, rows)
}

// checkAdopted reads every row of the adopted table, and checks the sums that it was made with (B1).
func checkAdopted(ctx context.Context, o Options, e *engine.Engine, rows int64) error {
	last := rows - 1
	if o.sabotage {
		last++
	}
	return execute(ctx, e, fmt.Sprintf("SELECT CASE WHEN count(*) = %d AND sum(a) = %d AND sum(b) = 7 * sum(a) AND max(a) = %d THEN 1 ELSE error('the adopted table is another one') END FROM t",
		rows, rows/2*(rows-1)+rows%2*((rows-1)/2), last))
}

// usedOf are the bytes of extents in the region of a node that is alone.
func usedOf(e *engine.Engine) int64 { return e.Status(noderpc.Frontend{}).Regions[0].Used }

func execute(ctx context.Context, e *engine.Engine, sql string) (err error) {
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return err
	}
	_, err = s.Exec(ctx, sql)
	return errors.Join(err, s.Close())
}

// chunkSteps has a node make a table of many small chunks, and attaches to it from this process.
func chunkSteps(ctx context.Context, o Options, r *Report) (err error) {
	chunks := o.rows(chunksOfMany)
	node, hello, err := startNode(ctx, o, 64<<20+3*memregion.PageSize*chunks)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.close()) }()
	want := expectedSums(chunks)
	for range o.Runs {
		var made loaded
		if err := node.ask(request{Do: "chunks", Rows: chunks, Skew: o.sabotage}, &made); err != nil {
			return err
		}
		r.Samples[stepCommit] = append(r.Samples[stepCommit], made.Commit)
		if err := attachOnce(ctx, r, stepAttach, hello.Socket, 1, expectedSums(1)); err != nil {
			return err
		}
		if err := attachOnce(ctx, r, stepAttachAll, hello.Socket, chunks, want); err != nil {
			return err
		}
	}
	return nil
}

// attachOnce attaches and makes the batches of the first chunks.
func attachOnce(ctx context.Context, r *Report, step, socket string, chunks int64, want sums) (err error) {
	begin := time.Now()
	a, err := borrowChunks(ctx, socket, benchTable, chunks)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	if err := firstValues(a.batches); err != nil {
		return err
	}
	r.Samples[step] = append(r.Samples[step], time.Since(begin))
	got, err := sumsOf(a.batches)
	if err != nil {
		return err
	}
	return got.check("the attached process", want)
}
