package dbgen

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"
)

// unitsPerBatch is how much of a table that is split by hash is made at once.
const unitsPerBatch = 16 << 10

// EachBatch makes a table's rows in ordinary memory, in their order, as many batches ahead as are wished. add does not
// keep them.
func (g *Generator) EachBatch(ctx context.Context, table Table, ahead int, add func(arrow.RecordBatch) error) error {
	ctx, cancel := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	defer func() {
		cancel()
		_ = group.Wait() // what it says was received before
	}()
	units, step := g.Units(table), min(unitsPerBatch, MaxBatchUnits(table))
	made := make(chan chan generated, ahead)
	group.Go(func() error {
		defer close(made)
		for first := int64(0); first < units; first += step {
			result := make(chan generated, 1)
			select {
			case made <- result:
			case <-ctx.Done():
				return ctx.Err()
			}
			group.Go(func() error {
				batch, err := g.Batch(ctx, memory.DefaultAllocator, table, first, min(step, units-first))
				result <- generated{batch, err}
				return nil
			})
		}
		return nil
	})
	for result := range made {
		next := <-result
		if next.err != nil {
			return next.err
		}
		err := add(next.batch)
		next.batch.Release()
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// generated is one batch of rows.
type generated struct {
	batch arrow.RecordBatch
	err   error
}
