package bench

import (
	"fmt"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/queries"
	"github.com/csmsql/csmsql/queries/dbgen"
)

// plannedFactor is the scale factor of what is planned: large enough that 64 nodes have something to do.
const plannedFactor = 100

var plannedNodes = []int{4, 8, 16, 32, 64}

// planned is what the planner has so many nodes do.
type planned struct {
	nodes, split, stages, messages int
	perNode                        float64 // messages of a stage for each node, at most
	busiest, whole                 int64   // cost, in bytes read: of the busiest node, and of one node that runs all alone
	elsewhere                      int64   // bytes that fragments read in other nodes' memory, in all
}

// plannings are all numbers of nodes, in all and by query.
type plannings struct {
	asked []queries.Query
	all   []planned
	each  map[int][]planned // by a query's number
}

// planning counts what the planner would have 4 to 64 nodes do: no clock, no node, only the plans of TPC-H with tables
// split by hash over all nodes.
func planning(o Options) (*plannings, error) {
	asked, err := chosen(o.Queries)
	if err != nil {
		return nil, err
	}
	p := &plannings{asked: asked, each: map[int][]planned{}}
	relations := plannedRelations()
	for _, n := range plannedNodes {
		all := planned{nodes: n}
		nodes := make([]string, n)
		for i := range nodes {
			nodes[i] = fmt.Sprintf("n%d", i)
		}
		for _, q := range asked {
			one, err := planOne(q, nodes, relations)
			if err != nil {
				return nil, fmt.Errorf("query %d: %w", q.Number, err)
			}
			p.each[q.Number] = append(p.each[q.Number], one)
			if one.split == 0 {
				continue
			}
			all.split, all.stages, all.messages = all.split+1, all.stages+one.stages, all.messages+one.messages
			all.perNode = max(all.perNode, one.perNode)
			all.busiest, all.whole, all.elsewhere = all.busiest+one.busiest, all.whole+one.whole, all.elsewhere+one.elsewhere
		}
		p.all = append(p.all, all)
	}
	return p, nil
}

func planOne(q queries.Query, nodes []string, relations map[string]*plan.Relation) (planned, error) {
	p := planned{nodes: len(nodes)}
	tree, err := pg.Parse(q.SQL)
	if err != nil {
		return p, err
	}
	resolve := plan.ResolverFunc(func(_, _, table string) *plan.Relation { return relations[strings.ToLower(table)] })
	settings := distribute.DefaultSettings(nodes[0], nodes, 1)
	placement := distribute.PlacementFunc(func(r *plan.Relation) *distribute.Layout { return plannedLayout(r, nodes) })
	d, _ := distribute.Plan(plan.Read(q.SQL, tree, resolve), placement, settings)
	if d == nil {
		return p, nil
	}
	p.split, p.stages, p.messages = 1, len(d.Stages), d.Messages()
	p.busiest, p.whole = int64(d.Cost), int64(d.SingleCost)
	for _, stage := range d.Stages {
		for _, f := range stage.Fragments {
			p.elsewhere += f.RemoteBytes
		}
		p.perNode = max(p.perNode, 2*float64(len(stage.Fragments))/float64(len(nodes)))
	}
	return p, nil
}

// plannedKeys are the columns by which tables are split, as “tpch load --placement hash” does it.
var plannedKeys = map[string]string{
	"lineitem": "l_orderkey", "orders": "o_orderkey", "partsupp": "ps_partkey", "part": "p_partkey", "customer": "c_custkey", "supplier": "s_suppkey",
}

// plannedRow is roughly what a row of any table takes.
const plannedRow = 120

func plannedLayout(r *plan.Relation, nodes []string) *distribute.Layout {
	key, ok := plannedKeys[r.Name]
	if !ok {
		return &distribute.Layout{Parts: []distribute.Part{{Node: nodes[0], Rows: r.Rows, Bytes: r.Rows * plannedRow}}}
	}
	l := &distribute.Layout{Split: distribute.Split{By: distribute.ByHash, Columns: []string{key}, Nodes: nodes}}
	for i, n := range nodes {
		rows := r.Rows*int64(i+1)/int64(len(nodes)) - r.Rows*int64(i)/int64(len(nodes))
		l.Parts = append(l.Parts, distribute.Part{Node: n, Rows: rows, Bytes: rows * plannedRow})
	}
	return l
}

