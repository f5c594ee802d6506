package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/queries"
)

// answer runs a TPC-H query and compares it with the published answer.
func answer(t testing.TB, s *engine.Session, sf float64, q queries.Query) {
	t.Helper()
	r, err := s.Query(context.Background(), q.SQL)
	require.NoError(t, err, "Q%d", q.Number)
	defer r.Release()
	var columns []string
	for _, f := range r.Schema().Fields() {
		columns = append(columns, f.Name)
	}
	var found [][]string
	for r.Next() {
		b := r.RecordBatch()
		for i := range int(b.NumRows()) {
			cells := make([]string, b.NumCols())
			for c := range cells {
				if !b.Column(c).IsNull(i) {
					cells[c] = string([]byte(b.Column(c).ValueStr(i)))
				}
			}
			found = append(found, cells)
		}
	}
	require.NoError(t, r.Err(), "Q%d", q.Number)
	want, ok := queries.AnswerFor(sf, q.Number)
	require.True(t, ok)
	require.NoError(t, want.Compare(columns, found), "Q%d", q.Number)
}

func TestTPCHAnswers(t *testing.T) {
	t.Parallel()
	e := open(t)
	require.NoError(t, e.LoadTPCH(context.Background(), noderpc.TPCHRequest{ScaleFactor: 0.01}, nil))
	for _, backend := range []string{"auto", "duckdb"} {
		s := session(t, e)
		exec(t, s, "SET csm.backend = "+backend)
		for _, q := range queries.TPCH() {
			answer(t, s, 0.01, q)
		}
	}
}
