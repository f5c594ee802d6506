package ingest

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Chunks whose bytes are gone are rebuilt from the rows that they were made of, in the order in which a Writer took
// them:
//
//	rows ─┬─ part 0: chunk 0 (gone), chunk 1           as many rows as the chunk had are its own again, and laid out as it was;
//	      └─ part 1: chunk 2, chunk 3 (gone)           rows of chunks that are not wanted are passed over
//
// Whether they are the same rows is checked by the receiver: it has checksums.

// Piece is a chunk in the order in which a writer made them.
type Piece struct {
	Number int
	Rows   int64
	// Stored is how the chunk was laid out, if it is wanted; nil: it is not.
	Stored *arrow.Schema
}

// ErrEnough is what Again.Add returns when no chunk is wanted any more.
var ErrEnough = errors.New("all chunks that are wanted have been made")

// Again rebuilds chunks. For one goroutine.
type Again struct {
	schema  *arrow.Schema
	columns []int // of the hash that divided the rows; nil: nothing did
	parts   []againPart
	wanted  int
	made    func(ctx context.Context, number int, batch arrow.RecordBatch) error
}

type againPart struct {
	pieces  []Piece // the first is the one that is being filled
	rows    int64   // that it has
	wanted  int     // of pieces
	pending []arrow.RecordBatch
}

// NewAgain makes the wanted ones of some pieces of a table with this schema: by part, each in its order. columns are
// those whose hash divides rows into the parts; with one part there are none. made is given each chunk as it was laid
// out, in ordinary memory, and must not keep it.
func NewAgain(schema *arrow.Schema, columns []int, parts [][]Piece,
	made func(ctx context.Context, number int, batch arrow.RecordBatch) error) *Again {
	a := &Again{schema: schema, columns: columns, made: made}
	for _, pieces := range parts {
		p := againPart{pieces: pieces}
		for _, piece := range pieces {
			if piece.Stored != nil {
				p.wanted++
			}
		}
		a.wanted += p.wanted
		a.parts = append(a.parts, p)
	}
	return a
}

// Add takes the next rows, as Writer.Add does. ErrEnough says that no more are needed.
func (a *Again) Add(ctx context.Context, batch arrow.RecordBatch) error {
	switch {
	case a.wanted == 0:
		return ErrEnough
	case int(batch.NumCols()) != a.schema.NumFields():
		return sqlerror.New("42601", "a batch has %d columns and its table has %d", batch.NumCols(), a.schema.NumFields())
	case len(a.parts) == 1:
		return a.add(ctx, &a.parts[0], batch)
	case batch.NumRows() == 0:
		return nil
	}
	buckets, err := Buckets(ctx, batch, a.schema, a.columns, len(a.parts))
	if err != nil {
		return err
	}
	rows := make([][]int32, len(a.parts))
	for row, b := range buckets {
		rows[b] = append(rows[b], int32(row))
	}
	for b, list := range rows {
		p := &a.parts[b]
		if p.wanted == 0 || len(list) == 0 {
			continue
		}
		part, err := Gather(ctx, batch, a.schema, list)
		if err != nil {
			return err
		}
		err = a.add(ctx, p, part)
		part.Release()
		if err != nil && !errors.Is(err, ErrEnough) { // there are rows of other parts
			return err
		}
	}
	if a.wanted == 0 {
		return ErrEnough
	}
	return nil
}

func (a *Again) add(ctx context.Context, p *againPart, batch arrow.RecordBatch) error {
	for first := int64(0); first < batch.NumRows() && p.wanted > 0; {
		piece := p.pieces[0] // there is one, since one is wanted
		n := min(batch.NumRows()-first, piece.Rows-p.rows)
		if piece.Stored != nil {
			p.pending = append(p.pending, batch.NewSlice(first, first+n))
		}
		first, p.rows = first+n, p.rows+n
		if p.rows < piece.Rows {
			continue
		}
		p.pieces, p.rows = p.pieces[1:], 0
		if piece.Stored == nil {
			continue
		}
		p.wanted--
		a.wanted--
		if err := a.make(ctx, p, piece); err != nil {
			return err
		}
	}
	if a.wanted == 0 {
		return ErrEnough
	}
	return nil
}

// Skip passes over rows that need not be read, as far as no chunk of theirs is wanted, and reports whether it could.
// Only rows that nothing divides can be passed over.
func (a *Again) Skip(rows int64) bool {
	if len(a.parts) != 1 {
		return false
	}
	p := &a.parts[0]
	after := p.rows + rows
	for _, piece := range p.pieces {
		if after <= 0 {
			break
		}
		if piece.Stored != nil {
			return false
		}
		after -= piece.Rows
	}
	for p.rows += rows; len(p.pieces) > 0 && p.rows >= p.pieces[0].Rows; p.pieces = p.pieces[1:] {
		p.rows -= p.pieces[0].Rows
	}
	return true
}

// make gives a chunk whose rows are there.
func (a *Again) make(ctx context.Context, p *againPart, piece Piece) error {
	w := NewWriter(Target{Schema: a.schema})
	w.pending, w.rows, p.pending = p.pending, piece.Rows, nil
	defer w.release()
	for i, f := range piece.Stored.Fields() {
		w.wide[i] = f.Type.ID() != arrow.DICTIONARY
	}
	batch, err := w.encodeIn(ctx, memory.NewGoAllocator(), func() error { return nil })
	if err != nil {
		return err
	}
	defer batch.Release()
	w.release() // they are copied
	return a.made(ctx, piece.Number, batch)
}

// Missing is how many of the chunks that are wanted have not been made.
func (a *Again) Missing() int { return a.wanted }

// Close lets go of rows of chunks that were not completed.
func (a *Again) Close() {
	for i := range a.parts {
		for _, b := range a.parts[i].pending {
			b.Release()
		}
		a.parts[i].pending = nil
	}
}

// zeroNulls writes zeros over the NULL values of an array that has no other owner yet, in its children too: chunks of
// equal rows have equal bytes (G9).
func zeroNulls(d arrow.ArrayData) {
	for _, child := range d.Children() {
		zeroNulls(child)
	}
	buffers := d.Buffers()
	if d.NullN() == 0 || len(buffers) != 2 || buffers[0] == nil || buffers[1] == nil {
		return
	}
	t, ok := d.DataType().(arrow.FixedWidthDataType)
	if _, nested := d.DataType().(arrow.NestedType); !ok || nested || d.DataType().ID() == arrow.DICTIONARY {
		return
	}
	valid, values := buffers[0].Bytes(), buffers[1].Bytes()
	if t.BitWidth() == 1 {
		for i := range (d.Len() + 7) / 8 {
			values[i] &= valid[i]
		}
		return
	}
	width := t.BitWidth() / 8
	for i := range d.Len() {
		if valid[i/8]&(1<<(i%8)) == 0 {
			clear(values[i*width : (i+1)*width])
		}
	}
}
