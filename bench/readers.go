package bench

import (
	"context"
	"errors"
	"fmt"

	"github.com/csmsql/csmsql/bench/smaps"
)

// readersOf a table, and as many idle borrowers beside them.
const readersOf = 8

// readersRows make a table of a gibibyte.
const readersRows = 1<<30/bytesOfRow + 1

// readers measures what it costs in memory that eight processes read one table. Each attaches to the node, adds up all
// columns of the whole table in its own DuckDB, in a transaction that it then keeps open. As many others attach and ask
// nothing. When all are quiet, one look at /proc gives every process' proportional set size (PSS): its private pages,
// and of a page that k processes have mapped the k-th part. So shared pages count once in a sum over all processes that
// share them; therefore
//
//	S = Σ PSS(reader)   +   the node's part of the table     the node wrote the table, so a ninth of it is counted there
//	L = table once      +   8 × mean PSS(idle borrower)      what it must not exceed by more than 3 %
//
// The table is the extents that its chunks lie in, as the catalog counts them. The idle borrowers have the same program
// in memory, run at the same time, and share its pages with the readers to the same part. What is left between S and L
// is what a scan leaves behind in a process: heaps, DuckDB's buffers, thread stacks, program pages that only scanning
// touches.
//
// A reader counts only if its sums are right and every page of the table's values is in its page table: then it did
// read them all, and in place.
func readers(ctx context.Context, o Options) (_ *Report, err error) {
	rows := o.rows(readersRows)
	node, hello, err := startNode(ctx, o, max(64<<20, 2*bytesOfRow*rows))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, node.close()) }()
	o.say("making a table of %d rows", rows)
	var made loaded
	if err := node.ask(request{Do: "load", Rows: rows, Skew: o.sabotage}, &made); err != nil {
		return nil, err
	}
	var crowd []*process
	defer func() {
		for _, p := range crowd {
			err = errors.Join(err, p.close())
		}
	}()
	want := expectedSums(rows)
	for i := range 2 * readersOf {
		p, err := startReader(ctx, o, hello, i)
		if err != nil {
			return nil, err
		}
		crowd = append(crowd, p)
		if i >= readersOf {
			continue // an idle one
		}
		var got sums
		if err := p.ask(request{Do: "scan"}, &got); err != nil {
			return nil, err
		}
		if err := got.check(p.name, want); err != nil {
			return nil, err
		}
	}
	m, err := measureCrowd(node, crowd, hello.Region)
	if err != nil {
		return nil, err
	}
	for i, r := range m.readers {
		if values := rows * bytesOfRow; r.TableResident < values {
			return nil, fmt.Errorf("reader %d has %d bytes of the table in its page table, its values are %d: it did not read them in place", i+1, r.TableResident, values)
		}
	}
	return readersReport(rows, made, m), nil
}

func startReader(ctx context.Context, o Options, hello nodeHello, i int) (*process, error) {
	name := fmt.Sprintf("reader %d", i+1)
	if i >= readersOf {
		name = fmt.Sprintf("idle borrower %d", i+1-readersOf)
	}
	o.say("%s of %d", name, readersOf)
	p, err := start(ctx, nil, "reader", hello.Socket, fmt.Sprint(o.Threads))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.name = name
	return p, nil
}

// crowdMemory is the memory of all at one time.
type crowdMemory struct {
	node          smaps.Memory
	readers, idle []smaps.Memory
}

func measureCrowd(node *process, crowd []*process, region string) (m crowdMemory, err error) {
	if m.node, err = smaps.Of(node.pid(), region); err != nil {
		return m, err
	}
	for i, p := range crowd {
		one, err := smaps.Of(p.pid(), region)
		if err != nil {
			return m, err
		}
		if i < readersOf {
			m.readers = append(m.readers, one)
		} else {
			m.idle = append(m.idle, one)
		}
	}
	return m, nil
}

func readersReport(rows int64, made loaded, m crowdMemory) *Report {
	r := &Report{
		Name: "readers", Machine: thisMachine(),
		Setting: fmt.Sprintf("a table of %d rows in %d chunks; %d processes each added up all its columns in place, %d attached and asked nothing; proportional set sizes of all at one time, MB", rows, made.Chunks, readersOf, readersOf),
		Columns: []string{"process", "PSS", "of the table", "the rest", "table resident"},
	}
	line := func(name string, p smaps.Memory) {
		r.Rows = append(r.Rows, []any{name, megabytes(p.PSS), megabytes(p.TablePSS), megabytes(p.PSS - p.TablePSS), megabytes(p.TableResident)})
	}
	line("node", m.node)
	for i, p := range m.readers {
		line(fmt.Sprintf("reader %d", i+1), p)
	}
	for i, p := range m.idle {
		line(fmt.Sprintf("idle %d", i+1), p)
	}
	readersSum, idleSum := addUp(m.readers), addUp(m.idle)
	measured := readersSum.PSS + m.node.TablePSS
	limit := made.Bytes + idleSum.PSS
	sum := func(name string, bytes int64) { r.Rows = append(r.Rows, []any{name, megabytes(bytes), "", "", ""}) }
	line("Σ readers", readersSum)
	sum("+ the node's part of the table", m.node.TablePSS)
	sum("= S", measured)
	sum("table once", made.Bytes)
	sum(fmt.Sprintf("+ %d × mean idle", readersOf), idleSum.PSS)
	sum("= L", limit)
	sum("S - L", measured-limit)
	r.Goals = []Goal{atMost("S / L: readers and the node's part of the table / table once and idle borrowers", float64(measured)/float64(limit), 1.03)}
	return r
}

func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }

func addUp(all []smaps.Memory) (sum smaps.Memory) {
	for _, p := range all {
		sum.PSS += p.PSS
		sum.TablePSS += p.TablePSS
		sum.TableResident += p.TableResident
	}
	return sum
}
