package engine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine"
)

// errorOf runs a statement and returns its error with its state; empty: there is none.
func errorOf(s *engine.Session, sql string) string {
	if _, err := s.Exec(context.Background(), sql); err != nil {
		return sqlState(err) + " " + err.Error()
	}
	return ""
}

func TestTransactionModes(t *testing.T) {
	t.Parallel()
	var notices []string
	s, err := open(t).Session(engine.SessionOptions{Notice: func(n engine.Notice) { notices = append(notices, n.State+" "+n.Message) }})
	require.NoError(t, err)
	defer s.Close()
	modes := func() string {
		return strings.Join([]string{rows(t, s, "SHOW transaction_isolation")[0], rows(t, s, "SHOW transaction_read_only")[0], rows(t, s, "SHOW transaction_deferrable")[0]}, " ")
	}
	require.Equal(t, "read committed off off", modes())
	for begin, want := range map[string]string{
		"BEGIN": "read committed off off", "BEGIN ISOLATION LEVEL REPEATABLE READ": "repeatable read off off",
		"BEGIN ISOLATION LEVEL READ UNCOMMITTED, READ ONLY":                                         "read uncommitted on off",
		"START TRANSACTION ISOLATION LEVEL SERIALIZABLE":                                            "serializable off off",
		"BEGIN READ ONLY READ WRITE":                                                                "read committed off off",
		"BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE":                                   "serializable on on",
		"BEGIN; SET TRANSACTION READ ONLY":                                                          "read committed on off",
		"BEGIN; SET transaction_isolation = 'serializable'":                                         "serializable off off",
		"BEGIN; SET LOCAL transaction_read_only = on; SET TRANSACTION ISOLATION LEVEL SERIALIZABLE": "serializable on off",
	} {
		exec(t, s, begin)
		require.Equal(t, want, modes(), begin)
		require.Equal(t, []string{strings.ReplaceAll(strings.Replace(want, " ", "-", strings.Count(want, " ")-2), " ", "|")},
			rows(t, s, "SELECT replace(current_setting('transaction_isolation'), ' ', '-'), current_setting('transaction_read_only'), current_setting('transaction_deferrable')"), begin)
		exec(t, s, "ROLLBACK")
		require.Equal(t, "read committed off off", modes(), begin)
		require.Equal(t, []string{"off"}, rows(t, s, "SELECT current_setting('transaction_read_only')"), begin)
	}
	exec(t, s, "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY, DEFERRABLE")
	require.Equal(t, "serializable on on", modes())
	exec(t, s, "BEGIN READ WRITE")
	require.Equal(t, "serializable off on", modes())
	exec(t, s, "COMMIT AND CHAIN")
	require.Equal(t, "serializable off on", modes())
	exec(t, s, "ROLLBACK AND CHAIN; COMMIT; RESET ALL")
	require.Equal(t, "read committed off off", modes())

	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a")
	for sql, want := range map[string]string{
		"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE":            "25001 SET TRANSACTION ISOLATION LEVEL must be called before any query",
		"SET TRANSACTION READ WRITE":                              "25001 transaction read-write mode must be set before any query",
		"SET transaction_read_only = off":                         "25001 transaction read-write mode must be set before any query",
		"SET TRANSACTION SNAPSHOT '1'":                            "0A000 SET TRANSACTION SNAPSHOT is not supported",
		"SET TRANSACTION DEFERRABLE":                              "25001 SET TRANSACTION [NOT] DEFERRABLE must be called before any query",
		"SELECT set_config('transaction_read_only', 'off', true)": "25001 transaction read-write mode must be set before any query",
	} {
		exec(t, s, "BEGIN READ ONLY; SELECT * FROM t")
		require.Equal(t, want, errorOf(s, sql))
		exec(t, s, "ROLLBACK")
	}
	exec(t, s, "BEGIN; SAVEPOINT a; SET TRANSACTION READ ONLY")
	require.Equal(t, "read committed on off", modes())
	exec(t, s, "RELEASE a")
	require.Equal(t, "read committed off off", modes())
	exec(t, s, "INSERT INTO t VALUES (9); ROLLBACK; BEGIN; SELECT * FROM t")
	exec(t, s, "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SAVEPOINT b; SET TRANSACTION READ ONLY")
	require.Equal(t, "25006 cannot execute INSERT in a read-only transaction", errorOf(s, "INSERT INTO t VALUES (2)"))
	exec(t, s, "ROLLBACK TO b")
	require.Equal(t, "read committed off off", modes())
	exec(t, s, "INSERT INTO t VALUES (2); COMMIT")
	require.Equal(t, "0A000 DEFERRABLE means nothing to a transaction that is not SERIALIZABLE READ ONLY", errorOf(s, "BEGIN DEFERRABLE"))
	require.Equal(t, engine.Idle, s.Status())
	require.Equal(t, "25P01 COMMIT AND CHAIN can only be used in transaction blocks", errorOf(s, "COMMIT AND CHAIN"))
	require.Empty(t, notices)
	exec(t, s, "SET TRANSACTION READ ONLY")
	require.Equal(t, []string{"25P01 SET TRANSACTION can only be used in transaction blocks"}, notices)
	exec(t, s, "INSERT INTO t VALUES (3)")
}

