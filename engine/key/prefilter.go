package key

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// A statement that writes few rows compares their keys with those of the whole table. Where the first column of a key
// holds integers, most rows are left out without a digest: a prefilter has a bit for each hash of the few's values.
//
//	few rows ─► bits ─┐
//	many rows ────────┴─► candidates ─► digests ─► duplicates

// prefilter finds integers that are certainly none of those that were added: a Bloom filter with one hash.
type prefilter struct {
	bits        []uint64
	shift       int
	least, most int64 // of those that were added; none yet: least > most
}

// bitsPerRow makes one of sixteen of the rows that are no duplicates a candidate, at most.
const bitsPerRow = 16

func newPrefilter(rows int64) *prefilter {
	width := max(10, bits.Len64(uint64(max(rows, 1))*bitsPerRow-1))
	return &prefilter{make([]uint64, 1<<(width-6)), 64 - width, math.MaxInt64, math.MinInt64}
}

// place is of the bit of an integer: Fibonacci hashing, Knuth, The Art of Computer Programming 3, 6.4.
func (f *prefilter) place(v uint64) uint64 { return v * 0x9e3779b97f4a7c15 >> f.shift }

// integerColumn is a column of integers, whatever their width; equal ones are equal as 64 bits.
type integerColumn interface {
	write(to []byte, row int) []byte
	add(f *prefilter, row int)
	next(f *prefilter, row int) int // the first candidate from row on
}

type integers[T interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}] []T

func (c integers[T]) write(to []byte, row int) []byte {
	return binary.LittleEndian.AppendUint64(to, uint64(c[row]))
}

func (c integers[T]) add(f *prefilter, row int) {
	v := int64(c[row])
	f.least, f.most = min(f.least, v), max(f.most, v)
	at := f.place(uint64(v))
	f.bits[at>>6] |= 1 << (at & 63)
}

func (c integers[T]) next(f *prefilter, row int) int {
	if f.least > f.most {
		return len(c)
	}
	least, width := uint64(f.least), uint64(f.most)-uint64(f.least)
	for ; row < len(c); row++ {
		if uint64(c[row])-least > width { // of the few most are far away
			continue
		}
		if at := f.place(uint64(c[row])); f.bits[at>>6]&(1<<(at&63)) != 0 {
			break
		}
	}
	return row
}

// integersOf is nil if a column's values are written as something else.
func integersOf(a arrow.Array) integerColumn {
	switch a := a.(type) {
	case *array.Int8:
		return integers[int8](a.Int8Values())
	case *array.Int16:
		return integers[int16](a.Int16Values())
	case *array.Int32:
		return integers[int32](a.Int32Values())
	case *array.Int64:
		return integers[int64](a.Int64Values())
	case *array.Uint8:
		return integers[uint8](a.Uint8Values())
	case *array.Uint16:
		return integers[uint16](a.Uint16Values())
	case *array.Uint32:
		return integers[uint32](a.Uint32Values())
	case *array.Uint64:
		return integers[uint64](a.Uint64Values())
	case *array.Date32:
		return integers[arrow.Date32](a.Date32Values())
	case *array.Time32:
		return integers[arrow.Time32](a.Time32Values())
	case *array.Time64:
		return integers[arrow.Time64](a.Time64Values())
	case *array.Timestamp:
		return integers[arrow.Timestamp](a.TimestampValues())
	}
	return nil
}
