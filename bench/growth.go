package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/csmsql/csmsql/bench/growing"
	"github.com/csmsql/csmsql/bench/result"
	"github.com/csmsql/csmsql/engine"
)

const (
	// grownRows are those of the table whose chunks grow in number: as many in each size, so that only the chunks do.
	grownRows = 1_000_000
	// grownPart is how many rows a chunk has at the largest number of chunks, 10,000.
	grownPart = 100
	// growthLimit is how many times as long as at the smallest size anything may take.
	growthLimit = 1.5
)

// growthSizes are the three numbers of tables, or chunks, of which the largest is given.
func growthSizes(largest int64) []int64 {
	return []int64{max(largest/1000, 1), max(largest/10, 1), largest}
}

// growthStep is what is measured: a statement with numbers for its parameters, or getting at the node.
type growthStep struct {
	name  string
	sql   string // empty: attach
	draws bool   // its only parameter is a number below growing.KeyedRows
	below bool   // which is taken from -1, where the table has no row
	after bool   // each time right after a row was inserted into another table, which is not timed
	times int    // in a run
	right func(parameter int64) string
	goal  bool
}

// growth is one thing whose number grows.
type growth struct {
	what  string
	steps []growthStep
	sizes []int64
	nodes members
	made  []time.Duration // by size: to make one of them
	rows  []int64         // by size: that were inserted into elsewhere
	times [][][]time.Duration
}

const (
	growthElsewhere = "INSERT INTO elsewhere VALUES ($1, 1)"
	growthMany      = "INSERT INTO many VALUES ($1, 0)"
)

// commonSteps are on tables that stay as they are.
func commonSteps() []growthStep {
	times7 := func(p int64) string { return fmt.Sprint(7 * p) }
	return []growthStep{
		{name: "SELECT 1", sql: "SELECT 1", times: 40, right: func(int64) string { return "1" }, goal: true},
		{name: "a row of another table by its key", sql: "SELECT v FROM keyed WHERE id = $1", draws: true, times: 40,
			right: times7, goal: true},
		{name: "such a row right after a commit elsewhere", sql: "SELECT v FROM keyed WHERE id = $1", draws: true,
			after: true, times: 20, right: times7, goal: true},
		{name: "INSERT a row into another table", sql: growthElsewhere, draws: true, times: 20, goal: true},
		{name: "attach, to the first answer", times: 3, right: times7, goal: true},
	}
}

// grows are tables, and chunks of one table.
func grows(o Options) []*growth {
	rows := o.rows(grownRows)
	sizes := growthSizes(max(rows/grownPart, 1))
	sum := fmt.Sprintf("%d|%d", rows, 7*rows/2*(rows-1)+7*(rows%2)*((rows-1)/2))
	tables := &growth{what: "tables", sizes: sizes, steps: append(commonSteps(),
		growthStep{name: "CREATE TABLE and DROP TABLE", times: 3,
			sql: "CREATE TABLE one_more (a bigint, b text); DROP TABLE one_more"})}
	chunks := &growth{what: "chunks", sizes: sizes, steps: append(commonSteps(),
		growthStep{name: "a row of the table by its value", sql: "SELECT b FROM many WHERE a = $1", draws: true,
			times: 20, right: func(p int64) string { return fmt.Sprint(7 * p) }},
		growthStep{name: "count and sum of the table", sql: "SELECT count(*), sum(b) FROM many WHERE a >= 0", times: 3,
			right: func(int64) string { return sum }},
		growthStep{name: "INSERT a row into the table", sql: growthMany, draws: true, below: true, times: 10})}
	return []*growth{tables, chunks}
}

// measureGrowth measures what a statement costs while there are more and more tables that it does not read, or chunks
// of one table: each size in a node of its own, of which all are asked in turn.
//
//	           node with 10 ───┐                    ┌─ SELECT 1, a point query, an INSERT: prepared, in the node
//	tables ──► node with 1,000 ├─► asked in turns ──┤
//	           node with 10,000┘                    └─ this process attaches, and asks
//
// Chunks are made whole, and nothing folds them.
func measureGrowth(ctx context.Context, o Options) (*Report, error) {
	r := &Report{
		Name: "growth", Samples: map[string][]time.Duration{},
		Columns: []string{"more and more", "what takes", "of the fewest", "the middle", "the most", "middle ratio",
			"most ratio"},
		Setting: fmt.Sprintf("what statements take with more and more tables that they do not read, and chunks of a"+
			" table, each size in its own node, on shm, asked in turn; prepared statements, in the node's process,"+
			" and another process that attaches; medians of %d runs, each of 3 to 40 statements; ratios are to the"+
			" fewest. All answers were compared. In clusters of more and more nodes, each a process, what one statement of"+
			" the second node sends and receives, and what etcd sends to each other node; medians of as many runs, without"+
			" what is sent anyway in that time", o.Runs),
	}
	for _, g := range grows(o) {
		if err := g.measure(ctx, o); err != nil {
			return nil, fmt.Errorf("%s: %w", g.what, err)
		}
		g.report(r)
	}
	if err := growNodes(ctx, o, r); err != nil {
		return nil, err
	}
	r.Machine = thisMachine() // with the load at the end
	return r, nil
}

