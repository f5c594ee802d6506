package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/csmsql/csmsql/bench/serving"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/queries"
)

const (
	// workersOf is how many workers the node has that has some.
	workersOf = 2
	// workerMemory is what the node, and each worker, has for queries: a query of either side may have as much.
	workerMemory = 2 << 30
	// hops is how often each short statement is asked, in blocks, so that both sides see the same weather.
	hops, hopBlock = 2_000, 50
)

func (o Options) hops() int {
	if o.few {
		return hopBlock
	}
	return hops
}

// hopping are short statements, which show what the way to a worker and back costs. The first stays in the node: it
// never asks DuckDB.
var hopping = []struct{ name, sql, want string }{
	{"SELECT 1", "SELECT 1", "1"},
	{"SELECT upper('b')", "SELECT upper('b')", "B"},
	{"a sum of one row of 25", "SELECT sum(n_regionkey)::int FROM nation WHERE n_nationkey % 25 = 7", "3"},
}

// workers measures what workers cost: a node without and a node with some, both as processes, over unix sockets.
//
//	this process ─┬─ unix socket ─► csmsql serve
//	              └─ unix socket ─► csmsql serve --workers 2 ─► a worker over the same lent memory
func workers(ctx context.Context, o Options) (_ *Report, err error) {
	asked, err := chosen(o.Queries)
	if err != nil {
		return nil, err
	}
	nodes, err := startWorkerNodes(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, nodes.close()) }()
	if o.sabotage {
		if err := nodes[1].Exec(ctx, "DELETE FROM lineitem WHERE l_orderkey = 1"); err != nil {
			return nil, err
		}
	}
	checked, err := nodes.checkTPCH(ctx, o, asked)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Name: "workers", Columns: []string{"what", "without workers", "with", "ratio"}, Samples: map[string][]time.Duration{},
		Setting: fmt.Sprintf("a node without workers and a node with %d, asked in turns over unix sockets; %d MiB for the queries of a node, and of a worker, %d threads; medians of %d askings of the short ones in blocks of %d, of %d runs of TPC-H SF %g, prepared; %d answers compared with the published ones", workersOf, workerMemory>>20, o.Threads, o.hops(), hopBlock, o.Runs, o.ScaleFactor, checked),
	}
	if err := nodes.hop(ctx, o, r); err != nil {
		return nil, err
	}
	if err := nodes.timeTPCH(ctx, o, asked, r); err != nil {
		return nil, err
	}
	r.Machine = thisMachine() // with the load at the end
	return r, nil
}

// workerNodes are a node without workers and one with some.
type workerNodes [2]*serving.Server

func startWorkerNodes(ctx context.Context, o Options) (nodes workerNodes, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, nodes.close())
		}
	}()
	for i, count := range []int{0, workersOf} {
		name := fmt.Sprintf("a node with %d workers", count)
		o.say("starting %s", name)
		region := 256<<20 + int64(o.ScaleFactor*2*(1<<30))
		nodes[i], err = o.product().Start(ctx, "--region", strconv.FormatInt(region, 10),
			"--workers", strconv.Itoa(count), "--memory", strconv.FormatInt(workerMemory*int64(1+count), 10))
		if err != nil {
			return nodes, err
		}
		nodes[i].Name = name
		o.say("%s: generating TPC-H SF %g", name, o.ScaleFactor)
		if err := loadTPCH(ctx, nodes[i], o.ScaleFactor); err != nil {
			return nodes, fmt.Errorf("%s: %w", name, err)
		}
	}
	return nodes, nil
}

