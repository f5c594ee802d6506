package distribute_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/queries"
)

// cluster lays the tables of the tests out.
type cluster struct {
	nodes    []string
	layouts  map[string]*distribute.Layout // by table; others are split by rows over all nodes
	settings distribute.Settings
}

func newCluster(n int) *cluster {
	c := &cluster{layouts: map[string]*distribute.Layout{}}
	for i := range n {
		c.nodes = append(c.nodes, fmt.Sprintf("n%d", i+1))
	}
	c.settings = distribute.DefaultSettings("n1", c.nodes, 2)
	return c
}

// bytesPerRow is what all tables of the tests have.
const bytesPerRow = 60

func (c *cluster) Layout(r *plan.Relation) *distribute.Layout {
	l := c.layouts[r.Name]
	if l == nil {
		l = &distribute.Layout{Split: distribute.Split{By: distribute.ByRows}, Parts: parts(c.nodes...)}
	}
	filled := &distribute.Layout{Split: l.Split}
	for i, p := range l.Parts {
		share := r.Rows*int64(i+1)/int64(len(l.Parts)) - r.Rows*int64(i)/int64(len(l.Parts))
		filled.Parts = append(filled.Parts, distribute.Part{Node: p.Node, Rows: share, Bytes: share * bytesPerRow})
	}
	return filled
}

func parts(nodes ...string) (list []distribute.Part) {
	for _, n := range nodes {
		list = append(list, distribute.Part{Node: n})
	}
	return list
}

// place reads table=n2 (all of it there), table=rows:n1,n2 and table=hash(a,b):n1,n2.
func (c *cluster) place(table, how string) {
	by, nodes, ok := strings.Cut(how, ":")
	list := c.nodes
	if !ok && by != "rows" && !strings.HasPrefix(by, "hash") {
		nodes, by, ok = by, "none", true
	}
	if ok {
		list = strings.Split(nodes, ",")
	}
	l := &distribute.Layout{Parts: parts(list...), Split: distribute.Split{By: distribute.ByRows}}
	if columns, hashed := strings.CutPrefix(by, "hash("); hashed {
		l.Split = distribute.Split{By: distribute.ByHash, Columns: strings.Split(strings.TrimSuffix(columns, ")"), ","), Nodes: list}
	}
	c.layouts[table] = l
}

func (c *cluster) plan(t testing.TB, sql string) (*distribute.Distributed, *distribute.Single) {
	tree, err := pg.Parse(sql)
	require.NoError(t, err, sql)
	d, s := distribute.Plan(plan.Read(sql, tree, tpch()), c, c.settings)
	require.True(t, (d == nil) != (s == nil))
	if d != nil {
		c.check(t, d)
	}
	return d, s
}

// check holds every plan against D6 and D8, and its texts against what the caller does with them.
func (c *cluster) check(t testing.TB, d *distribute.Distributed) {
	for i, s := range d.Stages {
		require.Equal(t, i+1, s.Number)
		require.NotEmpty(t, s.Fragments)
		seen := map[string]bool{}
		for _, f := range s.Fragments {
			require.False(t, seen[f.Part], "D6: two fragments for %s", f.Part)
			seen[f.Part] = true
			require.Contains(t, c.nodes, f.Node)
		}
		for _, after := range s.After() {
			require.Less(t, after, s.Number, "D8")
		}
		c.checkText(t, &s.Text, d)
	}
	c.checkText(t, &d.Final, d)
	require.Empty(t, slices.DeleteFunc(slices.Clone(d.Final.Reads), func(r distribute.Read) bool { return !r.Part }))
}

func (c *cluster) checkText(t testing.TB, text *distribute.Text, d *distribute.Distributed) {
	tree, err := pg.Parse(text.SQL)
	require.NoError(t, err, text.SQL)
	scans, err := plan.Read(text.SQL, tree, plan.ResolverFunc(func(catalog, schema, table string) *plan.Relation {
		if strings.HasPrefix(table, "csm_stage_") {
			return &plan.Relation{Name: table}
		}
		return tpch().Relation(catalog, schema, table)
	})).Scans()
	require.NoError(t, err)
	require.Len(t, text.Reads, len(scans), text.SQL)
	for i, r := range text.Reads {
		require.Equal(t, r.Span, scans[i].Span)
		if r.Stage > 0 {
			require.LessOrEqual(t, r.Stage, len(d.Stages))
			require.Equal(t, distribute.StageName(r.Stage), scans[i].Relation.Name)
		} else {
			require.Equal(t, r.Relation.Name, scans[i].Relation.Name)
		}
	}
}

// D1, D2: plans of many shapes.
func TestGolden(t *testing.T) {
	for _, file := range []string{"forms", "aggregates", "joins", "queries", "shuffles", "single"} {
		datadriven.RunTest(t, "testdata/"+file, func(t *testing.T, d *datadriven.TestData) string {
			c := newCluster(3)
			c.settings.MinGain, c.settings.MinRows, c.settings.MinBytes = 0, 0, 0
			sql := d.Input
			for _, arg := range d.CmdArgs {
				if arg.Key == "q" { // of TPC-H
					var number int
					d.ScanArgs(t, "q", &number)
					sql = queries.TPCH()[number-1].SQL
					continue
				}
				c.set(t, arg.Key, strings.Join(arg.Vals, ","))
			}
			planned, single := c.plan(t, sql)
			if single != nil {
				return single.String() + "\n"
			}
			return planned.String()
		})
	}
}