func (g *growth) measure(ctx context.Context, o Options) (err error) {
	defer func() { err = errors.Join(err, g.nodes.close()) }()
	for i, size := range g.sizes {
		o.say("%d %s", size, g.what)
		setting := memberSetting{
			Name: fmt.Sprintf("growth%d", i), Threads: o.Threads, RegionBytes: 512 << 20, MemoryBytes: memberMemory,
			Fixed: true,
		}
		if _, err := g.nodes.start(ctx, setting); err != nil {
			return err
		}
		var took time.Duration
		wanted := growing.Wanted{Rows: o.rows(grownRows), Skew: o.sabotage}
		if g.what == "tables" {
			wanted.Tables = size
		} else {
			wanted.Chunks = size
		}
		if err := g.nodes[i].ask(request{Do: "grow", Wanted: wanted}, &took); err != nil {
			return err
		}
		g.made = append(g.made, took/time.Duration(size))
	}
	g.times = make([][][]time.Duration, len(g.steps))
	for s := range g.times {
		g.times[s] = make([][]time.Duration, len(g.sizes))
	}
	g.rows = make([]int64, len(g.sizes))
	for run := -1; run < o.Runs; run++ { // the first one compares answers, and is not counted
		if o.say("%s, run %d of %d", g.what, run+1, o.Runs); ctx.Err() != nil {
			return ctx.Err()
		}
		for s, step := range g.steps {
			for k := range g.sizes {
				i := (k + run + len(g.sizes)) % len(g.sizes) // which side goes first changes
				times, err := g.once(ctx, i, step, run)
				if err != nil {
					return fmt.Errorf("%d of them, %s: %w", g.sizes[i], step.name, err)
				}
				if run >= 0 {
					g.times[s][i] = append(g.times[s][i], times...)
				}
			}
		}
	}
	return g.checkInserted()
}

// once does a step as often as a run does it, in the node of one size, and compares its answers.
func (g *growth) once(ctx context.Context, i int, step growthStep, run int) (times []time.Duration, err error) {
	r := request{Do: "repeat", SQL: step.sql}
	if step.after {
		r.Before = growthElsewhere
	}
	for k := range step.times {
		p := int64((run+2)*37+k*211) % growing.KeyedRows
		switch {
		case step.below:
			r.Parameters = append(r.Parameters, []int64{-1 - p})
		case step.draws:
			r.Parameters = append(r.Parameters, []int64{p})
		default:
			r.Parameters = append(r.Parameters, nil)
		}
		if step.sql != "" {
			continue
		}
		took, err := attachAndAsk(ctx, g.nodes[i].Socket, p, step.right(p))
		if err != nil {
			return nil, err
		}
		times = append(times, took)
	}
	if step.sql == "" {
		return times, nil
	}
	var done growing.Repeated
	if err := g.nodes[i].ask(r, &done); err != nil {
		return nil, err
	}
	if step.sql == growthElsewhere || step.after {
		g.rows[i] += int64(step.times)
	}
	for k, answer := range done.Answers {
		p := int64(0)
		if step.draws {
			p = r.Parameters[k][0]
		}
		if step.right != nil && answer != step.right(p) {
			return nil, fmt.Errorf("a wrong answer: %q for %d, right is %q", answer, p, step.right(p))
		}
	}
	return done.Took, nil
}

// attachAndAsk gets at a node from this process until it has the answer to a question.
func attachAndAsk(ctx context.Context, socket string, p int64, right string) (took time.Duration, err error) {
	began := time.Now()
	e, err := engine.AttachWith(ctx, socket, engine.Config{Threads: 1, MemoryBytes: memberMemory})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	s, err := e.Session(engine.SessionOptions{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	_, rows, err := result.Of(ctx, s, fmt.Sprintf("SELECT v FROM keyed WHERE id = %d", p), true)
	took = time.Since(began)
	if err == nil && (len(rows) != 1 || rows[0][0] != right) {
		err = fmt.Errorf("a wrong answer: %v, right is %s", rows, right)
	}
	return took, err
}

// checkInserted compares the rows of the other table with those that were acknowledged.
func (g *growth) checkInserted() error {
	for i := range g.sizes {
		var a asked
		r := request{Do: "ask", SQL: "SELECT count(*), sum(b) FROM elsewhere", Answer: true}
		if err := g.nodes[i].ask(r, &a); err != nil {
			return err
		}
		if want := fmt.Sprint(g.rows[i]); len(a.Rows) != 1 || !slices.Equal(a.Rows[0], []string{want, want}) {
			return fmt.Errorf("of %d %s: a wrong answer: %v, right are %s rows", g.sizes[i], g.what, a.Rows, want)
		}
	}
	return nil
}

func (g *growth) report(r *Report) {
	line := func(name string, times []time.Duration) {
		ratio := func(i int) float64 { return float64(times[i]) / float64(times[0]) }
		r.Rows = append(r.Rows, []any{g.what, name, times[0], times[1], times[2], ratio(1), ratio(2)})
	}
	line("making one of them, all at once", g.made)
	for s, step := range g.steps {
		var medians []time.Duration
		for i, times := range g.times[s] {
			medians = append(medians, median(times))
			r.Samples[fmt.Sprintf("%d %s, %s", g.sizes[i], g.what, step.name)] = times
		}
		line(step.name, medians)
		if step.goal {
			claim := fmt.Sprintf("%s, of %d %s / of %d", step.name, g.sizes[2], g.what, g.sizes[0])
			r.Goals = append(r.Goals, atMost(claim, float64(medians[2])/float64(medians[0]), growthLimit))
		}
	}
}
