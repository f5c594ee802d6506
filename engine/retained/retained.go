package retained

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/engine/account"
	"github.com/csmsql/csmsql/engine/conform"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Next gives the next batch of a result, which the caller releases, or io.EOF.
type Next = func(context.Context) (arrow.RecordBatch, error)

// Batches are record batches that a session keeps, and that are charged to it.
type Batches struct {
	List    []arrow.RecordBatch
	Rows    int64
	account *account.Session
	size    int64
}

// For are a session's; there are none yet.
func For(account *account.Session) *Batches { return &Batches{account: account} }

// Charge charges what is kept beside the batches, until they are released.
func (k *Batches) Charge(bytes int64) error {
	if err := k.account.Take(account.Returning, bytes); err != nil { // plans are not dropped for it: one of them runs
		if e, ok := err.(*sqlerror.Error); ok {
			e.WithHint("Nothing was written. Write fewer rows at a time, or ask for them with a SELECT afterwards; " +
				"or start the node with more --memory.")
		}
		return err
	}
	k.size += bytes
	return nil
}

// Keep retains a batch.
func (k *Batches) Keep(batch arrow.RecordBatch) error {
	if err := k.Charge(conform.Bytes(batch)); err != nil {
		return err
	}
	batch.Retain()
	k.List = append(k.List, batch)
	k.Rows += batch.NumRows()
	return nil
}

// Scan has DuckDB read what is kept now as columns of schema, of which some are raw (exec/duckdb/normal) and kept as
// results show them. What is kept later is read, too, if its Chunks say so.
func (k *Batches) Scan(schema *arrow.Schema) *duckdb.Scan {
	return &duckdb.Scan{
		Schema: schema, Rows: k.Rows, Chunks: len(k.List),
		Open: func(chunk int, wanted []int) (arrow.RecordBatch, error) {
			batch := duckdb.Project(k.List[chunk], wanted)
			if !normal.HasOpaque(schema) {
				return batch, nil
			}
			defer batch.Release()
			fields, columns := make([]arrow.Field, len(wanted)), make([]arrow.Array, len(wanted))
			for i, at := range wanted {
				raw, err := normal.Raw(duckdb.Outside, batch.Column(i), schema.Field(at))
				if err != nil {
					return nil, err
				}
				defer raw.Release()
				columns[i] = raw
				fields[i] = arrow.Field{Name: schema.Field(at).Name, Type: raw.DataType(), Nullable: true}
			}
			return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows()), nil
		},
	}
}

// Release lets all of them go.
func (k *Batches) Release() {
	for _, b := range k.List {
		b.Release()
	}
	k.account.Give(account.Returning, k.size)
	*k = Batches{account: k.account}
}

// Keeping hands a result's batches on and keeps them.
func (k *Batches) Keeping(next Next) Next {
	return func(ctx context.Context) (arrow.RecordBatch, error) {
		batch, err := next(ctx)
		if err != nil {
			return nil, err
		}
		if err := k.Keep(batch); err != nil {
			batch.Release()
			return nil, err
		}
		return batch, nil
	}
}

// Drain keeps all that next gives.
func (k *Batches) Drain(ctx context.Context, next Next) error {
	for {
		batch, err := next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = k.Keep(batch)
			batch.Release()
		}
		if err != nil {
			return err
		}
	}
}

// Again gives the batches once more.
func (k *Batches) Again() Next {
	next := 0
	return func(context.Context) (arrow.RecordBatch, error) {
		if next == len(k.List) {
			return nil, io.EOF
		}
		batch := k.List[next]
		batch.Retain()
		next++
		return batch, nil
	}
}
