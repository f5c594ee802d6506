package driver_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine"
	"github.com/csmsql/csmsql/engine/driver"
)

func open(t *testing.T) *sql.DB {
	directory := t.TempDir()
	db, err := sql.Open("csmsql", directory)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		removeRegion(t, directory)
	})
	return db
}

// removeRegion removes what a node keeps in shared memory for its next life.
func removeRegion(t *testing.T, directory string) {
	e, err := engine.Open(context.Background(), engine.Config{Directory: directory})
	require.NoError(t, err)
	region := e.Status(noderpc.Frontend{}).Regions[0].Path
	require.NoError(t, e.Close())
	require.NoError(t, os.Remove(region))
}

func TestValuesKeepTheirTypes(t *testing.T) {
	db := open(t)
	_, err := db.Exec("CREATE TABLE t (i int, b boolean, f double, s text, d date, ts timestamp, n decimal(10,2), x blob)")
	require.NoError(t, err)
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	r, err := db.Exec("INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8), (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
		7, true, 1.5, "text", day, day.Add(time.Hour), "12.30", []byte{0, 1})
	require.NoError(t, err)
	n, err := r.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	var (
		i  sql.NullInt64
		b  sql.NullBool
		f  sql.NullFloat64
		s  sql.NullString
		d  sql.NullTime
		ts sql.NullTime
		m  sql.NullString
		x  []byte
	)
	scan := []any{&i, &b, &f, &s, &d, &ts, &m, &x}
	require.NoError(t, db.QueryRow("SELECT * FROM t WHERE i = $1", 7).Scan(scan...))
	require.Equal(t, "7 true 1.5 text 2026-11-20 01 12.30 [0 1]", fmt.Sprint(i.Int64, b.Bool, f.Float64, " "+s.String+" ", d.Time.Format(time.DateOnly)+" ", ts.Time.Format("15")+" ", m.String+" ", x))
	require.NoError(t, db.QueryRow("SELECT * FROM t WHERE i IS NULL").Scan(scan...))
	require.False(t, i.Valid || b.Valid || f.Valid || s.Valid || d.Valid || ts.Valid || m.Valid || x != nil)
}

// V1: a DB over the program's own engine leaves it open.
func TestConnectorOfAnEngine(t *testing.T) {
	directory := t.TempDir()
	e, err := engine.Open(t.Context(), engine.Config{Directory: directory})
	require.NoError(t, err)
	db := sql.OpenDB(driver.NewConnector(e))
	_, err = db.Exec("CREATE TABLE t AS SELECT 7 AS a")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	again := sql.OpenDB(driver.NewConnector(e))
	var a int
	require.NoError(t, again.QueryRow("SELECT a FROM t").Scan(&a))
	require.Equal(t, 7, a)
	require.NoError(t, again.Close())
	require.NoError(t, e.Close())
	removeRegion(t, directory)
}

func TestTransactionsAreAllOrNothing(t *testing.T) {
	db := open(t)
	_, err := db.Exec("CREATE TABLE t (i int)")
	require.NoError(t, err)
	tx, err := db.BeginTx(context.Background(), nil)
	require.NoError(t, err)
	_, err = tx.Exec("INSERT INTO t VALUES (1)")
	require.NoError(t, err)
	var n int
	require.NoError(t, tx.QueryRow("SELECT count(*) FROM t").Scan(&n))
	require.Equal(t, 1, n)
	require.NoError(t, db.QueryRow("SELECT count(*) FROM t").Scan(&n), "another connection")
	require.Equal(t, 0, n)
	require.NoError(t, tx.Rollback())
	require.NoError(t, db.QueryRow("SELECT count(*) FROM t").Scan(&n))
	require.Equal(t, 0, n)
}

func TestPreparedStatementsSeeNewVersions(t *testing.T) {
	db := open(t)
	_, err := db.Exec("CREATE TABLE t AS SELECT 1 AS i")
	require.NoError(t, err)
	st, err := db.Prepare("SELECT sum(i) FROM t WHERE i >= $1")
	require.NoError(t, err)
	defer st.Close()
	for want := 1; want < 4; want++ {
		var got int
		require.NoError(t, st.QueryRow(0).Scan(&got))
		require.Equal(t, want*(want+1)/2, got)
		_, err = db.Exec("INSERT INTO t VALUES ($1)", want+1)
		require.NoError(t, err)
	}
}

func Example() {
	db, err := sql.Open("csmsql", "") // a node of its own, gone with the DB
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE city AS SELECT * FROM (VALUES ('Delft', 106000), ('Leiden', 127000)) v(name, people)"); err != nil {
		panic(err)
	}
	var name string
	if err := db.QueryRow("SELECT name FROM city WHERE people > $1", 110_000).Scan(&name); err != nil {
		panic(err)
	}
	fmt.Println(name)
	// Output: Leiden
}
