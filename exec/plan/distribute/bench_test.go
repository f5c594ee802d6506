package distribute_test

import (
	"fmt"
	"testing"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/csmsql/csmsql/exec/plan"
	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/queries"
)

// What planning costs, beside parsing; the most expensive queries have the most tables.
func BenchmarkPlan(b *testing.B) {
	c := newCluster(4)
	c.place("lineitem", "hash(l_orderkey)")
	c.place("orders", "hash(o_orderkey)")
	resolver := tpch()
	for _, q := range queries.TPCH() {
		tree, err := pg.Parse(q.SQL)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("Q%d", q.Number), func(b *testing.B) {
			for b.Loop() {
				distribute.Plan(plan.Read(q.SQL, tree, resolver), c, c.settings)
			}
		})
	}
}