func TestReadOnlyTransactions(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT 1 AS a; CREATE VIEW v AS SELECT 1 AS a; CREATE SCHEMA s; CREATE TEMP TABLE own AS SELECT 1 AS a")
	exec(t, s, "PREPARE put AS INSERT INTO t VALUES (1)")
	writes := map[string]string{
		"INSERT INTO t VALUES (2)": "INSERT", "UPDATE t SET a = 2": "UPDATE", "DELETE FROM t": "DELETE", "TRUNCATE t": "TRUNCATE TABLE",
		"DROP TABLE t": "DROP TABLE", "DROP VIEW v": "DROP VIEW", "DROP SCHEMA s": "DROP SCHEMA", "CREATE TABLE u (a int)": "CREATE TABLE",
		"CREATE TABLE u AS SELECT 1 AS a": "CREATE TABLE AS", "CREATE TEMP TABLE u (a int)": "CREATE TABLE", "CREATE VIEW w AS SELECT 1 AS a": "CREATE VIEW",
		"CREATE SCHEMA x": "CREATE SCHEMA", "ALTER TABLE t RENAME TO u": "ALTER TABLE", "ALTER TABLE t RELOAD": "ALTER TABLE", "EXECUTE put": "INSERT",
		"INSERT INTO t SELECT 1 RETURNING a": "INSERT", "CREATE TEMP SEQUENCE q": "CREATE SEQUENCE", "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x": "INSERT",
		"COPY t FROM STDIN": "COPY FROM",
	}
	for _, way := range [][2]string{
		{"BEGIN READ ONLY", "ROLLBACK"}, {"BEGIN; SET TRANSACTION READ ONLY", "ROLLBACK"}, {"BEGIN; SET transaction_read_only = on", "ROLLBACK"},
		{"START TRANSACTION READ ONLY", "ROLLBACK"}, {"SET default_transaction_read_only = on", "RESET ALL"},
		{"SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE"},
		{"SELECT set_config('default_transaction_read_only', 'true', false)", "RESET default_transaction_read_only"},
	} {
		for sql, command := range writes {
			exec(t, s, way[0])
			require.Equal(t, "25006 cannot execute "+command+" in a read-only transaction", errorOf(s, sql), "%s; %s", way[0], sql)
			exec(t, s, way[1])
		}
		exec(t, s, way[0])
		exec(t, s, "INSERT INTO own VALUES (2); UPDATE own SET a = 3; DELETE FROM own; SELECT * FROM t; ANALYZE")
		exec(t, s, way[1])
	}
	require.Equal(t, []string{"1"}, rows(t, s, "SELECT * FROM t"))
	exec(t, s, "BEGIN READ WRITE; INSERT INTO t VALUES (2); COMMIT; SET default_transaction_read_only = on; BEGIN READ WRITE; INSERT INTO t VALUES (3); COMMIT")
	require.Equal(t, []string{"3"}, rows(t, s, "SELECT count(*) FROM t"))
}

// lock_timeout bounds how long a statement waits for another transaction: none does, whatever those have written.
func TestNoStatementWaitsForAnotherTransaction(t *testing.T) {
	t.Parallel()
	e := open(t)
	one, other := session(t, e), session(t, e)
	exec(t, one, "CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE u AS SELECT 1 AS a; CREATE VIEW v AS SELECT a FROM t")
	exec(t, one, "BEGIN; INSERT INTO t VALUES (2); DROP VIEW v; DROP TABLE u; CREATE TABLE x AS SELECT 1 AS a")
	exec(t, other, "SET lock_timeout = 1; BEGIN")
	for _, sql := range []string{
		"SELECT * FROM t", "INSERT INTO t VALUES (3)", "UPDATE t SET a = 4", "SELECT * FROM v", "INSERT INTO u VALUES (1)", "DELETE FROM t",
		"CREATE TABLE x AS SELECT 2 AS a", "TRUNCATE u", "ALTER TABLE u RENAME TO w",
	} {
		exec(t, other, sql) // would hang
	}
	exec(t, one, "COMMIT")
	require.Equal(t, "40001", sqlState(failing(other, "COMMIT")))
}

func TestBackendIsChosen(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t AS SELECT i AS a FROM range(10) r(i)")
	for value, want := range map[string]string{"duckdb": "Backend: DuckDB", "compute": "Backend: Arrow kernels"} {
		exec(t, s, "SET csm.backend = "+value)
		require.Equal(t, want, rows(t, s, "EXPLAIN SELECT a FROM t WHERE a > 3")[0])
	}
	exec(t, s, "SET csm.backend = compute") // a map is walked in any order
	requireState(t, "0A000", failing(s, "SELECT a, row_number() OVER () FROM t"))
}

// Rows that a client sends are no way around it.
func TestReadOnlyTransactionsTakeNoRows(t *testing.T) {
	t.Parallel()
	s := session(t, open(t))
	exec(t, s, "CREATE TABLE t (a int); CREATE TEMP TABLE own (a int)")
	exec(t, s, "SET default_transaction_read_only = on")
	st, err := s.Prepare(t.Context(), "COPY t FROM STDIN")
	require.NoError(t, err)
	defer st.Close()
	_, err = st.CopyIn(t.Context(), func() ([][]byte, error) { t.Fatal("a row is asked for"); return nil, nil })
	require.EqualError(t, err, "cannot execute COPY FROM in a read-only transaction")
	require.Equal(t, "25006", state(t, err))
	require.Equal(t, []string{"0"}, rows(t, s, "SELECT count(*) FROM t"))
}
