package ingest

import (
	"context"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Limit is the most characters that a string of a column may have: the n of varchar(n). What is beyond them is cut if
// it is spaces, as SQL's assignment does, and 22001 otherwise.
type Limit struct {
	Column     int
	Characters int
	// Blanks at the end mean nothing, as those of char(n): they are not kept, so that values which are equal without
	// are equal.
	Blanks bool
	Type   string // for errors
}

// Fit gives the batch with its strings within the limits: the batch itself, which is retained then, unless spaces have
// to be cut. The caller releases it.
func Fit(ctx context.Context, batch arrow.RecordBatch, limits []Limit) (arrow.RecordBatch, error) {
	batch.Retain()
	for _, l := range limits {
		column, err := l.fit(ctx, batch.Column(l.Column))
		if err == nil && column != nil {
			columns := append([]arrow.Array(nil), batch.Columns()...)
			columns[l.Column] = column
			fields := batch.Schema().Fields()
			fields[l.Column].Type = column.DataType()
			cut := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows())
			column.Release()
			batch.Release()
			batch = cut
		}
		if err != nil {
			batch.Release()
			return nil, err
		}
	}
	return batch, nil
}

// Fitting gives what next gives, within limits.
func Fitting(
	next func(context.Context) (arrow.RecordBatch, error), limits []Limit,
) func(context.Context) (arrow.RecordBatch, error) {
	return func(ctx context.Context) (arrow.RecordBatch, error) {
		batch, err := next(ctx)
		if err != nil {
			return nil, err
		}
		defer batch.Release()
		return Fit(ctx, batch, limits)
	}
}

// fit gives the column with its spaces cut; nil: there is nothing to cut.
func (l Limit) fit(ctx context.Context, a arrow.Array) (arrow.Array, error) {
	c, release, err := stringCells(ctx, a, arrow.BinaryTypes.String)
	if err != nil {
		return nil, err
	}
	defer release()
	if c.words != nil && !l.anyLong(c.words) { // of a dictionary, some words may be nowhere
		return nil, nil
	}
	cut := false
	for i := range c.rows {
		if !c.valid(i) {
			continue
		}
		at := l.end(c.at(i))
		if at < 0 {
			return nil, sqlerror.New("22001", "value too long for type %s", l.Type)
		}
		cut = cut || at < len(c.at(i))
	}
	if !cut {
		return nil, nil
	}
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	for i := range c.rows {
		if !c.valid(i) {
			b.AppendNull()
			continue
		}
		v := c.at(i)
		b.BinaryBuilder.Append(v[:l.end(v)])
	}
	return b.NewArray(), nil
}

func (l Limit) anyLong(words *cells) bool {
	for i := range words.rows {
		if words.valid(i) && l.end(words.at(i)) < len(words.at(i)) {
			return true
		}
	}
	return false
}

// end is where a value ends that keeps the limit; -1: more than spaces are beyond it.
func (l Limit) end(v []byte) int {
	for l.Blanks && len(v) > 0 && v[len(v)-1] == ' ' {
		v = v[:len(v)-1]
	}
	if len(v) <= l.Characters {
		return len(v) // no character is less than a byte
	}
	at := 0
	for n := 0; n < l.Characters && at < len(v); n++ {
		_, size := utf8.DecodeRune(v[at:])
		at += size
	}
	for _, c := range v[at:] {
		if c != ' ' {
			return -1
		}
	}
	return at
}
