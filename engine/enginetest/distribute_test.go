package enginetest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/plan/distribute"
)

// anyPlan has every statement split that can be.
func anyPlan(nodes []string) distribute.Settings {
	return distribute.Settings{Nodes: nodes, Coordinator: nodes[0], Threads: 1, RemoteFactor: 1}
}

// somePlan asks for plans that suit some cluster: what is worth splitting is a matter of taste, the answer is not.
func somePlan(r *rand.Rand) distribute.Settings {
	s := anyPlan(nodeNames(2 + r.IntN(4)))
	s.Coordinator = pick(r, s.Nodes)
	s.MinGain = pick(r, []float64{0, 0, 0, 1e-9})
	s.GatherRows = pick(r, []int64{10, 1_000_000})
	if chance(r, 60) {
		s.ShuffleBytes, s.RemoteFactor, s.ShuffleGain = 1, pick(r, []float64{1, 4, 20}), pick(r, []float64{1, 1e-6})
	}
	if chance(r, 20) {
		s.MinRows, s.StageBytes = 20, 100
	}
	return s
}

func nodeNames(n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("n%d", i+1))
	}
	return list
}

// distributing counts what TestDistributed saw.
type distributing struct {
	queries, refused, split, stages, shuffles int
	reasons                                   map[string]int
	guess                                     func(int64) int64 // instead of estimates; nil: none
}

// TestDistributed: whatever the query, and however rows lie over however many nodes, the plan's answer is the single node's (the
// planner's D1).
func TestDistributed(t *testing.T) {
	duration, seed := limits(t, 3*time.Second)
	start := time.Now()
	twin := openNative(t, 1)
	count := distributing{reasons: map[string]int{}}
	for first := seed; time.Since(start) < duration && (duration > time.Minute || seed < first+250); seed++ {
		count.play(t, twin, seed)
		if t.Failed() && os.Getenv("CSMSQL_KEEP_GOING") == "" {
			break
		}
	}
	t.Logf("%d queries, %d of them refused, %d split into %d stages, %d of those shuffle", count.queries, count.refused, count.split, count.stages, count.shuffles)
	if testing.Verbose() {
		for reason, n := range count.reasons {
			t.Logf("  single %5d: %s", n, reason)
		}
	}
	require.Greater(t, count.split*3, count.queries-count.refused, "the planner splits too little for this test to mean anything")
}

// play makes one world and asks it.
func (d *distributing) play(t *testing.T, twin *native, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 11))
	w := newWorld(random)
	for _, name := range []string{"t", "u", "s", `"Odd Name"`} {
		twin.exec("DROP TABLE IF EXISTS " + name)
	}
	var script []string
	for _, sql := range w.script() {
		if o := twin.exec(sql); o.state == "" {
			script = append(script, sql)
		}
	}
	p := newParted(twin)
	p.restless, p.guess = true, d.guess
	g := &grammar{Rand: random, world: w}
	layout := 0
	for i := range queriesPerWorld {
		if i%10 == 0 {
			layout++
			require.NoError(t, p.scatter(w, random), "seed %d", seed)
		}
		g.parameters = i%4 == 3
		q, ordered := g.statement()
		sql, args := q.sql()
		switch n := random.IntN(10); {
		case n < 3:
			sql, args, ordered = g.reduction(), nil, false
		case n < 6:
			sql, args, ordered = g.meeting(), nil, false
		case n < 7:
			sql, args, ordered = g.top(), nil, true
		}
		settings := somePlan(random)
		if why := d.compare(p, sql, args, ordered, t, settings); why != "" {
			t.Errorf("seed %d, layout %d:\n%s;\n%s; -- %v\n%s", seed, layout, strings.Join(script, ";\n"), sql, args, why)
			return
		}
	}
}

// compare plans, runs and compares; "" if the answers are the same.
func (d *distributing) compare(p *parted, sql string, args []any, ordered bool, t testing.TB, settings distribute.Settings) string {
	d.queries++
	want := p.single(sql, args)
	if want.state != "" {
		d.refused++
		return ""
	}
	plan, single := p.planOf(t, sql, settings)
	if plan == nil {
		d.reasons[single.Reason]++
		return ""
	}
	d.split++
	d.stages += len(plan.Stages)
	for i := range plan.Stages {
		if plan.Stages[i].Shuffle != nil {
			d.shuffles++
		}
	}
	if why := sameAnswer(p.run(plan, args), want, ordered); why != "" {
		return "plan | single node: " + why + "\n" + plan.String() + describeLayouts(p)
	}
	return ""
}

func describeLayouts(p *parted) string {
	var b strings.Builder
	for r, l := range p.layouts {
		fmt.Fprintf(&b, "%s: %v\n", r.Name, *l)
	}
	return b.String()
}

// scatter places every table again: on some nodes, by rows in runs or at random, or by hash of some columns.
func (p *parted) scatter(w *world, random *rand.Rand) error {
	all := nodeNames(5)[:2+random.IntN(4)]
	for _, t := range w.tables {
		name := strings.Trim(t.name, `"`)
		if err := p.describe(name); err != nil {
			return err
		}
		r := p.relations[strings.ToLower(name)]
		nodes := slices.Clone(all)
		var columns []string
		bucket := "0"
		switch random.IntN(6) {
		case 0:
			nodes = []string{pick(random, all)}
		case 1:
			bucket = fmt.Sprintf("rowid * %d // %d", len(nodes), max(r.Rows, 1))
		case 2:
			bucket = fmt.Sprintf("hash(rowid, %d) %% %d", random.IntN(9), len(nodes))
			random.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		default:
			columns = []string{t.columns[0].name}
			if chance(random, 20) {
				columns = append(columns, pick(random, t.columns[1:]).name)
			}
			if chance(random, 20) {
				columns = []string{pick(random, t.columns).name}
			}
			columns = slices.Compact(columns)
		}
		if err := p.split(name, nodes, bucket, columns...); err != nil {
			return err
		}
	}
	return nil
}

// TestDistributedTPCH: all 22 answers, on 1 to 5 nodes, with lineitem and orders split by hash and by rows.
func TestDistributedTPCH(t *testing.T) {
	twin := openNative(t, 2)
	loadTPCH(t, twin, 0.01)
	p := newParted(twin)
	for _, table := range tpchTables {
		require.NoError(t, p.describe(table))
	}
	for _, n := range []int{1, 2, 3, 5} {
		for _, hash := range []bool{true, false} {
			nodes := nodeNames(n)
			for _, table := range tpchTables {
				var columns []string
				if key := map[string]string{"lineitem": "l_orderkey", "orders": "o_orderkey"}[table]; hash && key != "" {
					columns = []string{key}
				}
				rows := max(p.relations[table].Rows, 1)
				require.NoError(t, p.split(table, nodes, fmt.Sprintf("rowid * %d // %d", n, rows), columns...))
			}
			split := p.answersTPCH(t, anyPlan(nodes))
			if n == 1 {
				require.Zero(t, split)
				continue
			}
			require.GreaterOrEqual(t, split, 20, "%d nodes, by hash %v", n, hash)
			shuffling := anyPlan(nodes)
			shuffling.ShuffleBytes, shuffling.RemoteFactor, shuffling.ShuffleGain = 1, 20, 1
			require.GreaterOrEqual(t, p.answersTPCH(t, shuffling), split, "%d nodes, by hash %v", n, hash)
		}
	}
}

var tpchTables = []string{"region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"}
