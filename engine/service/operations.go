package service

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// operations are what this node does for operators of its cluster: noderpc.Operations.
type operations struct{ *Service }

// Drain implements noderpc.Operations: the node's own part, see Engine.Drain.
func (o operations) Drain(ctx context.Context, on bool) error {
	ctx, leave, err := o.Life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return o.Life.CauseOf(o.Keeper.SetDraining(ctx, on))
}

// Chunk implements noderpc.Operations.
func (o operations) Chunk(ctx context.Context, table catalog.TableName, chunk int64) ([]byte, error) {
	ctx, leave, err := o.Life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	snapshot, err := o.Node.Catalog.Snapshot(ctx, catalog.Holder{Description: "describe a chunk"})
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	if table.Schema == "" {
		table.Schema = duckdb.SchemaName
	}
	v, ok := snapshot.Table(table)
	if !ok {
		return nil, sqlerror.New("42P01", "relation %q does not exist", table.String())
	}
	c, err := v.Chunk(ctx, int(min(chunk, int64(v.NumChunks()))))
	if err != nil {
		return nil, err
	}
	return c.Encoded(), nil
}

// Table implements noderpc.Operations.
func (o operations) Table(ctx context.Context, table catalog.TableName) (array.RecordReader, error) {
	if table.Schema == "" {
		table.Schema = duckdb.SchemaName
	}
	return o.Statements.Table(ctx, table)
}
