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
	f.Nullable = true
	if codes, err := coded(fit, arrow.NewSchema([]arrow.Field{f}, nil)); err != nil {
		fit.Release()
		return nil, err
	} else if codes != nil {
		fit.Release()
		fit = codes
	}
	defer fit.Release()
	w := NewWriter(Target{Schema: arrow.NewSchema([]arrow.Field{f}, nil)})
	w.pending, w.rows = []arrow.RecordBatch{fit}, fit.NumRows()
	laid, err := w.encodeIn(ctx, memory.DefaultAllocator, func() error { return nil })
	if err != nil {
		return nil, err
	}
	defer laid.Release()
	value := laid.Column(0)
	value.Retain()
	return value, nil
}
