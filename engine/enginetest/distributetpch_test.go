package enginetest

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/plan/distribute"
	"github.com/csmsql/csmsql/queries"
	"github.com/csmsql/csmsql/queries/dbgen"
)

// loadTPCH makes the eight tables DuckDB's own.
func loadTPCH(t testing.TB, twin *native, sf float64) {
	g, err := dbgen.New(sf)
	require.NoError(t, err)
	for _, table := range dbgen.Tables() {
		var batches []arrow.RecordBatch
		for first := int64(0); first < g.Units(table); first += 60_000 {
			b, err := g.Batch(context.Background(), mallocator.NewMallocator(), table, first, min(60_000, g.Units(table)-first))
			require.NoError(t, err)
			defer b.Release()
			batches = append(batches, b)
		}
		number := twin.conn.Register(scanOfBatches(dbgen.Schema(table), batches))
		require.NoError(t, twin.conn.Exec(fmt.Sprintf("CREATE TABLE %s AS SELECT * FROM csm_scan(%d)", table, number)))
		twin.conn.Forget(number)
	}
}

// answersTPCH compares the plans' answers with the single node's and counts the queries that were split.
func (p *parted) answersTPCH(t *testing.T, settings distribute.Settings) (split int) {
	for _, q := range queries.TPCH() {
		want := p.single(q.SQL, nil)
		require.Empty(t, want.state, "Q%d: %s", q.Number, want.message)
		plan, _ := p.planOf(t, q.SQL, settings)
		if plan == nil {
			continue
		}
		split++
		require.Empty(t, sameAnswer(p.run(plan, nil), want, false), "Q%d with %v\n%s", q.Number, settings, plan)
	}
	return split
}
