package duckdb_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chains are statements that no planner would come to the end of: each link names the one before twice, thirty times. What they are about is the phase in which
// DuckDB writes them out.
func chains() map[string]string {
	const links = 30
	join := func(separator, format string) string {
		parts := make([]string, links)
		for i := range parts {
			parts[i] = fmt.Sprintf(format, i+1, i)
		}
		return strings.Join(parts, separator)
	}
	return map[string]string{
		"binding sub-queries":     fmt.Sprintf("SELECT f%d(1)", links),
		"binding expressions":     fmt.Sprintf("SELECT g%d(1)", links),
		"binding tables":          fmt.Sprintf("SELECT * FROM h%d(1)", links),
		"putting CTEs where used": "WITH c0 AS (SELECT 1 AS i), " + join(", ", "c%d AS NOT MATERIALIZED (SELECT a.i FROM c%[2]d a, c%[2]d b)") + fmt.Sprintf(" SELECT * FROM c%d", links),
	}
}

// chainMacros are those that the chains call.
func chainMacros() (out []string) {
	out = []string{"CREATE TEMP MACRO f0(x) AS x", "CREATE TEMP MACRO g0(x) AS x", "CREATE TEMP MACRO h0(x) AS TABLE SELECT x AS i"}
	for i := range 30 {
		out = append(out, fmt.Sprintf("CREATE TEMP MACRO f%d(x) AS (SELECT f%d(x) + f%[2]d(x))", i+1, i), fmt.Sprintf("CREATE TEMP MACRO g%d(x) AS g%d(x) + g%[2]d(x)", i+1, i),
			fmt.Sprintf("CREATE TEMP MACRO h%d(x) AS TABLE SELECT a.i FROM h%d(x) a, h%[2]d(x) b", i+1, i))
	}
	return out
}

// D7: planning ends when it is interrupted, in any of its phases, and the connection goes on. Without that these
// statements would be planned for years.
func TestPlanningEnds(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("DuckDB's planner is led past planning.c on amd64 only")
	}
	defer time.AfterFunc(time.Minute, func() { panic("a statement that was cancelled is planned on") }).Stop() // a failed test could not close the database
	_, c := open(t)
	for _, sql := range chainMacros() {
		require.NoError(t, c.Exec(sql))
	}
	nested := "SELECT 1 AS i"
	for range 60 {
		nested = "SELECT i FROM (VALUES (1)) v(i) WHERE EXISTS (" + nested + ")"
	}
	all := chains()
	all["pushing filters down"] = nested // in hardly any memory
	for name, sql := range all {
		for _, after := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			done := c.Hear(ctx)
			_, err := c.Prepare(sql)
			requireState(t, "57014", err)
			require.ErrorContains(t, err, "canceling statement due to statement timeout", name)
			done()
			cancel()
			require.Equal(t, []string{"1"}, ask(t, c, "SELECT f0(1)"), name)
		}
	}
}

// D8: so what planning takes is bounded: a statement is interrupted while it is planned as while it runs.
func TestMemoryOfPlanningIsBounded(t *testing.T) {
	if raceDetector || runtime.GOARCH != "amd64" {
		t.Skip("the race detector's own memory cannot be distinguished, or DuckDB's planner is led past planning.c on amd64 only")
	}
	statements := chainMacros()
	first := len(statements)
	for _, sql := range chains() {
		statements = append(statements, sql, "SELECT f0(1)")
	}
	for i, m := range runMeasured(t, statements...) {
		switch {
		case i < first:
			require.Empty(t, m.State, m.Message)
			continue
		case (i-first)%2 == 1:
			require.Equal(t, []string{"1"}, m.Rows)
			continue
		}
		t.Logf("%s, at most %d MiB, %v: %s", m.State, m.PeakOwn>>20, m.Took.Round(time.Millisecond), statements[i])
		require.Equal(t, "53200", m.State, m.Message)
		require.LessOrEqual(t, m.PeakOwn, int64(given), statements[i])
	}
}

// The statement whose plan takes the memory is interrupted, and not the one that has been running for longer.
func TestLargestPlanIsInterrupted(t *testing.T) {
	if raceDetector || runtime.GOARCH != "amd64" {
		t.Skip("the race detector's own memory cannot be distinguished, or DuckDB's planner is led past planning.c on amd64 only")
	}
	out := runMeasured(t, "beside SELECT i FROM range(1000000000000) r(i)", chains()["putting CTEs where used"], "end beside")
	require.Len(t, out, 2)
	require.Equal(t, "53200", out[0].State, out[0].Message)
	require.Empty(t, out[1].State, out[1].Message)
}
