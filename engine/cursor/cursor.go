package cursor

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
)

// Rows are a running result.
type Rows interface {
	Next(ctx context.Context) (arrow.RecordBatch, error)
	Recheck() error // whether what Next gave before is still what it was
}

// Cursor reads forward only.
type Cursor struct {
	rows   Rows
	cancel context.CancelCauseFunc // of the context that rows run under
	rest   arrow.RecordBatch       // or nil
}

// Open has run give a result under a context that outlives ctx.
func Open[R Rows](ctx context.Context, run func(context.Context) (R, error)) (c *Cursor, rows R, err error) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c = &Cursor{cancel: cancel}
	defer c.follow(ctx)()
	if rows, err = run(own); err != nil {
		cancel(nil)
		return nil, rows, err
	}
	c.rows = rows
	return c, rows, nil
}

// follow lets the end of a statement's context interrupt the cursor's query while that statement runs (CU2).
func (c *Cursor) follow(ctx context.Context) (unfollow func() bool) {
	return context.AfterFunc(ctx, func() { c.cancel(context.Cause(ctx)) })
}

// Take gives up to limit rows that were not fetched yet; the caller releases them. At the end it returns io.EOF, for
// ever.
func (c *Cursor) Take(ctx context.Context, limit int64) (arrow.RecordBatch, error) {
	defer c.follow(ctx)()
	if c.rest != nil { // it may have lain there for long
		if err := c.rows.Recheck(); err != nil {
			return nil, err
		}
	}
	for c.rest == nil || c.rest.NumRows() == 0 {
		c.drop()
		batch, err := c.rows.Next(ctx)
		if err != nil {
			return nil, err
		}
		c.rest = batch
	}
	batch := c.rest
	if batch.NumRows() <= limit {
		c.rest = nil
		return batch, nil
	}
	c.rest = batch.NewSlice(limit, batch.NumRows())
	defer batch.Release()
	return batch.NewSlice(0, limit), nil
}

// Fetch gives the next count rows, batch by batch as Take does.
func (c *Cursor) Fetch(count int64) func(context.Context) (arrow.RecordBatch, error) {
	return func(ctx context.Context) (arrow.RecordBatch, error) {
		if count == 0 {
			return nil, io.EOF
		}
		batch, err := c.Take(ctx, count)
		if err == nil {
			count -= batch.NumRows()
		}
		return batch, err
	}
}

func (c *Cursor) drop() {
	if c.rest != nil {
		c.rest.Release()
		c.rest = nil
	}
}

// Close lets go of the rest, and calls end, which closes the result, before the result's context ends.
func (c *Cursor) Close(end func()) {
	c.drop()
	end()
	c.cancel(nil)
}
