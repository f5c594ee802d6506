package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/queries"
)

// cluster measures what several nodes are worth and what they cost. Every node is a process.
//
//	alone   TPC-H in one node, not in a cluster     ─┐ the same query, one after the other; the first one changes
//	solo    TPC-H in a cluster of one node          ─┤   solo / alone: what belonging to a cluster costs a query
//	a, b    TPC-H split by hash over two nodes      ─┘   alone / a+b:  what a second node is worth
//
// Every node is to stand for a machine with as many processors as its queries have threads, and is kept to so many of
// this machine's, all of its process: the two nodes of a pair to processors of their own, the nodes that answer alone
// to those of the pair's first. What of a second node this machine can show at all is asked beside: two nodes that are
// alone, each with all tables, run the statement at once.
//
// Afterwards a table of a gibibyte lies over three other nodes, and this process, a fourth, gets at it from nothing;
// and the planner, without a clock, says what it would have up to 64 nodes do.
func cluster(ctx context.Context, o Options) (*Report, error) {
	split, err := splitting(ctx, o)
	if err != nil {
		return nil, err
	}
	reach, err := reaching(ctx, o)
	if err != nil {
		return nil, err
	}
	plans, err := planning(o)
	if err != nil {
		return nil, err
	}
	r := split.report(o)
	reach.report(r)
	plans.report(r)
	return r, nil
}

// member is a node of the benchmark.
type member struct {
	*process
	memberHello
}

func startMember(ctx context.Context, m memberSetting) (_ *member, err error) {
	encoded, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	made := &member{}
	begin := func() (err error) {
		made.process, err = start(ctx, &made.memberHello, "member", string(encoded))
		return err
	}
	if len(m.processors) > 0 {
		err = keptTo(m.processors, begin)
	} else {
		err = begin()
	}
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", m.Name, err)
	}
	made.name = "node " + m.Name
	return made, nil
}

// members are nodes that end together; the last one that began ends first.
type members []*member

// start starts a node.
func (m *members) start(ctx context.Context, setting memberSetting) (*member, error) {
	one, err := startMember(ctx, setting)
	if err == nil {
		*m = append(*m, one)
	}
	return one, err
}

func (m *members) close() (err error) {
	for _, one := range slices.Backward(*m) {
		err = errors.Join(err, one.close())
	}
	return err
}

// side is one of the three that are asked the same.
type side struct {
	name  string
	node  *member
	other *member           // of two
	times [][]time.Duration // by query, then by statement of short
	work  [][]time.Duration // the same of processor time, of all nodes of the side
	reads []asked           // by query: what the first answer, which is compared, was and read
}

const (
	alone = iota
	solo
	pair
	sidesOf
)

// short statements show what a statement costs that hardly reads anything: a cluster's first asks etcd for the last
// commit.
var short = []struct{ name, sql string }{
	{"no table", "SELECT 1"},
	{"a row of nation", "SELECT n_name FROM nation WHERE n_nationkey = 7"},
	{"a row of region, by kernels", "SELECT r_name FROM region LIMIT 1"},
}

// shortRuns is how often a run asks a short statement.
const shortRuns = 40

// splittings is what was found of the three sides.
type splittings struct {
	asked   []queries.Query
	sides   [sidesOf]side
	at      [2][]int          // processors that the first and the second node of a pair are kept to; nil: the machine has too few
	beside  *member           // a second node that is alone, where the second of the pair is
	both    [][]time.Duration // by query: until both that are alone had run it at once
	checked int
}

// Names of the nodes that are kept to the processors of a second machine.
const secondOfPair, besideAlone = "b", "beside"

// memberMemory is what a node's queries may have beside its region.
const memberMemory = 2 << 30

func splitting(ctx context.Context, o Options) (s *splittings, err error) {
	s = &splittings{}
	if s.asked, err = chosen(o.Queries); err != nil {
		return nil, err
	}
	region := 256<<20 + int64(o.ScaleFactor*2*(1<<30))
	var nodes members
	defer func() { err = errors.Join(err, nodes.close()) }()
	s.at = apart(o.Threads)
	begin := func(name string, setting memberSetting) (*member, error) {
		setting.processors = s.at[0]
		if name == secondOfPair || name == besideAlone {
			setting.processors = s.at[1]
		}
		setting.Name, setting.Threads, setting.RegionBytes, setting.MemoryBytes = name, o.Threads, region, memberMemory
		return nodes.start(ctx, setting)
	}
	s.sides = [sidesOf]side{{name: "one node"}, {name: "cluster of one"}, {name: "two nodes"}}
	if s.sides[alone].node, err = begin("alone", memberSetting{}); err != nil {
		return nil, err
	}
	if s.beside, err = begin(besideAlone, memberSetting{}); err != nil {
		return nil, err
	}
	if s.sides[solo].node, err = begin("solo", memberSetting{Begin: true}); err != nil {
		return nil, err
	}
	if s.sides[pair].node, err = begin("a", memberSetting{Begin: true}); err != nil {
		return nil, err
	}
	if s.sides[pair].other, err = begin(secondOfPair, memberSetting{Etcd: s.sides[pair].node.Etcd}); err != nil {
		return nil, err
	}
	if err := s.load(o); err != nil {
		return nil, err
	}
	if err := s.check(ctx, o); err != nil {
		return nil, err
	}
	return s, s.measure(ctx, o)
}