// loadTPCH has a node of ours make the tables.
func loadTPCH(ctx context.Context, s *serving.Server, sf float64) (err error) {
	client, err := noderpc.Dial(ctx, filepath.Join(s.Directories[0], "csmsql.sock"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	return client.LoadTPCH(ctx, noderpc.TPCHRequest{ScaleFactor: sf}, nil)
}

func (n workerNodes) close() (err error) {
	for _, s := range n {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}

// connect opens a connection to each.
func (n workerNodes) connect(ctx context.Context) (conns [2]*pgconn.PgConn, end func(), err error) {
	end = func() {
		for _, c := range conns {
			if c != nil {
				c.Close(context.WithoutCancel(ctx))
			}
		}
	}
	for i, s := range n {
		if conns[i], err = pgconn.Connect(ctx, s.Conninfo); err != nil {
			end()
			return conns, nil, fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return conns, end, nil
}

// textOf is a result as text.
func textOf(ctx context.Context, conn *pgconn.PgConn, sql string) (columns []string, rows [][]string, err error) {
	results, err := conn.Exec(ctx, sql).ReadAll()
	if err != nil {
		return nil, nil, err
	}
	last := results[len(results)-1]
	for _, f := range last.FieldDescriptions {
		columns = append(columns, f.Name)
	}
	for _, values := range last.Rows {
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = string(v)
		}
		rows = append(rows, row)
	}
	return columns, rows, nil
}

// checkTPCH compares the answers of both nodes with the published ones, or with each other where there are none (B1).
func (n workerNodes) checkTPCH(ctx context.Context, o Options, asked []queries.Query) (checked int, err error) {
	o.say("checking answers")
	conns, end, err := n.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	for _, q := range asked {
		want, published := queries.AnswerFor(o.ScaleFactor, q.Number)
		for i, s := range n {
			columns, rows, err := textOf(ctx, conns[i], q.SQL)
			if err != nil {
				return 0, fmt.Errorf("%s: query %d: %w", s.Name, q.Number, err)
			}
			if !published && i == 0 {
				want = queries.Answer{Columns: columns, Rows: rows}
				continue
			}
			if err := want.Compare(columns, rows); err != nil {
				return 0, fmt.Errorf("%s: query %d gives a wrong answer: %w", s.Name, q.Number, err)
			}
			checked++
		}
	}
	return checked, nil
}

// both adds a line of two samples, and gives their ratio.
func (r *Report) both(what string, times [2][]time.Duration) float64 {
	without, with := median(times[0]), median(times[1])
	r.Samples[what+", without"], r.Samples[what+", with"] = times[0], times[1]
	ratio := float64(with) / float64(without)
	r.Rows = append(r.Rows, []any{what, without, with, ratio})
	return ratio
}

// hop times the short statements.
func (n workerNodes) hop(ctx context.Context, o Options, r *Report) error {
	conns, end, err := n.connect(ctx)
	if err != nil {
		return err
	}
	defer end()
	for i, h := range hopping {
		for _, prepared := range []bool{true, false} {
			what := h.name + ", simple"
			if prepared {
				what = h.name + ", prepared"
			}
			o.say("%s", what)
			name := fmt.Sprintf("hop%d", i)
			var times [2][]time.Duration
			for block := range o.hops()/hopBlock + 1 { // the first block warms up
				for k := range n {
					at := (k + block) % 2 // which side goes first changes
					if prepared && block == 0 {
						if _, err := conns[at].Prepare(ctx, name, h.sql, nil); err != nil {
							return fmt.Errorf("%s: %s: %w", n[at].Name, what, err)
						}
					}
					for range hopBlock {
						took, err := hopOnce(ctx, conns[at], name, h.sql, h.want, prepared)
						if err != nil {
							return fmt.Errorf("%s: %s: %w", n[at].Name, what, err)
						}
						if block > 0 {
							times[at] = append(times[at], took)
						}
					}
				}
			}
			ratio := r.both(what, times)
			switch {
			case i == 0 && prepared:
				r.Goals = append(r.Goals, atMost(what+", which stays in the node: with / without", ratio, 1.2))
			case i == 1 && prepared:
				r.Goals = append(r.Goals, atMost("the way to a worker and back, µs", float64((median(times[1])-median(times[0])).Nanoseconds())/1e3, 500))
			}
		}
	}
	return nil
}

func hopOnce(ctx context.Context, conn *pgconn.PgConn, name, sql, want string, prepared bool) (time.Duration, error) {
	begin := time.Now()
	var got string
	if prepared {
		result := conn.ExecPrepared(ctx, name, nil, nil, nil).Read()
		if result.Err != nil {
			return 0, result.Err
		}
		if len(result.Rows) == 1 {
			got = string(result.Rows[0][0])
		}
	} else {
		_, rows, err := textOf(ctx, conn, sql)
		if err != nil {
			return 0, err
		}
		if len(rows) == 1 {
			got = rows[0][0]
		}
	}
	took := time.Since(begin)
	if got != want {
		return 0, fmt.Errorf("a wrong answer: %q", got)
	}
	return took, nil
}

// timeTPCH times the queries, prepared: what is measured is running them, in a plan that the side has or makes.
func (n workerNodes) timeTPCH(ctx context.Context, o Options, asked []queries.Query, r *Report) error {
	conns, end, err := n.connect(ctx)
	if err != nil {
		return err
	}
	defer end()
	times := make([][2][]time.Duration, len(asked))
	for run := range o.Runs + 1 { // the first one warms up
		o.say("TPC-H, run %d of %d", run, o.Runs)
		for i, q := range asked {
			name := fmt.Sprintf("q%d", q.Number)
			for k := range n {
				at := (k + run + i) % 2
				if run == 0 {
					if _, err := conns[at].Prepare(ctx, name, q.SQL, nil); err != nil {
						return fmt.Errorf("%s: query %d: %w", n[at].Name, q.Number, err)
					}
				}
				begin := time.Now()
				if result := conns[at].ExecPrepared(ctx, name, nil, nil, nil).Read(); result.Err != nil {
					return fmt.Errorf("%s: query %d: %w", n[at].Name, q.Number, result.Err)
				}
				if run > 0 {
					times[i][at] = append(times[i][at], time.Since(begin))
				}
			}
		}
	}
	var total [2]time.Duration
	for i, q := range asked {
		r.both(fmt.Sprintf("Q%02d", q.Number), times[i])
		total[0] += median(times[i][0])
		total[1] += median(times[i][1])
	}
	ratio := float64(total[1]) / float64(total[0])
	r.Rows = append(r.Rows, []any{"TPC-H, sum", total[0], total[1], ratio})
	r.Goals = append(r.Goals, atMost("TPC-H, sum: with / without", ratio, 1.2))
	return nil
}
