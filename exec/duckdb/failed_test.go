package duckdb_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/exec/duckdb"
)

// A database that DuckDB has given up says so, to whom asks and to everyone who waits for it, and can be closed; another one is not touched.
func TestFailedDatabase(t *testing.T) {
	db, c := open(t)
	_, other := open(t)
	for _, sql := range []string{
		"CREATE TEMP TABLE l AS SELECT i AS k, i % 3 AS g FROM range(1000) r(i)", "CREATE TEMP TABLE r AS SELECT i AS k, i % 3 AS g FROM range(1000) r(i)",
	} {
		require.NoError(t, c.Exec(sql))
	}
	_, err := tryAsk(c, "SELECT TRY(k), count(*) FROM l")
	require.Error(t, err)
	select {
	case <-db.Failed():
		t.Fatal("an internal error of planning harms nothing")
	default:
	}
	s, err := c.Prepare("SELECT count(*) FROM l ASOF JOIN r ON l.k >= r.k AND l.g = r.g")
	require.NoError(t, err)
	defer s.Close()
	for range 2 {
		s.Once()
		var rows *duckdb.Rows
		if rows, err = s.Execute(t.Context()); err == nil {
			var batch interface{ Release() }
			if batch, err = rows.Next(); err == nil {
				batch.Release()
			}
			rows.Close()
		}
	}
	require.Error(t, err, "DuckDB can run the join again")
	<-db.Failed()
	second, err := db.Connect(nil)
	if err == nil {
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
