package duckdb_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// ownFault is a query in whose execution DuckDB 1.5.5 finds a bug of its own.
const ownFault = "SELECT lead(id ORDER BY id) OVER (ORDER BY ch ROWS BETWEEN 3 FOLLOWING AND 1 FOLLOWING) AS l FROM r"

// openFaulty gives a database with the temporary table that ownFault reads.
func openFaulty(t *testing.T) (*duckdb.Database, *duckdb.Connection) {
	t.Helper()
	db, c := open(t)
	require.NoError(t, c.Exec("CREATE TEMP TABLE r AS SELECT * FROM (VALUES (1, 'A'), (2, 'B'), (NULL, 'B')) r(id, ch)"))
	return db, c
}

// D13: an internal error of a statement that reads costs the statement: its connection and all others go on, also in an open
// transaction once that has ended, and temporary tables are as they were.
func TestInternalErrorOfAReader(t *testing.T) {
	db, c := openFaulty(t)
	other, err := db.Connect(nil)
	require.NoError(t, err)
	defer other.Close()
	fails := func() {
		t.Helper()
		_, err := tryAsk(c, ownFault)
		var e *duckdb.Error
		require.True(t, errors.As(err, &e), "DuckDB runs the query right: there is nothing to be tried here any more")
		require.Equal(t, "XX000", e.State)
		require.NotContains(t, e.Message, "takes no statements any more")
		require.Contains(t, e.HintText, "a fault of DuckDB's own")
	}
	for range 3 {
		fails()
		require.Equal(t, []string{"3"}, ask(t, c, "SELECT count(*) FROM r"))
		require.Equal(t, []string{"1"}, ask(t, other, "SELECT 1"))
	}
	require.NoError(t, c.Exec("BEGIN TRANSACTION"))
	fails()
	require.NoError(t, c.Exec("ROLLBACK"))
	require.NoError(t, c.Exec("INSERT INTO r VALUES (4, 'C')"))
	require.Equal(t, []string{"4"}, ask(t, c, "SELECT count(*) FROM r"))
	_, err = tryAsk(c, "EXPLAIN ANALYZE "+ownFault)
	require.Error(t, err)
	require.Equal(t, []string{"1"}, ask(t, other, "SELECT 1"))
	select {
	case <-db.Failed():
		t.Fatal("the database goes on")
	default:
	}
}

// A database that DuckDB has given up, because a statement that writes has failed inside, reports that to callers and
// to those that wait for it, and can be closed; another one is not touched.
func TestFailedDatabase(t *testing.T) {
	db, c := openFaulty(t)
	_, other := open(t)
	_, err := tryAsk(c, "SELECT TRY(id), count(*) FROM r")
	require.Error(t, err)
	select {
	case <-db.Failed():
		t.Fatal("an internal error of planning harms nothing")
	default:
	}
	require.Error(t, c.Exec("CREATE TEMP TABLE l AS "+ownFault), "DuckDB runs the query right")
	_, err = tryAsk(c, "SELECT 1")
	<-db.Failed()
	second, failure := db.Connect(nil)
	if failure == nil {
		second.Close()
	}
	for _, err := range []error{err, c.Exec("SELECT 1"), func() error { _, err := tryAsk(c, "SELECT 1"); return err }()} {
		var e *duckdb.Error
		require.True(t, errors.As(err, &e), "%v", err)
		require.Equal(t, "57P02", e.State)
		require.Contains(t, e.Message, "DuckDB has failed inside, and takes no statements any more: ")
		require.Contains(t, e.HintText, "connect again")
	}
	require.Equal(t, []string{"1"}, ask(t, other, "SELECT 1"))
}
