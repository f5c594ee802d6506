// Package native is DuckDB with the tables of TPC-H as its own, in memory: what tpch measures against, and what refresh
// compares answers with.
//
//	dbgen's record batches ─► csm_scan, once ─► CREATE TABLE … AS ─► Tables ─► Ask, Exec
//
// Invariants:
//
//   - NA1: the rows are those that the engine's load of TPC-H makes, in the same order.
//
// One goroutine uses Tables at a time. It holds no locks and compares nothing.
package native

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory/mallocator"

	"github.com/csmsql/csmsql/bench/result"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/queries/dbgen"
)

// Tables are DuckDB's own.
type Tables struct {
	database   *duckdb.Database
	connection *duckdb.Connection
}

// Open makes and fills the tables. say is called with what is being done.
func Open(ctx context.Context, scaleFactor float64, threads int,
	say func(format string, args ...any)) (*Tables, error) {
	db, err := duckdb.Open(duckdb.Options{Threads: threads, JoinFilters: true}) // as its users have it
	if err != nil {
		return nil, err
	}
	c, err := db.Connect(nil)
	if err != nil {
		db.Close()
		return nil, err
	}
	t := &Tables{database: db, connection: c}
	for _, table := range dbgen.Tables() {
		say("loading DuckDB's own table %s", table)
		if err := fill(ctx, c, scaleFactor, table); err != nil {
			t.Close()
			return nil, err
		}
	}
	return t, nil
}

// Close drops the tables.
func (t *Tables) Close() { t.connection.Close(); t.database.Close() }

// Exec runs a statement without rows.
func (t *Tables) Exec(sql string) error { return t.connection.Exec(sql) }

// Ask answers a query, as text.
func (t *Tables) Ask(ctx context.Context, sql string) ([]string, [][]string, error) {
	st, err := t.connection.Prepare(sql)
	if err != nil {
		return nil, nil, err
	}
	defer st.Close()
	r, err := st.Execute(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	var rows [][]string
	for {
		batch, err := r.Next()
		if err == io.EOF {
			return result.Names(r.Schema()), rows, nil
		}
		if err != nil {
			return nil, nil, err
		}
		rows = result.Append(rows, batch)
		batch.Release()
	}
}

// fill makes and fills one table of DuckDB's own with the generator's rows.
func fill(ctx context.Context, c *duckdb.Connection, sf float64, table dbgen.Table) error {
	g, err := dbgen.New(sf)
	if err != nil {
		return err
	}
	mem := mallocator.NewMallocator()
	const step = 60_000
	units := g.Units(table)
	for first := int64(0); first < units; first += step {
		batch, err := g.Batch(ctx, mem, table, first, min(step, units-first))
		if err != nil {
			return err
		}
		err = addBatch(c, table, batch, first == 0)
		batch.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

func addBatch(c *duckdb.Connection, table dbgen.Table, batch arrow.RecordBatch, create bool) error {
	number := c.Register(&duckdb.Scan{
		Schema: dbgen.Schema(table), Rows: batch.NumRows(), Chunks: 1,
		Open: func(_ int, columns []int) (arrow.RecordBatch, error) {
			fields := make([]arrow.Field, len(columns))
			arrays := make([]arrow.Array, len(columns))
			for i, k := range columns {
				fields[i], arrays[i] = batch.Schema().Field(k), batch.Column(k)
			}
			return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, batch.NumRows()), nil
		},
	})
	defer c.Forget(number)
	verb := "INSERT INTO " + table.String()
	if create {
		verb = "CREATE TABLE " + table.String() + " AS"
	}
	return c.Exec(fmt.Sprintf("%s SELECT * FROM csm_scan(%d)", verb, number))
}
