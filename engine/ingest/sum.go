package ingest

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Sum adds up a hash of every row: rows have the same sum in whatever order they come, however they are cut into batches and laid out (G8). For
// one goroutine.
type Sum struct {
	Rows  int64
	Total uint64
}

// Add takes the rows of a batch, as values of the schema's types. An error (0A000) says that values of some type cannot be hashed.
func (s *Sum) Add(ctx context.Context, batch arrow.RecordBatch, schema *arrow.Schema) error {
	hashes := make([]uint64, batch.NumRows())
	for i, f := range schema.Fields() {
		if err := foldValues(ctx, hashes, batch.Column(i), f.Type); err != nil {
			return err
		}
	}
	s.Rows += batch.NumRows()
	for _, h := range hashes {
		s.Total += mix(h)
	}
	return nil
}

// foldValues mixes the values of an array into hashes, nested ones too.
func foldValues(ctx context.Context, hashes []uint64, a arrow.Array, want arrow.DataType) error {
	value, release, err := anyHasher(ctx, a, want)
	if err != nil {
		return err
	}
	defer release()
	for i := range hashes {
		hashes[i] = fold(hashes[i], value(i))
	}
	return nil
}

func fold(h, v uint64) uint64 { return mix(h*0x100000001b3 ^ v) }

// anyHasher is hasher of nested types, too.
func anyHasher(ctx context.Context, a arrow.Array, want arrow.DataType) (value func(int) uint64, release func(), err error) {
	if _, nested := want.(arrow.NestedType); !nested {
		return hasher(ctx, a, want)
	}
	if !arrow.TypeEqual(a.DataType(), want) && a.DataType().ID() != want.ID() {
		return nil, nil, errType(a.DataType(), want)
	}
	var of func(int) uint64
	switch a := a.(type) {
	case *array.Struct:
		hashes := make([]uint64, a.Len())
		for k, f := range want.(*arrow.StructType).Fields() {
			if err := foldValues(ctx, hashes, a.Field(k), f.Type); err != nil {
				return nil, nil, err
			}
		}
		of = func(i int) uint64 { return hashes[i] }
	case array.ListLike: // a map is a list of structs
		values, elements := a.ListValues(), want.(arrow.ListLikeType).Elem()
		hashes := make([]uint64, values.Len())
		if err := foldValues(ctx, hashes, values, elements); err != nil {
			return nil, nil, err
		}
		of = func(i int) uint64 {
			start, end := a.ValueOffsets(i)
			h := mix(uint64(end - start))
			for _, v := range hashes[start:end] {
				h = fold(h, v)
			}
			return h
		}
	default:
		return nil, nil, failure("0A000", "values of type %s cannot be hashed", want)
	}
	return func(i int) uint64 {
		if a.IsNull(i) {
			return nullHash
		}
		return of(i)
	}, func() {}, nil
}
