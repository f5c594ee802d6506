package engine_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/memregion"
	"github.com/csmsql/csmsql/sql/lex"
)

// What clients keep beyond their guaranteed part is taken from DuckDB's limit first, and then added to Go's. DuckDB
// gets it back when Go has no more than its own again, and that is the whole process.
func TestQueriesYieldToClients(t *testing.T) {
	t.Parallel()
	if !apart(t, "CSMSQL_TEST_APART", t.Name()) {
		return
	}
	var heap atomic.Int64
	e := open(t, func(c *engine.Config) { c.MemoryBytes = 512 << 20; c.Heap = heap.Store })
	s := session(t, e)
	const limit = "SELECT value FROM duckdb_settings() WHERE name = 'memory_limit'"
	whole := rows(t, s, limit)
	require.Equal(t, []string{"448.0 MiB"}, whole)
	atRest := heap.Load()
	require.Positive(t, atRest)
	require.NoError(t, s.Take("message", 47<<20))
	require.Equal(t, []string{"403.0 MiB"}, rows(t, s, limit), "39 MiB beyond what is free and a little, in steps of 4 MiB, and an eighth of that")
	require.EqualValues(t, 45<<20, heap.Load()-atRest)
	s.Give("message", 47<<20)
	require.Eventually(t, func() bool {
		_, err := s.Exec(t.Context(), fmt.Sprintf("SELECT 1 AS %s", strings.Repeat("x", 300))) // so that something is given back
		require.NoError(t, err)
		return heap.Load() == atRest && slices.Equal(whole, rows(t, s, limit))
	}, 20*time.Second, 10*time.Millisecond)
}

// Trees are charged before they are made: a text whose tree is too large is refused at once, and leaves nothing.
func TestParsingIsCharged(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.MemoryBytes = 128 << 20 })
	s := session(t, e)
	_, err := s.Exec(t.Context(), "SELECT 1"+strings.Repeat(",1", 200_000))
	requireState(t, "54000", err)
	require.Contains(t, err.Error(), "parsing")
	_, _, err = s.Parse(t.Context(), lex.Client.Text("SELECT 1"+strings.Repeat(",1", 200_000)))
	requireState(t, "54000", err)
	_, err = s.Exec(t.Context(), "SELECT '"+strings.Repeat("x", 900_000)+"'")
	require.NoError(t, err, "one token")
	require.Len(t, rows(t, s, "SELECT count(*) FROM range(10) r(i) WHERE i IN (1"+strings.Repeat(",2", 10_000)+")"), 1)

	_, done, err := s.Parse(t.Context(), lex.Client.Text("SELECT 1"+strings.Repeat(",1", 10_000)))
	require.NoError(t, err)
	other := session(t, e)
	require.Equal(t, []string{"parsing|true"}, rows(t, other, "SELECT kind, bytes > 8000000 FROM csm.memory WHERE kind = 'parsing' AND bytes > 1000000"))
	_, err = s.Exec(t.Context(), "SELECT 1"+strings.Repeat(",1", 1_000))
	require.NoError(t, err, "both trees were charged")
	done()
	exec(t, s, "DISCARD ALL")
	exec(t, other, "DISCARD ALL")
	require.Zero(t, e.Memory().Used)
}

// Values of settings and savepoints are charged; what a transaction may bring back with them.
func TestSettingsAreCharged(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.MemoryBytes = 128 << 20 })
	s := session(t, e)
	value := strings.Repeat("x", 100_000)
	for i := range 100 {
		exec(t, s, fmt.Sprintf("SET my.own = '%s%d'", value, i))
	}
	held := e.Memory().Used
	require.Less(t, held, int64(2_000_000), "the last value is there, and the others are gone")
	require.Greater(t, held, int64(800_000))
	exec(t, s, "BEGIN")
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		_, err = s.Exec(t.Context(), fmt.Sprintf("SAVEPOINT s%d; SET LOCAL my.own = '%s%d'", i, value, i))
	}
	requireState(t, "53200", err)
	require.LessOrEqual(t, e.Memory().Used, int64(16<<20))
	exec(t, s, "ROLLBACK")
	require.Equal(t, held, e.Memory().Used)

	exec(t, s, "BEGIN")
	for i := range 300 {
		exec(t, s, fmt.Sprintf("SAVEPOINT a; SET LOCAL my.own = '%s%d'; ROLLBACK TO a; RELEASE a", value, i))
	}
	exec(t, s, "COMMIT")
	exec(t, s, "RESET ALL")
	require.Zero(t, e.Memory().Used)
}

