package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/exec/duckdb"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// operations are what this node does for operators of its cluster: noderpc.Operations.
type operations struct{ engine *Engine }

// Drain implements noderpc.Operations: the node's own part, see Engine.Drain.
func (o operations) Drain(ctx context.Context, on bool) error {
	ctx, leave, err := o.engine.life.Call(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return o.engine.life.CauseOf(o.engine.upkeep.SetDraining(ctx, on))
}

// Chunk implements noderpc.Operations.
func (o operations) Chunk(ctx context.Context, table catalog.TableName, chunk int64) ([]byte, error) {
	ctx, leave, err := o.engine.life.Call(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	snapshot, err := o.engine.catalog.Snapshot(ctx, catalog.Holder{Description: "describe a chunk"})
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
	s, err := o.engine.Session(SessionOptions{User: "csm table"})
	if err != nil {
		return nil, err
	}
	all := "SELECT * FROM " + duckdb.QuoteIdentifier(table.Schema) + "." + duckdb.QuoteIdentifier(table.Name)
	rows, err := s.query(ctx, all, DialectDuckDB, nil)
	if err != nil {
		_ = s.Close()
		return nil, err
	}
	return ownReader{newRecordReader(rows), s}, nil
}

// ownReader reads in a session that ends with it.
type ownReader struct {
	*recordReader
	session *Session
}

// Release implements array.RecordReader.
func (r ownReader) Release() {
	r.recordReader.Release()
	if r.references.Load() <= 0 {
		_ = r.session.Close()
	}
}
