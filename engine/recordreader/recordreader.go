// Package recordreader shows a result as Arrow's RecordReader.
//
// # Invariants
//
//   - RR1: a batch is there until the next one is asked for, or the last reference is released; then the result is
//     closed.
//
// # What it does not do
//
// It knows no statements: what gives it batches keeps their order, types and errors.
package recordreader

import (
	"errors"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
)

// Reader implements array.RecordReader.
type Reader struct {
	references atomic.Int64
	schema     *arrow.Schema
	next       func() (arrow.RecordBatch, error)
	done       func()
	current    arrow.RecordBatch
	err        error
}

// New shows what next gives, up to io.EOF, under a schema (nil: without columns). done is called when it is
// unreferenced.
func New(schema *arrow.Schema, next func() (arrow.RecordBatch, error), done func()) *Reader {
	if schema == nil {
		schema = arrow.NewSchema(nil, nil)
	}
	r := &Reader{schema: schema, next: next, done: done}
	r.references.Store(1)
	return r
}

// Retain implements array.RecordReader.
func (r *Reader) Retain() { r.references.Add(1) }

// Release implements array.RecordReader.
func (r *Reader) Release() {
	if r.references.Add(-1) == 0 {
		r.drop()
		r.done()
	}
}

func (r *Reader) drop() {
	if r.current != nil {
		r.current.Release()
		r.current = nil
	}
}

// Schema implements array.RecordReader.
func (r *Reader) Schema() *arrow.Schema { return r.schema }

// Next implements array.RecordReader.
func (r *Reader) Next() bool {
	r.drop()
	batch, err := r.next()
	if err == nil {
		r.current = batch
	}
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return err == nil
}

// RecordBatch implements array.RecordReader.
func (r *Reader) RecordBatch() arrow.RecordBatch { return r.current }

// Record implements array.RecordReader.
func (r *Reader) Record() arrow.RecordBatch { return r.current }

// Err implements array.RecordReader.
func (r *Reader) Err() error { return r.err }