// The tables' sizes at scale factor 1, and of columns with fewer values than rows: how many.
var (
	plannedRows = map[dbgen.Table]int64{
		dbgen.Region: 5, dbgen.Nation: 25, dbgen.Supplier: 10_000, dbgen.Customer: 150_000, dbgen.Part: 200_000, dbgen.PartSupp: 800_000,
		dbgen.Orders: 1_500_000, dbgen.LineItem: 6_001_215,
	}
	plannedValues = map[string]int64{
		"n_regionkey": 5, "s_nationkey": 25, "c_nationkey": 25, "c_mktsegment": 5, "p_mfgr": 5, "p_brand": 25, "p_type": 150, "p_size": 50, "p_container": 40,
		"o_orderstatus": 3, "o_orderpriority": 5, "o_shippriority": 1, "o_orderdate": 2406, "l_linenumber": 7, "l_quantity": 50, "l_discount": 11, "l_tax": 9,
		"l_returnflag": 3, "l_linestatus": 2, "l_shipdate": 2526, "l_commitdate": 2466, "l_receiptdate": 2555, "l_shipinstruct": 4, "l_shipmode": 7,
	}
	plannedReferences = map[string]dbgen.Table{
		"ps_partkey": dbgen.Part, "ps_suppkey": dbgen.Supplier, "o_custkey": dbgen.Customer, "l_orderkey": dbgen.Orders, "l_partkey": dbgen.Part, "l_suppkey": dbgen.Supplier,
	}
	plannedDates = map[string][2]int32{ // days since 1970
		"o_orderdate": {8035, 10440}, "l_shipdate": {8036, 10561}, "l_commitdate": {8065, 10530}, "l_receiptdate": {8037, 10591},
	}
)

// plannedRelations are TPC-H's tables with statistics as a load would leave them.
func plannedRelations() map[string]*plan.Relation {
	rowsOf := func(t dbgen.Table) int64 {
		if t == dbgen.Region || t == dbgen.Nation {
			return plannedRows[t]
		}
		return plannedRows[t] * plannedFactor
	}
	relations := map[string]*plan.Relation{}
	for _, t := range dbgen.Tables() {
		r := &plan.Relation{Schema: "main", Name: t.String(), Rows: rowsOf(t)}
		for _, f := range dbgen.Schema(t).Fields() {
			c := plan.Column{Name: f.Name, Type: f.Type, Stats: plan.ColumnStats{Rows: r.Rows, NullsKnown: true, NaNFree: true, Distinct: r.Rows}}
			if values, ok := plannedValues[f.Name]; ok {
				c.Stats.Distinct = values
			} else if other, ok := plannedReferences[f.Name]; ok {
				c.Stats.Distinct = rowsOf(other)
			}
			if days, ok := plannedDates[f.Name]; ok {
				c.Stats.Min, c.Stats.Max = plan.DateValue(days[0]), plan.DateValue(days[1])
			}
			r.Columns = append(r.Columns, c)
		}
		relations[r.Name] = r
	}
	return relations
}

func (p *plannings) report(into *Report) {
	t := Table{
		Title:   fmt.Sprintf("What the planner, without a clock, has more nodes do with TPC-H SF %d, tables split by hash: work in bytes read, by its estimates", plannedFactor),
		Columns: []string{"nodes", "split", "stages", "messages", "per stage and node", "busiest node", "of all", "ideal", "read elsewhere, by all"},
	}
	worst := 0.0
	for _, a := range p.all {
		worst = max(worst, a.perNode)
		t.Rows = append(t.Rows, []any{a.nodes, a.split, a.stages, a.messages, a.perNode, gigabytes(a.busiest), share(a.busiest, a.whole), 1 / float64(a.nodes), gigabytes(a.elsewhere)})
	}
	first, last := plannedNodes[0], plannedNodes[len(plannedNodes)-1]
	q := Table{
		Title:   "The same by query: the busiest node's part of all, and what each node reads in the others' memory",
		Columns: []string{"query", "stages", fmt.Sprintf("messages of %d", first), fmt.Sprintf("of %d", last), fmt.Sprintf("part of %d", first), fmt.Sprintf("of %d", last), fmt.Sprintf("elsewhere of %d", first), fmt.Sprintf("of %d", last)},
	}
	for _, query := range p.asked {
		each := p.each[query.Number]
		a, z := each[0], each[len(each)-1]
		name := fmt.Sprintf("Q%02d", query.Number)
		if a.split == 0 || z.split == 0 {
			q.Rows = append(q.Rows, []any{name, "whole", "", "", "", "", "", ""})
			continue
		}
		q.Rows = append(q.Rows, []any{
			name, z.stages, a.messages, z.messages, share(a.busiest, a.whole), share(z.busiest, z.whole), gigabytes(a.elsewhere / int64(a.nodes)), gigabytes(z.elsewhere / int64(z.nodes)),
		})
	}
	into.More = append(into.More, t, q)
	into.Goals = append(into.Goals, atMost("messages of a stage for each node, at most, up to 64 nodes", worst, 2))
}

func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func gigabytes(n int64) string { return fmt.Sprintf("%.2f GB", float64(n)/1e9) }
