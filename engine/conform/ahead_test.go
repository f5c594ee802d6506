package conform_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/csmsql/csmsql/engine/conform"
)

// What was fetched ahead is given once, an end again and again, and an error at once.
func TestAhead(t *testing.T) {
	ctx := t.Context()
	fetches := func(list ...arrow.RecordBatch) func(context.Context) (arrow.RecordBatch, error) {
		return func(context.Context) (arrow.RecordBatch, error) {
			if len(list) == 0 {
				return nil, io.EOF
			}
			batch := list[0]
			list = list[1:]
			return batch, nil
		}
	}
	one, two := conform.Texts("a", []string{"1"}), conform.Texts("a", []string{"2"})
	next, drop, err := conform.Ahead(ctx, fetches(one, two))
	require.NoError(t, err)
	for _, want := range []arrow.RecordBatch{one, two} {
		got, err := next(ctx)
		require.NoError(t, err)
		require.Same(t, want, got)
	}
	drop()
	for range 2 {
		_, err := next(ctx)
		require.ErrorIs(t, err, io.EOF)
	}

	next, drop, err = conform.Ahead(ctx, fetches())
	require.NoError(t, err)
	for range 2 {
		got, err := next(ctx)
		require.ErrorIs(t, err, io.EOF)
		require.Nil(t, got)
	}
	drop()

	failure := errors.New("no")
	_, _, err = conform.Ahead(ctx, func(context.Context) (arrow.RecordBatch, error) { return nil, failure })
	require.ErrorIs(t, err, failure)
}
