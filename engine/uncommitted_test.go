package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// What a transaction keeps is charged to its session and given back to the byte: what it has deleted at each of its
// savepoints, the rows that are its, what it has made, and what is to be committed of it.
func TestTransactionsAreCharged(t *testing.T) {
	const savepoints = 100
	again := func(format string) func(int) []string {
		return func(i int) []string {
			return []string{fmt.Sprintf("SAVEPOINT s%d", i), strings.ReplaceAll(format, "#", fmt.Sprint(i))}
		}
	}
	plain := func(format string) func(int) []string {
		return func(i int) []string { return []string{strings.ReplaceAll(format, "#", fmt.Sprint(i))} }
	}
	long := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		each  func(i int) []string
		least int64 // of what each takes
	}{
		"rows of a large chunk are deleted":  {again("DELETE FROM large WHERE i = #"), 100_000},
		"and changed":                        {again("UPDATE large SET v = 'b' WHERE i = #"), 100_000},
		"and locked":                         {again("SELECT * FROM large WHERE i = # FOR UPDATE"), 100_000},
		"of tables that are made":            {again("CREATE TABLE made# (a INT, b TEXT)"), 1000},
		"many tables":                        {plain("CREATE TABLE made# (a INT, b TEXT DEFAULT '" + long + "')"), 2000},
		"many columns":                       {again("INSERT INTO wide (c0) VALUES (#)"), 300 * 256},
		"views":                              {plain("CREATE VIEW made# AS SELECT '" + long + "' AS a"), 1000},
		"what is said of them":               {again("COMMENT ON TABLE large IS '# " + long + "'"), 1000},
		"chunks, whose descriptors are long": {plain("INSERT INTO wide (c0) VALUES (#)"), 300 * 256},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, func(c *engine.Config) { c.RegionBytes = 256 << 20 })
			s, other := session(t, e), session(t, e)
			exec(t, s, "CREATE TABLE large AS SELECT i, 'a' AS v FROM range(1000000) r(i)")
			var columns []string
			for i := range 300 {
				columns = append(columns, fmt.Sprintf("c%d int", i))
			}
			exec(t, s, "CREATE TABLE wide ("+strings.Join(columns, ", ")+")")
			held := func() int64 { return e.Memory().Used }
			settle := func() { exec(t, s, "DISCARD PLANS") }
			settle()
			require.Zero(t, held())

			exec(t, s, "BEGIN ISOLATION LEVEL REPEATABLE READ")
			run := func(from, to int) {
				for i := from; i < to; i++ {
					for _, sql := range c.each(i) {
						exec(t, s, sql)
					}
				}
			}
			run(0, 3)
			exec(t, s, "SAVEPOINT here")
			settle()
			before := held()
			run(3, savepoints)
			settle()
			took := (held() - before) / (savepoints - 3)
			t.Logf("each takes %d bytes", took)
			require.GreaterOrEqual(t, took, c.least)
			require.NotEmpty(t, rows(t, other, "SELECT bytes FROM csm.memory WHERE kind = 'changes'"))
			exec(t, s, "ROLLBACK TO here")
			settle()
			require.Equal(t, before, held())
			run(3, 10)
			exec(t, s, "ROLLBACK TO here")
			settle()
			require.Equal(t, before, held())
			exec(t, s, "COMMIT")
			settle()
			require.Zero(t, held())

			exec(t, s, "SET csm.session_memory = '1MB'")
			exec(t, s, "BEGIN")
			var err error
			for i := savepoints; err == nil && i < 4000+savepoints; i++ {
				for _, sql := range c.each(i) {
					if err == nil {
						_, err = s.Exec(t.Context(), sql)
					}
				}
			}
			requireState(t, "53200", err)
			require.LessOrEqual(t, held(), int64(1<<20))
			exec(t, s, "ROLLBACK")
			exec(t, s, "RESET csm.session_memory")
			settle()
			require.Zero(t, held())
		})
	}
}

