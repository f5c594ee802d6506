package upkeep

import (
	"context"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/engine/ingest"
)

// A writer keeps what it is given until a chunk is full. Long runs of rows between deleted ones are given as they lie;
// many short ones are copied together first: a slice of a batch is larger than a few rows.
const (
	longRun    = 512
	gatherRuns = 1024
)

// addLiving adds the rows of a chunk that are not deleted.
func addLiving(ctx context.Context, w *ingest.Writer, v *catalog.TableVersion, chunk int,
	rows arrow.RecordBatch) error {
	gone, err := v.Deleted(ctx, chunk)
	if err != nil {
		return err
	}
	if gone == nil {
		return w.Add(ctx, rows)
	}
	return addRuns(ctx, w, rows, gone.Absent())
}

// addRuns adds some rows of a chunk.
func addRuns(ctx context.Context, w *ingest.Writer, rows arrow.RecordBatch, runs iter.Seq2[int64, int64]) error {
	var short []arrow.RecordBatch
	defer func() { releaseAll(short) }()
	add := func() error {
		if len(short) == 0 {
			return nil
		}
		together, err := ingest.Together(short, memory.DefaultAllocator)
		releaseAll(short)
		if short = nil; err != nil {
			return err
		}
		defer together.Release()
		return w.Add(ctx, together)
	}
	for from, to := range runs {
		run := rows.NewSlice(from, to)
		if short = append(short, run); to-from < longRun && len(short) < gatherRuns {
			continue
		}
		if to-from >= longRun { // the rows keep their order
			short = short[:len(short)-1]
			err := add()
			if err == nil {
				err = w.Add(ctx, run)
			}
			run.Release()
			if err != nil {
				return err
			}
			continue
		}
		if err := add(); err != nil {
			return err
		}
	}
	return add()
}

func releaseAll(batches []arrow.RecordBatch) {
	for _, b := range batches {
		b.Release()
	}
}
