package conform

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// TextSchema is one column of text.
func TextSchema(name string) *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
}

// Texts are lines under one column name.
func Texts(name string, lines []string) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, TextSchema(name))
	defer b.Release()
	for _, line := range lines {
		b.Field(0).(*array.StringBuilder).Append(line)
	}
	return b.NewRecordBatch()
}

// SameTypes compares columns by type, whatever they are called.
func SameTypes(a, b *arrow.Schema) bool {
	same := func(x, y arrow.Field) bool { return arrow.TypeEqual(x.Type, y.Type) }
	return slices.EqualFunc(a.Fields(), b.Fields(), same)
}

// Once gives one batch, then io.EOF.
func Once(batch arrow.RecordBatch) func(context.Context) (arrow.RecordBatch, error) {
	return func(context.Context) (arrow.RecordBatch, error) {
		if batch == nil {
			return nil, io.EOF
		}
		b := batch
		batch = nil
		return b, nil
	}
}

// Ahead fetches the first batch. next gives that, then what fetch does; drop releases it if it was not taken.
func Ahead(ctx context.Context, fetch func(context.Context) (arrow.RecordBatch, error)) (
	next func(context.Context) (arrow.RecordBatch, error), drop func(), err error) {
	first, end := fetch(ctx)
	if end != nil && end != io.EOF {
		return nil, nil, end
	}
	taken := false
	next = func(ctx context.Context) (arrow.RecordBatch, error) {
		if taken && end == nil {
			return fetch(ctx)
		}
		taken = true
		return first, end
	}
	drop = func() {
		if !taken && first != nil {
			first.Release()
		}
		taken = true
	}
	return next, drop, nil
}

// AllLines are those of batches up to io.EOF, which are released.
func AllLines(next func() (arrow.RecordBatch, error)) (lines []string, err error) {
	for {
		batch, err := next()
		if errors.Is(err, io.EOF) {
			return lines, nil
		}
		if err != nil {
			return nil, err
		}
		lines = append(lines, Lines(batch)...)
		batch.Release()
	}
}

// Lines are the lines of text in a batch's last column.
func Lines(batch arrow.RecordBatch) (lines []string) {
	for i := range int(batch.NumRows()) {
		text := strings.Clone(batch.Column(int(batch.NumCols()) - 1).ValueStr(i))
		lines = append(lines, strings.Split(strings.TrimRight(text, "\n"), "\n")...)
	}
	return lines
}