func (s *splittings) load(o Options) error {
	for i, placement := range []string{"", "", "hash"} {
		o.say("%s: generating TPC-H SF %g", s.sides[i].name, o.ScaleFactor)
		if err := s.sides[i].node.ask(request{Do: "tpch", ScaleFactor: o.ScaleFactor, Placement: placement}, nil); err != nil {
			return err
		}
	}
	o.say("another one node: generating TPC-H SF %g", o.ScaleFactor)
	if err := s.beside.ask(request{Do: "tpch", ScaleFactor: o.ScaleFactor}, nil); err != nil {
		return err
	}
	if o.sabotage {
		return s.sides[pair].node.ask(request{Do: "exec", SQL: "DELETE FROM lineitem WHERE l_orderkey = 1"}, nil)
	}
	return nil
}

// check compares every side's answers (B1), with the published ones or, where there are none, with the first side's.
func (s *splittings) check(ctx context.Context, o Options) error {
	o.say("checking answers")
	for _, q := range s.asked {
		want, published := queries.AnswerFor(o.ScaleFactor, q.Number)
		for i := range s.sides {
			if err := ctx.Err(); err != nil {
				return err
			}
			var got asked
			if err := s.sides[i].node.ask(request{Do: "ask", SQL: q.SQL, Answer: true}, &got); err != nil {
				return fmt.Errorf("query %d: %w", q.Number, err)
			}
			if !published && i == 0 {
				want = queries.Answer{Columns: got.Columns, Rows: got.Rows}
			}
			if err := want.Compare(got.Columns, got.Rows); err != nil {
				return fmt.Errorf("query %d: %s gives a wrong answer: %w", q.Number, s.sides[i].name, err)
			}
			if published {
				s.checked++
			}
			got.Rows = nil
			s.sides[i].reads = append(s.sides[i].reads, got)
		}
		var got asked
		if err := s.beside.ask(request{Do: "ask", SQL: q.SQL, Answer: true}, &got); err != nil {
			return fmt.Errorf("query %d: %w", q.Number, err)
		}
		if err := want.Compare(got.Columns, got.Rows); err != nil {
			return fmt.Errorf("query %d: another one node gives a wrong answer: %w", q.Number, err)
		}
	}
	return nil
}

// measure asks every side in turn.
func (s *splittings) measure(ctx context.Context, o Options) error {
	for i := range s.sides {
		s.sides[i].times, s.sides[i].work = make([][]time.Duration, len(s.asked)+len(short)), make([][]time.Duration, len(s.asked)+len(short))
	}
	s.both = make([][]time.Duration, len(s.asked))
	for run := range o.Runs {
		o.say("run %d of %d", run+1, o.Runs)
		for i, q := range s.asked {
			begin := time.Now()
			for again := 0; again == 0 || again < shortAgain && time.Since(begin) < sidesOf*shortTime; again++ {
				err := s.turn(ctx, run+again, i, q.SQL)
				if err == nil {
					err = s.atOnce(i, q.SQL)
				}
				if err != nil {
					return fmt.Errorf("query %d: %w", q.Number, err)
				}
			}
		}
		for i := range short {
			for again := range shortRuns {
				if err := s.turn(ctx, run+again, len(s.asked)+i, short[i].sql); err != nil {
					return fmt.Errorf("%s: %w", short[i].sql, err)
				}
			}
		}
	}
	return nil
}

// turn asks each side once; number decides which one goes first.
func (s *splittings) turn(ctx context.Context, number, i int, sql string) error {
	for k := range s.sides {
		if err := ctx.Err(); err != nil {
			return err
		}
		side := &s.sides[(k+number)%sidesOf]
		took, worked, err := side.ask(sql)
		if err != nil {
			return err
		}
		side.times[i], side.work[i] = append(side.times[i], took), append(side.work[i], worked)
	}
	return nil
}

// atOnce has two nodes that share nothing but the machine run a query at the same time.
func (s *splittings) atOnce(i int, sql string) error {
	var took [2]asked
	var group errgroup.Group
	for k, n := range []*member{s.sides[alone].node, s.beside} {
		group.Go(func() error { return n.ask(request{Do: "ask", SQL: sql}, &took[k]) })
	}
	err := group.Wait()
	s.both[i] = append(s.both[i], max(took[0].Took, took[1].Took))
	return err
}

// ask asks once; worked is the processor time of all nodes of the side.
func (s *side) ask(sql string) (took, worked time.Duration, err error) {
	var before, after time.Duration
	if s.other != nil {
		if err := s.other.ask(request{Do: "work"}, &before); err != nil {
			return 0, 0, err
		}
	}
	var got asked
	if err := s.node.ask(request{Do: "ask", SQL: sql}, &got); err != nil {
		return 0, 0, err
	}
	if s.other != nil {
		if err := s.other.ask(request{Do: "work"}, &after); err != nil {
			return 0, 0, err
		}
	}
	return got.Took, got.Worked + after - before, nil
}

