package ingest

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Sum adds up a hash of every row: rows have the same sum in whatever order they come, however they are cut into
// batches and laid out (G8). For one goroutine.
type Sum struct {
	Rows  int64
	Total uint64
	// Unknown: there were values that have no hash, and the rest says nothing.
	Unknown bool
}

// sumRows is how many rows are hashed at once: what that takes stays in the processor's cache, however long a batch is.
const sumRows = 8192

// Add takes the rows of a batch, as values of the schema's types. An error (0A000) says that values of some type cannot
// be hashed.
func (s *Sum) Add(ctx context.Context, batch arrow.RecordBatch, schema *arrow.Schema) error {
	added, hashes := *s, make([]uint64, min(batch.NumRows(), sumRows))
	for at := int64(0); at < batch.NumRows(); at += sumRows {
		run := batch.NewSlice(at, min(at+sumRows, batch.NumRows()))
		err := added.addRun(ctx, hashes[:run.NumRows()], run, schema)
		run.Release()
		if err != nil {
			return err
		}
	}
	*s = added
	return nil
}

// addRun hashes rows into hashes, which it clears.
func (s *Sum) addRun(ctx context.Context, hashes []uint64, run arrow.RecordBatch, schema *arrow.Schema) error {
	clear(hashes)
	for i, f := range schema.Fields() {
		if err := foldValues(ctx, hashes, run.Column(i), f.Type); err != nil {
			return err
		}
	}
	s.Rows += run.NumRows()
	for _, h := range hashes {
		s.Total += mix(h)
	}
	return nil
}

// foldValues mixes the values of an array into hashes, nested ones too.
func foldValues(ctx context.Context, hashes []uint64, a arrow.Array, want arrow.DataType) error {
	if t, ok := want.(*enumeration.Type); ok {
		codes, err := codesOf(a, t)
		if err != nil {
			return err
		}
		defer codes.Release()
		a, want = codes, t.StorageType()
	}
	switch a := a.(type) {
	case *array.Dictionary:
		if foldCodes(hashes, a, want) {
			return nil
		}
	case *array.StringView:
		if kindOf(want) == text {
			foldViews(hashes, a)
			return nil
		}
	default:
		if a.NullN() == 0 && foldNumbers(hashes, a, want) {
			return nil
		}
	}
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

// foldNumbers is foldValues of what most columns are, without NULLs; false: this is something else.
func foldNumbers(hashes []uint64, a arrow.Array, want arrow.DataType) bool {
	same := arrow.TypeEqual(a.DataType(), want)
	switch a := a.(type) {
	case *array.Int32:
		return same && foldIntegers(hashes, a.Int32Values())
	case *array.Int64:
		return same && foldIntegers(hashes, a.Int64Values())
	case *array.Date32:
		return same && foldIntegers(hashes, a.Date32Values())
	case *array.Timestamp:
		return same && foldIntegers(hashes, a.TimestampValues())
	case *array.Decimal64:
		return same && foldIntegers(hashes, a.Values())
	case *array.Decimal128: // what DuckDB sends, also for decimal64
		t, ok := want.(arrow.DecimalType)
		if !ok || t.GetScale() != a.DataType().(arrow.DecimalType).GetScale() {
			return false
		}
		for i, v := range a.Values()[:len(hashes)] {
			low := v.LowBits()
			h := mix(low)
			if v.HighBits() != int64(low)>>63 {
				h = mix(h ^ uint64(v.HighBits()))
			}
			hashes[i] = fold(hashes[i], h)
		}
		return true
	}
	return false
}

// foldCodes is foldValues of strings as a Writer lays few of them out; false: it did not.
func foldCodes(hashes []uint64, a *array.Dictionary, want arrow.DataType) bool {
	words, ok := a.Dictionary().(*array.String)
	codes, narrow := a.Indices().(*array.Uint8)
	if !ok || !narrow || kindOf(want) != text || words.NullN() > 0 {
		return false
	}
	var of [256]uint64
	for i := range min(words.Len(), len(of)) {
		of[i] = xxh3.HashString(words.Value(i))
	}
	nulls := a.NullN() > 0
	for i, code := range codes.Uint8Values()[:len(hashes)] {
		v := of[code]
		if nulls && a.IsNull(i) {
			v = nullHash
		}
		hashes[i] = fold(hashes[i], v)
	}
	return true
}

// foldViews is foldValues of strings as a Writer lays many of them out.
func foldViews(hashes []uint64, a *array.StringView) {
	nulls := a.NullN() > 0
	for i := range hashes {
		v := uint64(nullHash)
		if !nulls || a.IsValid(i) {
			v = xxh3.HashString(a.Value(i))
		}
		hashes[i] = fold(hashes[i], v)
	}
}

func foldIntegers[T ~int32 | ~int64](hashes []uint64, values []T) bool {
	for i, v := range values[:len(hashes)] {
		hashes[i] = fold(hashes[i], mix(uint64(v)))
	}
	return true
}

func fold(h, v uint64) uint64 { return mix(h*0x100000001b3 ^ v) }

// anyHasher is hasher of nested types, too.
func anyHasher(ctx context.Context, a arrow.Array,
	want arrow.DataType) (value func(int) uint64, release func(), err error) {
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
		return nil, nil, sqlerror.New("0A000", "values of type %s cannot be hashed", want)
	}
	return func(i int) uint64 {
		if a.IsNull(i) {
			return nullHash
		}
		return of(i)
	}, func() {}, nil
}
