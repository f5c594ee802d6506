package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/exec/plan/distribute"
)

// metamorphic is a cluster, its twin, and what was seen so far.
type metamorphic struct {
	t     *testing.T
	nodes *nodes
	twin  *native

	worlds, queries, refused, changes, moves int
	faults                                   int // queries that DuckDB answers as the cluster does, without its optimizer
	several                                  int // queries that were answered where there is more than one node
	split, fragments                         int // statements that ran in parts, and the parts
	bySize                                   map[int]int
}

// TestMetamorphic: for every query, number of nodes, placement of rows, cut-off and coordinator, the answer is the
// single node's (E1; the planner's D1, D3 to D5, D7).
func TestMetamorphic(t *testing.T) {
	if testing.Short() {
		t.Skip("a cluster takes some seconds")
	}
	duration, seed := limits(t, 4*time.Second)
	m := &metamorphic{t: t, nodes: openNodes(t), twin: openNative(t, 2), bySize: map[int]int{}}
	start, fresh := time.Now(), uint64(time.Now().UnixNano())%1_000_000_000
	goOn := func() bool { return !t.Failed() || os.Getenv("CSMSQL_KEEP_GOING") != "" }
	first := seed
	for ; time.Since(start) < duration/2 && goOn(); seed++ {
		m.play(seed)
	}
	if duration <= time.Minute && os.Getenv("CSMSQL_SEED") == "" { // half of the seeds are the same in every run
		t.Logf("seeds %d to %d, then from %d", first, seed-1, fresh)
		seed = fresh
	}
	for ; time.Since(start) < duration && goOn(); seed++ {
		m.play(seed)
	}
	t.Logf("seeds to %d: %d worlds on %v nodes, %d queries, %d of them refused by both, %d DuckDB's own faults, %d changes, %d tables moved; %d queries were split, into %d fragments",
		seed-1, m.worlds, m.bySize, m.queries, m.refused, m.faults, m.changes, m.moves, m.split, m.fragments)
	require.Less(t, m.faults, m.queries/50+3, "DuckDB is not wrong that often")
	// Where time was short, there may have been worlds of one node alone.
	require.GreaterOrEqual(t, m.split*5, m.several, "too few queries were split for this test to mean anything")
}

// play makes one world on so many nodes and asks it.
func (m *metamorphic) play(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 13))
	w := newWorld(random)
	n := 1 + rand.New(rand.NewPCG(seed/4, 17)).IntN(5) // to change the number takes time
	m.worlds++
	m.bySize[n]++
	m.nodes.resize(n)
	p := &placedWorld{metamorphic: m, Rand: random, world: w, seed: seed, user: fmt.Sprintf("world %d of seed %d", m.worlds, seed)}
	defer p.drop()
	for _, node := range m.nodes.list {
		s, err := node.engine.Session(engine.SessionOptions{User: p.user})
		require.NoError(m.t, err)
		p.sides = append(p.sides, &lent{s})
	}
	if p.build(); !p.failed {
		p.ask()
	}
	p.count()
}

// placedWorld is a world that lies on the nodes of a cluster.
type placedWorld struct {
	*metamorphic
	*rand.Rand
	world  *world
	seed   uint64
	user   string
	sides  []*lent
	script []string // what was done, and where
	kept   []*kept
	failed bool
}

// at is a node by chance.
func (p *placedWorld) at() (node string, side *lent) {
	i := p.IntN(len(p.sides))
	return p.nodes.list[i].name, p.sides[i]
}

// both changes the cluster and the twin, which knows no placements, and demands that they agree.
func (p *placedWorld) both(ours, twins string) bool {
	node, side := p.at()
	p.script = append(p.script, fmt.Sprintf("%s; -- at %s", ours, node))
	got, want := side.exec(ours), outcome{}
	if twins != "" {
		want = p.twin.exec(twins)
	}
	if d := got.differs(want, true); d != "" {
		p.fail(d)
		return false
	}
	return got.state == ""
}

func (p *placedWorld) fail(found string) {
	p.failed = true
	p.t.Errorf("seed %d (CSMSQL_SEED=%[1]d), %d nodes:\n%s\n%s", p.seed, len(p.sides), strings.Join(p.script, "\n"), found)
}