func (c *cluster) set(t *testing.T, key, value string) {
	number := func() (n int64) {
		_, err := fmt.Sscan(value, &n)
		require.NoError(t, err)
		return n
	}
	switch key {
	case "nodes":
		fresh := newCluster(int(number()))
		fresh.settings.MinGain, fresh.settings.MinRows, fresh.settings.MinBytes = 0, 0, 0
		*c = *fresh
	case "gain":
		c.settings.MinGain = float64(number())
	case "min-rows":
		c.settings.MinRows = number()
	case "gather":
		c.settings.GatherRows = number()
	case "shuffle":
		c.settings.ShuffleBytes = number()
	case "shuffle-gain":
		c.settings.ShuffleGain = float64(number())
	case "remote":
		c.settings.RemoteFactor = float64(number())
	case "available":
		c.settings.Nodes = strings.Split(value, ",")
	default:
		c.place(key, value)
	}
}

// D1: the 22 queries of TPC-H on three nodes, lineitem and orders split by hash of the order's key, and everything by rows.
func TestTPCHGolden(t *testing.T) {
	for _, hash := range []bool{true, false} {
		c, file := newCluster(3), "testdata/tpch-rows"
		c.settings.StageBytes = 16 << 20 // as if tables were larger: texts are to be seen
		if hash {
			file = "testdata/tpch-hash"
			c.place("lineitem", "hash(l_orderkey)")
			c.place("orders", "hash(o_orderkey)")
		}
		split := 0
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			var number int
			d.ScanArgs(t, "q", &number)
			planned, single := c.plan(t, queries.TPCH()[number-1].SQL)
			if single != nil {
				return single.String() + "\n"
			}
			split++
			return planned.String()
		})
		require.GreaterOrEqual(t, split, map[bool]int{true: 15, false: 11}[hash])
	}
}

// D6: messages of a stage grow by two with each node.
func TestMessagesAreLinearInNodes(t *testing.T) {
	for _, q := range queries.TPCH() {
		for _, n := range []int{2, 4, 8, 16, 32, 64} {
			c := newCluster(n)
			c.settings.MinGain = 0
			if d, _ := c.plan(t, q.SQL); d != nil {
				require.LessOrEqual(t, d.Messages(), 2*n*len(d.Stages), "Q%d on %d nodes", q.Number, n)
				require.Less(t, len(d.Stages), 6)
			}
		}
	}
}

// Plans are data: the same question gives the same plan, also beside concurrent ones.
func TestPlansAreTheSame(t *testing.T) {
	c := newCluster(4)
	for _, q := range queries.TPCH() {
		first, _ := c.plan(t, q.SQL)
		results := make(chan *distribute.Distributed)
		tree, err := pg.Parse(q.SQL)
		require.NoError(t, err)
		resolver := tpch()
		for range 3 {
			go func() {
				d, _ := distribute.Plan(plan.Read(q.SQL, tree, resolver), c, c.settings)
				results <- d
			}()
		}
		for range 3 {
			if d := <-results; first != nil {
				require.Equal(t, first.String(), d.String())
			}
		}
	}
}

// D2: nothing is split that lies on the coordinator, is small, or has nowhere to go.
func TestSingle(t *testing.T) {
	const sql = "SELECT l_returnflag, count(*) FROM lineitem GROUP BY 1"
	for name, change := range map[string]func(*cluster){
		"there is no other node":           func(c *cluster) { c.settings.Nodes = c.nodes[:1] },
		"all data lies on the coordinator": func(c *cluster) { c.place("lineitem", "n1") },
		"there is little data":             func(c *cluster) { c.settings.MinRows = 1 << 40 },
		"only a single query can be split": nil,
		"no table is read":                 nil,
		"a second node would save less":    func(c *cluster) { c.settings.MinGain = 10 },
	} {
		c := newCluster(3)
		text := sql
		switch {
		case change != nil:
			change(c)
		case name == "no table is read":
			text = "SELECT 1"
		default:
			text = sql + "; " + sql
		}
		_, single := c.plan(t, text)
		require.NotNil(t, single, name)
		require.Contains(t, single.Reason, name)
	}
}

// FuzzPlan: whatever parses is planned or refused, and every plan's texts are what the caller expects.
func FuzzPlan(f *testing.F) {
	for _, q := range queries.TPCH() {
		f.Add(q.SQL)
	}
	f.Add("SELECT m, list(a), count(DISTINCT b) FILTER (WHERE a > $1) FROM t GROUP BY ROLLUP (m) HAVING avg(b) > 1 ORDER BY 1 LIMIT $2")
	f.Add("WITH q AS (SELECT a, sum(b) OVER (PARTITION BY a) AS s FROM t) SELECT * FROM q LEFT JOIN u USING (a) UNION ALL SELECT 1, 2, 3, 4")
	for _, file := range []string{"forms", "aggregates", "joins", "queries", "shuffles", "single"} {
		text, err := os.ReadFile("testdata/" + file)
		require.NoError(f, err)
		for _, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "SELECT") || strings.HasPrefix(line, "WITH") {
				f.Add(line)
			}
		}
	}
	c := newCluster(3)
	c.settings.MinGain, c.settings.MinRows, c.settings.MinBytes, c.settings.ShuffleBytes = 0, 0, 0, 1
	c.place("t", "hash(a)")
	c.place("u", "hash(a)")
	f.Fuzz(func(t *testing.T, sql string) {
		if _, err := pg.Parse(sql); err != nil {
			t.Skip()
		}
		c.plan(t, sql)
	})
}
