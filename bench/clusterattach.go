package bench

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// lendersOf lend the table that another process gets at.
const lendersOf = 3

// lentRows make a table of a gibibyte.
const lentRows = 1<<30/bytesOfRow + 1

// reachAgain is how often a run gets at the table.
const reachAgain = 5

// reached is what was found for one size of the table.
type reached struct {
	rows          int64
	regions       int
	chunks        int
	record        int
	pages         int64
	times, appear []time.Duration
}

// reachings are all sizes.
type reachings struct{ sizes []reached }

// reaching measures what it takes a process that has nothing, neither connection nor mapping nor descriptor, to get at
// a table that lies over three nodes: until it has read the first value of every column of a chunk of each node. And
// what a commit sends to the others: the bytes of the table's record, and the time from an INSERT of one row until all
// other nodes have answered with it.
func reaching(ctx context.Context, o Options) (_ *reachings, err error) {
	largest := o.rows(lentRows)
	var nodes members
	defer func() { err = errors.Join(err, nodes.close()) }()
	for i := range lendersOf {
		setting := memberSetting{
			Name: fmt.Sprintf("lender%d", i+1), Threads: o.Threads, RegionBytes: 128<<20 + largest*bytesOfRow, MemoryBytes: memberMemory, Begin: i == 0,
		}
		if i > 0 {
			setting.Etcd = nodes[0].Etcd
		}
		if _, err := nodes.start(ctx, setting); err != nil {
			return nil, err
		}
	}
	r := &reachings{}
	for _, part := range []int64{1024, 32, 1} {
		size, err := reachOne(ctx, o, nodes, max(largest/part, lendersOf))
		if err != nil {
			return nil, err
		}
		r.sizes = append(r.sizes, size)
	}
	return r, nil
}

func reachOne(ctx context.Context, o Options, nodes members, rows int64) (r reached, err error) {
	r.rows = rows
	o.say("%d rows over %d nodes", rows, len(nodes))
	create := strings.Replace(createTable(rows, o.sabotage), "CREATE TABLE t AS", "CREATE TABLE t WITH (placement = 'rows') AS", 1)
	if err := nodes[0].ask(request{Do: "exec", SQL: "DROP TABLE IF EXISTS t; " + create}, nil); err != nil {
		return r, err
	}
	want := expectedSums(rows)
	at := nodes[1].Socket // not the node that wrote it
	if err := r.check(ctx, at, want); err != nil {
		return r, err
	}
	for range o.Runs {
		for range reachAgain {
			if err := r.measure(ctx, at); err != nil {
				return r, err
			}
		}
		if err := r.grow(ctx, nodes, &want); err != nil {
			return r, err
		}
	}
	return r, nil
}

// check compares the sums of all columns (B1).
func (r *reached) check(ctx context.Context, socket string, want sums) error {
	a, err := borrowTable(ctx, socket, benchTable)
	if err != nil {
		return err
	}
	got, err := sumsOf(a.batches)
	r.regions, r.chunks, r.record, r.pages = len(a.views), a.chunks, a.record, a.pages
	if err := errors.Join(err, a.close()); err != nil {
		return err
	}
	return got.check("the fourth process", want)
}

func (r *reached) measure(ctx context.Context, socket string) error {
	runtime.GC()
	begin := time.Now()
	a, err := borrowTable(ctx, socket, benchTable)
	if err != nil {
		return err
	}
	for i := range min(lendersOf, len(a.batches)) { // chunks go round over the nodes
		err = errors.Join(err, firstValues(a.batches[i:]))
	}
	r.times = append(r.times, time.Since(begin))
	return errors.Join(err, a.close())
}

// grow appends a row and waits until every other node has answered with it.
func (r *reached) grow(ctx context.Context, nodes members, want *sums) error {
	begin := time.Now()
	if err := nodes[0].ask(request{Do: "exec", SQL: "INSERT INTO t VALUES (0, 0, 0)"}, nil); err != nil {
		return err
	}
	want.Rows++
	for _, n := range nodes[1:] {
		var got asked
		if err := n.ask(request{Do: "ask", SQL: "SELECT count(*) FROM t", Answer: true}, &got); err != nil {
			return err
		}
		if len(got.Rows) != 1 || got.Rows[0][0] != fmt.Sprint(want.Rows) {
			return fmt.Errorf("%s has %v rows after a commit, right is %d", n.name, got.Rows, want.Rows)
		}
	}
	r.appear = append(r.appear, time.Since(begin))
	return ctx.Err()
}

func (r *reachings) report(into *Report) {
	t := Table{
		Title:   fmt.Sprintf("A table of int64, int8, uint16 over the memory of %d nodes: a fourth process gets at it, from no connection to the first values of each node's; what a commit tells every node; and a row more, until all have answered with it", lendersOf),
		Columns: []string{"rows", "MB", "chunks", "regions", "attach", "record, bytes", "pages, bytes", "seen by all"},
	}
	for _, s := range r.sizes {
		t.Rows = append(t.Rows, []any{s.rows, float64(s.rows*bytesOfRow) / 1e6, s.chunks, s.regions, median(s.times), s.record, s.pages, median(s.appear)})
		into.Samples[fmt.Sprintf("attach, %d rows", s.rows)], into.Samples[fmt.Sprintf("a row more, %d rows", s.rows)] = s.times, s.appear
	}
	small, large := r.sizes[0], r.sizes[len(r.sizes)-1]
	into.More = append(into.More, t)
	into.Goals = append(into.Goals,
		atMost(fmt.Sprintf("attach of %d rows over %d nodes, ms", large.rows, lendersOf), milliseconds(median(large.times)), 10),
		atMost(fmt.Sprintf("what a commit tells every node, of a table %d times as large", large.rows/small.rows), float64(large.record)/float64(small.record), 1.5),
	)
}