func (p *placedWorld) build() {
	for _, t := range p.world.tables {
		if !p.both(fmt.Sprintf("%s WITH (placement = '%s')", t.create(), p.placement(t)), t.create()) {
			continue
		}
		for _, in := range t.inserts {
			if in.from != "" || len(in.rows) > 0 {
				p.both(t.statement(in), t.statement(in))
			}
		}
	}
}

// hashable are the types that a hash takes, and float, of which the planner concludes nothing.
var hashable = []string{"INTEGER", "BIGINT", "SMALLINT", "UBIGINT", "DECIMAL(12,3)", "DECIMAL(25,2)", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP", "UUID", "BLOB", "DOUBLE"}

// placement is a table's by chance; most are a hash of the key that all tables have, so that there is something to co-locate.
func (p *placedWorld) placement(t *table) string {
	some := p.someNodes()
	switch n := p.IntN(10); {
	case n == 0:
		return "local"
	case n == 1:
		return "node(" + some[0] + ")"
	case n == 2:
		return "rows"
	case n == 3:
		return "rows(" + strings.Join(some, ", ") + ")"
	}
	columns := []string{t.columns[0].name}
	if others := slices.DeleteFunc(slices.Clone(t.columns[1:]), func(c *column) bool { return !slices.Contains(hashable, c.kind.name) }); len(others) > 0 {
		if chance(p.Rand, 15) {
			columns = append(columns, pick(p.Rand, others).name)
		}
		if chance(p.Rand, 15) {
			columns = []string{pick(p.Rand, others).name}
		}
	}
	text := "hash(" + strings.Join(columns, ", ") + ")"
	if chance(p.Rand, 40) { // what is split by the same columns over other nodes meets nothing where it lies
		text += " on (" + strings.Join(some, ", ") + ")"
	}
	return text
}

func (p *placedWorld) someNodes() []string {
	var names []string
	for _, n := range p.nodes.list {
		names = append(names, n.name)
	}
	p.Shuffle(len(names), func(i, k int) { names[i], names[k] = names[k], names[i] })
	return names[:1+p.IntN(len(names))]
}

// ask asks some queries; between them rows change, and move.
func (p *placedWorld) ask() {
	g := &grammar{Rand: p.Rand, world: p.world}
	for i := range queriesPerWorld {
		if i%8 == 7 {
			if p.stir(g); p.failed {
				return
			}
		}
		g.parameters = i%8 == 3
		q, ordered := g.statement()
		sql, args := q.sql()
		switch n := p.IntN(10); {
		case n < 3:
			q, sql, args, ordered = nil, g.reduction(), nil, false
		case n < 7:
			q, sql, args, ordered = nil, g.meeting(), nil, false
		case n < 8:
			q, sql, args, ordered = nil, g.top(), nil, true
		}
		node, side := p.at()
		how := p.cut(side)
		if d := p.compare(side, sql, args, ordered); d != "" {
			p.report(q, sql, args, ordered, node, side, how, d)
		}
		if p.failed {
			return
		}
		if i%10 == 0 {
			if ours, err := side.session.Prepare(context.Background(), sql); err == nil {
				p.kept = append(p.kept, &kept{sql, args, ordered, ours})
			}
		}
	}
}

// cut decides what is worth splitting, and what is not used.
func (p *placedWorld) cut(side *lent) (how string) {
	s := somePlan(p.Rand)
	if chance(p.Rand, 15) {
		s = distribute.DefaultSettings("", nil, 1)
	}
	p.nodes.cutOffs.Store(&s)
	how = pick(p.Rand, []string{"auto", "auto", "auto", "always", "always", "off"})
	side.must(p.t, "SET csm.distribute = "+how)
	without := ""
	if chance(p.Rand, 30) {
		without = pick(p.Rand, disabled())
	}
	side.must(p.t, "SET csm.disable = '"+without+"'")
	return how + ", csm.disable '" + without + "'"
}

// compare asks a node and the twin; and now and then the node again, without other nodes' help: names are the engine's own (D3).
func (p *placedWorld) compare(side *lent, sql string, args []any, ordered bool) string {
	p.queries++
	want := p.single(sql, args)
	if want.state != "" {
		p.refused++
	} else if len(p.sides) > 1 {
		p.several++
	}
	got, typed := answerOf(side.session.Query(context.Background(), sql, args...))
	d := sameAnswer(typed, want, ordered)
	if d != "" {
		plain := p.twin.withoutOptimizer(func() outcome { return p.single(sql, args) })
		if sameAnswer(typed, plain, ordered) == "" { // it was wrong itself
			p.faults++
			return ""
		}
	}
	if d == "" && p.queries%4 == 0 {
		how := side.ask(p.t, "SHOW csm.distribute")[0]
		side.must(p.t, "SET csm.distribute = off")
		alone := side.query(sql, args)
		side.must(p.t, "SET csm.distribute = "+how)
		if d = sameAnswer(got, alone, ordered); d != "" {
			d = "with csm.distribute off: " + d
		}
	}
	return d
}

// single is the twin's answer, its columns without their names.
func (p *placedWorld) single(sql string, args []any) outcome {
	return newParted(p.twin).single(sql, args)
}

// answerOf is an answer as it is, and with columns without their names.
func answerOf(r array.RecordReader, err error) (named, typed outcome) {
	var schema *arrow.Schema
	if err == nil {
		schema = r.Schema()
	}
	named = collected(r, err)
	return named, named.typed(schema)
}

// stir changes some rows, or moves a table, and asks what was prepared before.
func (p *placedWorld) stir(g *grammar) {
	if chance(p.Rand, 50) {
		t := pick(p.Rand, p.world.tables)
		p.moves++
		p.both(fmt.Sprintf("ALTER TABLE %s SET PLACEMENT '%s'", t.name, p.placement(t)), "")
	} else if sql := g.change(); p.twin.query("EXPLAIN "+sql, nil).state == "" {
		p.changes++
		p.both(sql, sql)
	}
	for _, k := range p.kept {
		_, got := answerOf(k.ours.Query(context.Background(), k.args...))
		if d := sameAnswer(got, p.single(k.sql, k.args), k.ordered); d != "" && !p.failed {
			p.fail(fmt.Sprintf("prepared before: %s -- %v\n%s", k.sql, k.args, d))
		}
	}
}

// count adds up what the nodes say of the queries of this world.
func (p *placedWorld) count() {
	for _, side := range p.sides {
		found := side.ask(p.t, `SELECT count(*), coalesce(sum(fragments), 0)::BIGINT FROM csm.queries WHERE fragments > 0 AND "user" = '`+p.user+"'")
		n, fragments, _ := strings.Cut(found[0], " | ")
		split, err := strconv.Atoi(n)
		require.NoError(p.t, err)
		made, err := strconv.Atoi(fragments)
		require.NoError(p.t, err)
		p.split += split
		p.fragments += made
	}
}

// drop leaves nothing behind.
func (p *placedWorld) drop() {
	for _, k := range p.kept {
		k.ours.Close()
	}
	p.nodes.cutOffs.Store(nil)
	for _, t := range p.world.tables {
		p.sides[0].exec("DROP TABLE IF EXISTS " + t.name)
		p.twin.exec("DROP TABLE IF EXISTS " + t.name)
	}
	for _, side := range p.sides {
		require.NoError(p.t, side.session.Close())
	}
	p.nodes.requireEmpty()
}

// report makes a failing query smaller, if it is one of pieces, and shows it with its plan.
func (p *placedWorld) report(q *piece, sql string, args []any, ordered bool, node string, side *lent, how, found string) {
	if q != nil {
		deadline := time.Now().Add(30 * time.Second)
		q.shrink(func() bool {
			if time.Now().After(deadline) {
				return false
			}
			text, values := q.sql()
			d := p.compare(side, text, values, ordered && strings.Contains(text, "ORDER BY 1"))
			if d == "" || trouble(d) != trouble(found) {
				return false
			}
			found = d
			return true
		})
		sql, args = q.sql()
	}
	plan := side.query("EXPLAIN "+sql, nil)
	side.exec("SET csm.distribute = off")
	whole := "the same"
	if _, got := answerOf(side.session.Query(context.Background(), sql, args...)); sameAnswer(got, p.single(sql, args), ordered) == "" {
		whole = "right"
	}
	p.fail(fmt.Sprintf("%s; -- %v, at %s, csm.distribute %s, cut-offs %+v\ncluster | single node: %s\nwith csm.distribute off it is %s\n%s %s",
		sql, args, node, how, *p.nodes.cutOffs.Load(), found, whole, strings.Join(plan.rows, "\n"), plan.message))
}