// What is in the way of other statements is shown, though it is bounded by itself; so is what planning knows of tables.
func TestEveryKindIsShown(t *testing.T) {
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i, 'v' || i % 3 AS v FROM range(10000) r(i)")
	st, err := s.Prepare(t.Context(), "SELECT repeat('x', 1000 + i::int % 2) FROM t")
	require.NoError(t, err)
	result, err := st.Execute(t.Context(), nil)
	require.NoError(t, err)
	rows(t, s, "SELECT abs(1)")
	other := session(t, e)
	require.Equal(t, []string{"facts|true", "parked|true"},
		rows(t, other, "SELECT kind, bytes > 2000 FROM csm.memory WHERE kind IN ('facts', 'parked') ORDER BY 1"))
	require.NoError(t, result.Close())
	require.Empty(t, rows(t, other, "SELECT kind FROM csm.memory WHERE kind = 'parked'"))
}

// Facts of many versions are forgotten before they are more than their part.
func TestFactsOfManyVersionsAreBounded(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.MemoryBytes = 128 << 20 })
	s := session(t, e)
	var columns []string
	for i := range 1000 {
		columns = append(columns, fmt.Sprintf("0 AS c%d", i))
	}
	most := int64(0)
	for i := range 15 {
		exec(t, s, fmt.Sprintf("CREATE TABLE t%d AS SELECT %s", i, strings.Join(columns, ", ")))
		rows(t, s, fmt.Sprintf("SELECT c1 FROM t%d", i))
		bytes := engine.FactsBytes(e)
		require.LessOrEqual(t, bytes, int64(4<<20))
		most = max(most, bytes)
	}
	require.Greater(t, most, int64(2<<20))
	require.Less(t, engine.FactsBytes(e), most, "they were forgotten once")
}

// A guest sees that other users' statements are in csm.queries, but not their texts; its own user's texts it sees.
func TestGuestsDoNotSeeOthersTexts(t *testing.T) {
	e := open(t)
	as := func(user string, guest bool) *engine.Session {
		s, err := e.Session(engine.SessionOptions{User: user, Guest: guest})
		require.NoError(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}
	anna, bert, owner := as("anna", true), as("bert", true), as("owner", false)
	rows(t, anna, "SELECT 'annas secret'")
	const asked = "SELECT count(*) FILTER (query LIKE '%annas' || ' secret%'), count(*) FILTER (query = '<insufficient privilege>') FROM csm.queries WHERE \"user\" = 'anna'"
	require.Equal(t, []string{"0|1"}, rows(t, bert, asked))
	require.Equal(t, []string{"1|0"}, rows(t, owner, asked))
	require.Equal(t, []string{"1|0"}, rows(t, as("anna", true), asked))
}

// What a region had for tables that are gone goes back to the system in the end, and not only what is more than it keeps to
// have it at hand.
func TestRegionsRest(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.LeaseTTL = 20 * time.Millisecond })
	s := session(t, e)
	backed := func() int64 { return e.RegionStats().Backed }
	exec(t, s, "CREATE TABLE gone AS SELECT i, hash(i) AS h FROM range(2000000) r(i)")
	exec(t, s, "CREATE TABLE kept AS SELECT * FROM gone LIMIT 1000")
	require.Greater(t, backed(), int64(24<<20))
	exec(t, s, "DROP TABLE gone")
	if e.Status(noderpc.Frontend{}).Regions[0].Fabric != memregion.FabricShm {
		t.Skip("idle memory of other fabrics is not the kernel's")
	}
	require.Eventually(t, func() bool { return backed() < 8<<20 }, 20*time.Second, 10*time.Millisecond)
	require.Equal(t, []string{"1000|499500"}, rows(t, s, "SELECT count(*), sum(i) FROM kept"))
}

// Nothing keeps versions that are gone: not the plans made with them, and not the search for chunks to fold.
func TestFormerVersionsAreForgotten(t *testing.T) {
	e := open(t)
	s := session(t, e)
	var former []weak.Pointer[catalog.TableVersion]
	exec(t, s, "CREATE TABLE t (i int, v text)")
	for i := range 40 {
		exec(t, s, "INSERT INTO t VALUES ($1, 'v')", i)
		require.Equal(t, []string{"v"}, rows(t, s, "SELECT min(v) FROM t WHERE i >= 0"))
		v, ok := e.Contents().Table(catalog.TableName{Schema: "public", Name: "t"})
		require.True(t, ok)
		former = append(former, weak.Make(v))
	}
	const chunks = `SELECT count(*) < 40 FROM csm.chunks WHERE name = 't'`
	require.Eventually(t, func() bool { return rows(t, s, chunks)[0] == "true" }, 20*time.Second, 10*time.Millisecond)
	exec(t, s, "INSERT INTO t VALUES (40, 'v')") // what was folded while others were inserted may have none of them since
	rows(t, s, chunks)                           // until something is planned, the names that DuckDB is shown are those of before
	require.NoError(t, s.Close())                // which has plans of its own
	for i, v := range former {
		require.Eventually(t, func() bool {
			runtime.GC()
			return v.Value() == nil
		}, 20*time.Second, 10*time.Millisecond, "version %d is kept", i)
	}
}