// A transaction of many statements that goes back nowhere keeps what it has come to, and is charged for no more.
func TestTransactionsAreChargedForWhatTheyAre(t *testing.T) {
	t.Parallel()
	e := open(t)
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i, 0 AS n FROM range(300000) r(i)")
	exec(t, s, "SET csm.session_memory = '1MB'")
	exec(t, s, "BEGIN")
	for i := range 200 {
		exec(t, s, fmt.Sprintf("DELETE FROM t WHERE i = %d", i)) // a set of 37,500 bytes each
		if i%10 == 0 {
			exec(t, s, "SAVEPOINT s")
			exec(t, s, "RELEASE s")
		}
	}
	require.LessOrEqual(t, e.Memory().Used, int64(1<<20))
	exec(t, s, "COMMIT")
	exec(t, s, "RESET csm.session_memory")
	exec(t, s, "DISCARD PLANS")
	require.Zero(t, e.Memory().Used)
	require.Equal(t, []string{"299800"}, rows(t, s, "SELECT count(*) FROM t"))
}

// Transactions that move to newer snapshots are charged for what they are there.
func TestTransactionsThatMoveAreCharged(t *testing.T) {
	t.Parallel()
	e := open(t)
	s, other := session(t, e), session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i, 0 AS n FROM range(300000) r(i)")
	exec(t, s, "BEGIN")
	for i := range 20 {
		exec(t, s, fmt.Sprintf("SAVEPOINT s%d", i))
		exec(t, s, fmt.Sprintf("DELETE FROM t WHERE i = %d", i))
		exec(t, other, fmt.Sprintf("DELETE FROM t WHERE i = %d", 1000+i))
		exec(t, other, fmt.Sprintf("INSERT INTO t VALUES (%d, 1)", i))
	}
	exec(t, s, "DISCARD PLANS")
	require.Greater(t, e.Memory().Used, int64(20*37_500))
	exec(t, s, "ROLLBACK TO s10")
	exec(t, s, "DELETE FROM t WHERE i = 100")
	exec(t, s, "COMMIT")
	exec(t, s, "DISCARD PLANS")
	exec(t, other, "DISCARD PLANS")
	require.Zero(t, e.Memory().Used)
	require.Equal(t, []string{"299989"}, rows(t, s, "SELECT count(*) FROM t"))
}

// What a statement notes of the rows that it is about is charged while it runs, and refused before all of them are noted.
func TestRowsOfStatementsAreCharged(t *testing.T) {
	t.Parallel()
	e := open(t, func(c *engine.Config) { c.RegionBytes = 256 << 20 })
	s := session(t, e)
	exec(t, s, "CREATE TABLE t AS SELECT i % 2 = 1 AS b FROM range(20000000) r(i)")
	exec(t, s, "CREATE TABLE one AS SELECT 1 AS k")
	exec(t, s, "DISCARD PLANS")
	require.Zero(t, e.Memory().Used)
	for _, sql := range []string{
		"DELETE FROM t WHERE b", "UPDATE t SET b = true WHERE NOT b",
		"MERGE INTO t USING one ON k = 1 WHEN MATCHED THEN DELETE",
	} {
		exec(t, s, "SET csm.session_memory = '1MB'")
		_, err := s.Exec(t.Context(), sql)
		requireState(t, "53200", err)
		require.Contains(t, err.Error(), "the changes of a transaction", sql)
		exec(t, s, "RESET csm.session_memory")
		exec(t, s, "DISCARD PLANS")
		require.Zero(t, e.Memory().Used, sql)
	}
	exec(t, s, "DELETE FROM t WHERE b")
	exec(t, s, "DISCARD PLANS")
	require.Zero(t, e.Memory().Used)
	require.Equal(t, []string{"10000000"}, rows(t, s, "SELECT count(*) FROM t"))
}
