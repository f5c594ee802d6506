package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/cluster/noderpc"
	"github.com/csmsql/csmsql/engine/ingest"
	"github.com/csmsql/csmsql/queries/dbgen"
)

// LoadTPCH generates the eight TPC-H tables straight into the region: every buffer is made where it will stay. All tables
// appear in one commit. progress may be nil; it is called from several goroutines.
func (e *Engine) LoadTPCH(ctx context.Context, request noderpc.TPCHRequest, progress func(noderpc.Progress)) error {
	if e.catalog == nil {
		return failure("25006", "a borrower cannot load tables").hint("Load through the node itself.")
	}
	g, err := dbgen.New(request.ScaleFactor)
	if err != nil {
		return err
	}
	if request.Schema == "" {
		request.Schema = "public"
	}
	if progress == nil {
		progress = func(noderpc.Progress) {}
	}
	snapshot, err := e.catalog.Snapshot(ctx, catalog.Holder{Description: "tpch load"})
	if err != nil {
		return err
	}
	defer snapshot.Close()
	tx := e.catalog.Begin(snapshot)
	defer tx.Rollback()
	if !tx.Contents().HasSchema(request.Schema) {
		if err := tx.CreateSchema(request.Schema); err != nil {
			return err
		}
	}
	for _, table := range dbgen.Tables() {
		name := catalog.TableName{Schema: request.Schema, Name: table.String()}
		if err := e.generate(ctx, tx, g, table, name, request.Replace, progress); err != nil {
			return advise(err)
		}
		e.config.Fault("tpch:table")
	}
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	return nil
}

func (e *Engine) generate(ctx context.Context, tx *catalog.Transaction, g *dbgen.Generator, table dbgen.Table, name catalog.TableName,
	replace bool, progress func(noderpc.Progress)) error {
	if _, exists := tx.Contents().Table(name); exists {
		if !replace {
			return failure("42P07", "relation %q already exists", name.String()).hint("Say --replace to generate it again, or --schema to load into another schema.")
		}
		if err := tx.DropTable(name); err != nil {
			return err
		}
	}
	options := catalog.TableOptions{Source: "csmsql tpch load"}
	if _, err := tx.CreateTable(ctx, name, dbgen.Schema(table), options); err != nil {
		return err
	}
	chunks, err := e.generateChunks(ctx, g, table, name, progress)
	if err != nil {
		return err
	}
	return tx.Append(name, chunks)
}

// generateChunks makes a table's chunks, as many at a time as there are threads. On error no memory is held.
func (e *Engine) generateChunks(ctx context.Context, g *dbgen.Generator, table dbgen.Table, name catalog.TableName,
	progress func(noderpc.Progress)) ([]*catalog.Chunk, error) {
	units := g.Units(table)
	step := min(unitsPerChunk(table), dbgen.MaxBatchUnits(table))
	chunks := make([]*catalog.Chunk, (units+step-1)/step)
	total := g.Rows(table)
	var rows, bytes atomic.Int64
	progress(noderpc.Progress{Step: table.String(), RowsTotal: total})
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(e.threads())
	for i := range chunks {
		group.Go(func() error {
			first := int64(i) * step
			c, err := e.generateChunk(ctx, g, table, name, first, min(step, units-first))
			if err != nil {
				return err
			}
			chunks[i] = c
			progress(noderpc.Progress{Step: table.String(), Rows: rows.Add(c.Rows()), RowsTotal: total, Bytes: bytes.Add(c.Bytes())})
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		made := chunks[:0]
		for _, c := range chunks {
			if c != nil {
				made = append(made, c)
			}
		}
		if len(made) > 0 {
			err = errors.Join(err, e.target(name, nil).Discard(made))
		}
		return nil, err
	}
	return chunks, nil
}

// unitsPerChunk: a unit of lineitem is an order of four lines on average.
func unitsPerChunk(t dbgen.Table) int64 {
	if t == dbgen.LineItem {
		return ingest.RowsPerChunk / 4
	}
	return ingest.RowsPerChunk
}

func (e *Engine) generateChunk(ctx context.Context, g *dbgen.Generator, table dbgen.Table, name catalog.TableName, first, count int64) (*catalog.Chunk, error) {
	const bytesPerUnit = 512 // of lineitem, the widest; what is not used goes back
	w := catalog.NewChunkWriter(e.node.space, name.String(), count*bytesPerUnit)
	batch, err := g.Batch(ctx, w.Allocator(), table, first, count)
	if err == nil {
		err = w.Err()
	}
	if err != nil {
		if batch != nil {
			batch.Release()
		}
		return nil, errors.Join(firstOf(w.Err(), err), w.Abort())
	}
	defer batch.Release()
	c, err := w.Seal(ctx, batch, catalog.SealOptions{SkipValidation: true})
	e.config.Fault("tpch:chunk")
	return c, err
}

// firstOf prefers the cause over what came of it.
func firstOf(cause, err error) error {
	if cause != nil {
		return cause
	}
	return err
}