func (s *splittings) report(o Options) *Report {
	kept := fmt.Sprintf("every node kept to %s of this machine", processorsOf(o))
	if s.at[0] == nil {
		kept = "nodes share this machine's processors, which are too few to give each its own"
	}
	r := &Report{
		Name: "cluster", Machine: thisMachine(),
		Setting: fmt.Sprintf("TPC-H SF %g, tables split by hash over two nodes of %s each against one node of %s, and against a cluster of one; %s; medians of %d interleaved runs, in which short queries are asked up to %d times, of ratios those of one asking after the other; all sides keep the plans of what they were asked before; machine: two times the one node's time over what two such nodes, which share nothing but the machine, take for the statement at the same time; %d answers compared with the published ones",
			o.ScaleFactor, threadsOf(o), threadsOf(o), kept, o.Runs, shortAgain, s.checked),
		Columns: []string{"query", "one node", "cluster of one", "of one / one", "two nodes", "one / two", "machine", "work of two / one", "fragments", "read at home", "read elsewhere"},
		Samples: map[string][]time.Duration{},
	}
	var total, whole sum
	split := 0
	for i, q := range s.asked {
		name := fmt.Sprintf("Q%02d", q.Number)
		one := s.sum(i)
		for k := range s.sides {
			r.Samples[name+", "+s.sides[k].name] = s.sides[k].times[i]
		}
		r.Samples[name+", two nodes that share nothing"] = s.both[i]
		whole.add(one)
		read, fragments := s.sides[pair].reads[i], any("whole")
		if read.Fragments > 0 {
			split++
			fragments = read.Fragments
			total.add(one)
		}
		r.Rows = append(r.Rows, append(one.row(name), fragments, inMegabytes(read.Local), inMegabytes(read.Remote)))
	}
	r.Rows = append(r.Rows, append(total.row(fmt.Sprintf("%d split", split)), "", "", ""), append(whole.row(fmt.Sprintf("all %d", len(s.asked))), "", "", ""))
	few := Table{Title: "Statements that hardly read anything: what a snapshot costs", Columns: []string{"statement", "one node", "cluster of one", "of one / one", "two nodes"}}
	for i := range short {
		var t [sidesOf]time.Duration
		for k := range s.sides {
			t[k] = median(s.sides[k].times[len(s.asked)+i])
			r.Samples[short[i].name+", "+s.sides[k].name] = s.sides[k].times[len(s.asked)+i]
		}
		few.Rows = append(few.Rows, []any{short[i].name, t[alone], t[solo], ratio(t[solo], t[alone]), t[pair]})
	}
	r.More = append(r.More, few)
	if split > 0 {
		r.Goals = append(r.Goals, atLeast(fmt.Sprintf("one node / two nodes, in total over the %d queries that are split", split), total.gain(), 1.8))
	}
	r.Goals = append(r.Goals, atMost("cluster of one node / one node, in total", whole.cost(), 1.02))
	return r
}

// sum adds medians up, by side; paired is what the cluster of one takes by the ratios of pairs that were asked one
// after the other.
type sum struct {
	time, work   [sidesOf]time.Duration
	both, paired time.Duration
}

func (s *splittings) sum(i int) (one sum) {
	for k := range s.sides {
		one.time[k], one.work[k] = median(s.sides[k].times[i]), median(s.sides[k].work[i])
	}
	one.both = median(s.both[i])
	one.paired = time.Duration(float64(one.time[alone]) * medianRatio(s.sides[solo].times[i], s.sides[alone].times[i]))
	return one
}

func (s *sum) add(one sum) {
	for k := range s.time {
		s.time[k] += one.time[k]
		s.work[k] += one.work[k]
	}
	s.both += one.both
	s.paired += one.paired
}

// gain is what the second node is worth, cost what the cluster costs one.
func (s *sum) gain() float64 { return ratio(s.time[alone], s.time[pair]) }
func (s *sum) cost() float64 { return ratio(s.paired, s.time[alone]) }

func (s *sum) row(name string) []any {
	t := &s.time
	return []any{name, t[alone], t[solo], s.cost(), t[pair], s.gain(), 2 * ratio(t[alone], s.both), ratio(s.work[pair], s.work[alone])}
}

// medianRatio is the median of the ratios of what was measured one after the other.
func medianRatio(a, b []time.Duration) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = ratio(a[i], b[i])
	}
	slices.Sort(ratios)
	if n := len(ratios); n%2 == 0 {
		return (ratios[n/2-1] + ratios[n/2]) / 2
	}
	return ratios[len(ratios)/2]
}

func processorsOf(o Options) string {
	if o.Threads == 1 {
		return "1 processor"
	}
	return fmt.Sprintf("%d processors", o.Threads)
}

func threadsOf(o Options) string {
	if o.Threads == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", o.Threads)
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func inMegabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
