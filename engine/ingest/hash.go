package ingest

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog"
	"github.com/csmsql/csmsql/exec/duckdb/normal"
	"github.com/csmsql/csmsql/internal/enumeration"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// Hash splits rows by the values of columns: rows with equal values go to the same space. The number of spaces decides,
// too, so that tables with the same spaces in the same order and columns of the same types have equal values on the
// same node.
type Hash struct {
	Columns []int // of the target's schema
	Spaces  []catalog.Space
}

// writers are one for each space.
func (h *Hash) writers(target Target) []*Writer {
	parts := make([]*Writer, len(h.Spaces))
	if target.HoldBytes == 0 {
		target.HoldBytes = BytesPerChunk
	}
	target.HoldBytes = max(target.HoldBytes/int64(len(parts)), 1) // all of them together
	for i := range parts {
		part := target
		part.Space, part.Next, part.Spread, part.Hash = h.Spaces[i], nil, 0, nil
		parts[i] = NewWriter(part)
	}
	return parts
}

// divide gives every row of a batch to the writer of its bucket.
func (w *Writer) divide(ctx context.Context, batch arrow.RecordBatch) error {
	if batch.NumRows() == 0 {
		return nil
	}
	buckets, err := Buckets(ctx, batch, w.target.Schema, w.target.Hash.Columns, len(w.parts))
	if err != nil {
		return err
	}
	rows := make([][]int32, len(w.parts))
	for row, b := range buckets {
		rows[b] = append(rows[b], int32(row))
	}
	for b, list := range rows {
		if len(list) == 0 {
			continue
		}
		if len(list) == len(buckets) {
			return w.parts[b].Add(ctx, batch)
		}
		part, err := Gather(ctx, batch, w.target.Schema, list)
		if err != nil {
			return err
		}
		err = w.parts[b].Add(ctx, part)
		part.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// CanHash is an error (0A000) if values of the type cannot be hashed so that equal ones have equal hashes.
func CanHash(f arrow.Field) error {
	if normal.IsOpaque(f) { // which DuckDB compares
		return sqlerror.New("0A000", "column %q of type %s cannot be hashed", f.Name, normal.TypeName(f))
	}
	switch enumeration.Stored(f.Type).ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT32, arrow.FLOAT64, arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DATE32, arrow.TIME32, arrow.TIME64,
		arrow.TIMESTAMP, arrow.STRING, arrow.BINARY, arrow.FIXED_SIZE_BINARY:
		return nil
	}
	return sqlerror.New("0A000", "column %q of type %s cannot be hashed", f.Name, f.Type)
}

// Buckets returns for every row of a batch the one of n buckets to which it belongs by its values in the columns of the
// schema, whatever layout they have in the batch.
func Buckets(ctx context.Context, batch arrow.RecordBatch, schema *arrow.Schema, columns []int,
	n int) ([]int32, error) {
	hashes := make([]uint64, batch.NumRows())
	for _, c := range columns {
		if err := hashColumn(ctx, hashes, batch.Column(c), schema.Field(c)); err != nil {
			return nil, fmt.Errorf("column %q: %w", schema.Field(c).Name, err)
		}
	}
	buckets := make([]int32, len(hashes))
	for i, h := range hashes {
		high, _ := bits.Mul64(h, uint64(n))
		buckets[i] = int32(high)
	}
	return buckets, nil
}

// The numbers below are part of the format (G8): rows of stored tables lie where they say.
const (
	nullHash  = 0x9ae16a3b2f90404f
	trueHash  = 0xc3a5c85c97cb3127
	falseHash = 0xb492b66fbe98f273
)

// mix is splitmix64's finalizer.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hashColumn mixes the values of a column into the rows' hashes.
func hashColumn(ctx context.Context, hashes []uint64, a arrow.Array, f arrow.Field) error {
	if err := CanHash(f); err != nil {
		return err
	}
	value, release, err := hasher(ctx, a, enumeration.Stored(f.Type))
	if err != nil {
		return err
	}
	defer release()
	for i := range hashes {
		hashes[i] = mix(hashes[i]*0x100000001b3 ^ value(i))
	}
	return nil
}

// hasher gives the hash of one row's value as one of the wanted type, which is what it will be stored as.
func hasher(ctx context.Context, a arrow.Array,
	want arrow.DataType) (value func(int) uint64, release func(), err error) {
	if kindOf(want) != notString {
		c, release, err := stringCells(ctx, a, want)
		if err != nil {
			return nil, nil, err
		}
		return func(i int) uint64 {
			if !c.valid(i) {
				return nullHash
			}
			return xxh3.Hash(c.at(i))
		}, release, nil
	}
	same, err := convert(ctx, a, want)
	if err != nil {
		return nil, nil, err
	}
	bits, err := valueBits(same)
	if err != nil {
		same.Release()
		return nil, nil, err
	}
	return func(i int) uint64 {
		if same.IsNull(i) {
			return nullHash
		}
		return bits(i)
	}, same.Release, nil
}

// valueBits gives the hash of a value that is not NULL. Integers have the hash of their value whatever their width is.
func valueBits(a arrow.Array) (func(int) uint64, error) {
	switch a := a.(type) {
	case *array.Boolean:
		return func(i int) uint64 {
			if a.Value(i) {
				return trueHash
			}
			return falseHash
		}, nil
	case *array.Int8:
		return integers(a.Int8Values()), nil
	case *array.Int16:
		return integers(a.Int16Values()), nil
	case *array.Int32:
		return integers(a.Int32Values()), nil
	case *array.Int64:
		return integers(a.Int64Values()), nil
	case *array.Uint8:
		return integers(a.Uint8Values()), nil
	case *array.Uint16:
		return integers(a.Uint16Values()), nil
	case *array.Uint32:
		return integers(a.Uint32Values()), nil
	case *array.Uint64:
		return integers(a.Uint64Values()), nil
	case *array.Date32:
		return integers(a.Date32Values()), nil
	case *array.Time32:
		return integers(a.Time32Values()), nil
	case *array.Time64:
		return integers(a.Time64Values()), nil
	case *array.Timestamp:
		return integers(a.TimestampValues()), nil
	case *array.Decimal32:
		return integers(a.Values()), nil
	case *array.Decimal64:
		return integers(a.Values()), nil
	case *array.Decimal128:
		return func(i int) uint64 {
			v := a.Value(i)
			low := v.LowBits()
			if v.HighBits() == int64(low)>>63 { // the same as of the narrow layout
				return mix(low)
			}
			return mix(mix(low) ^ uint64(v.HighBits()))
		}, nil
	case *array.Float32:
		return func(i int) uint64 { return floatHash(float64(a.Value(i))) }, nil
	case *array.Float64:
		return func(i int) uint64 { return floatHash(a.Value(i)) }, nil
	case *array.FixedSizeBinary:
		return func(i int) uint64 { return xxh3.Hash(a.Value(i)) }, nil
	}
	return nil, sqlerror.New("0A000", "values of type %s cannot be hashed", a.DataType())
}

func integers[T interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}](values []T) func(int) uint64 {
	return func(i int) uint64 { return mix(uint64(values[i])) }
}

func floatHash(v float64) uint64 {
	switch {
	case v == 0:
		v = 0 // -0
	case math.IsNaN(v):
		v = math.NaN()
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
	return xxh3.Hash(b[:])
}
