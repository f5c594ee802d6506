package duckdb_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Each row of a call has a value of its own, and a plan that does not run asks for none.
func TestSequenceFunctions(t *testing.T) {
	c := openWith(t, duckdb.Options{Threads: 2})
	var mu sync.Mutex
	var calls []duckdb.SequenceCall
	next := int64(0)
	c.OnSequence(func(call duckdb.SequenceCall) ([]int64, error) {
		mu.Lock()
		defer mu.Unlock()
		calls = append(calls, call)
		switch {
		case call.Name == "none":
			return nil, sqlerror.New("42P01", "relation %q does not exist", call.Name)
		case call.Function == duckdb.SetValue, call.Function == duckdb.SetValueCalled:
			next = call.Value
			return []int64{call.Value}, nil
		case call.Function == duckdb.CurrentValue:
			return nil, nil
		}
		values := make([]int64, call.Rows)
		for i := range values {
			next++
			values[i] = next
		}
		return values, nil
	})
	require.Equal(t, []string{"1", "2", "3"}, ask(t, c, "SELECT csm_nextval('s')::VARCHAR FROM range(3)"))
	require.Len(t, calls, 1, "rows with the same arguments are one call")
	require.Equal(t, []string{"4,a", "5,b"}, ask(t, c, "SELECT csm_nextval__of(7) || ',' || x FROM (VALUES ('a'), ('b')) AS v(x)"))
	require.Equal(t, duckdb.SequenceCall{Function: duckdb.NextValueOf, Number: 7, Rows: 2}, calls[1])
	require.Equal(t, []string{"6 7"}, ask(t, c, "SELECT csm_nextval('s') || ' ' || csm_nextval('s')"), "no two calls are one")
	require.Equal(t, []string{"8", "NULL", "9"}, ask(t, c, "SELECT coalesce(csm_nextval(x)::VARCHAR, 'NULL') FROM (VALUES ('a'), (NULL), ('b')) AS v(x)"))
	require.Equal(t, []string{"40 50", "51"}, append(ask(t, c, "SELECT csm_setval('s', 40) || ' ' || csm_setval('s', 50, true)"), ask(t, c, "SELECT csm_lastval()::VARCHAR")...))
	require.Equal(t, []string{"true"}, ask(t, c, "SELECT (csm_currval('s') IS NULL)::VARCHAR"))
	_, err := tryAsk(c, "SELECT csm_nextval('none')")
	requireState(t, "42P01", err)
	made := len(calls)
	st, err := c.Prepare("SELECT csm_nextval('s')")
	require.NoError(t, err)
	st.Close()
	ask(t, c, "EXPLAIN SELECT csm_nextval('s')")
	require.Len(t, calls, made, "what is only planned has no value")
	got := ask(t, c, "SELECT count(DISTINCT v)::VARCHAR FROM (SELECT csm_nextval('s') AS v FROM range(300000))")
	require.Equal(t, []string{"300000"}, got)
}
