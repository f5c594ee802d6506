package ingest

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Value is an array in the layout that a chunk would have it in, in ordinary memory: for what chunks do not store.
func Value(ctx context.Context, batch arrow.RecordBatch, f arrow.Field, limits []Limit) (arrow.Array, error) {
	fit, err := Fit(ctx, batch, limits)
	if err != nil {
		return nil, err
	}
	defer fit.Release()
	f.Nullable = true
	laid, err := LayOut(ctx, fit, arrow.NewSchema([]arrow.Field{f}, nil), memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	defer laid.Release()
	value := laid.Column(0)
	value.Retain()
	return value, nil
}

// LayOut is a batch in the layout that a chunk would have it in, in some memory. The schema says which columns those are,
// as Target.Schema does. The caller releases the result.
func LayOut(ctx context.Context, batch arrow.RecordBatch, schema *arrow.Schema,
	mem memory.Allocator) (arrow.RecordBatch, error) {
	codes, err := coded(batch, schema)
	if err != nil {
		return nil, err
	}
	if codes != nil {
		defer codes.Release()
		batch = codes
	}
	w := NewWriter(Target{Schema: schema})
	w.pending, w.rows = []arrow.RecordBatch{batch}, batch.NumRows()
	return w.encodeIn(ctx, mem, func() error { return nil })
}
