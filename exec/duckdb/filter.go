package duckdb

import (
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// Filter says which rows of a scan surely do not matter: those that fail it. A statement's own WHERE stays in its text,
// so a row that passes costs time and nothing else, and the scan may leave any filter unevaluated (D6): where it does
// not know the column's type, where a chunk stores the column in another layout, or where it thins out too little. A
// row that fails must really not matter: it may be missing.
//
// All parts that are set must hold. NULL passes none of them but IsNull.
type Filter struct {
	// Column is an index into Scan.Schema.
	Column int
	// Low and High are inclusive bounds on the stored value of integers, dates, times, timestamps, durations and of
	// decimals of 32 and 64 bits (unscaled).
	Low, High *int64
	// LowFloat and HighFloat are inclusive bounds on float32 and float64. NaN passes, because DuckDB sorts it last.
	LowFloat, HighFloat *float64
	// Keys must contain the stored value; types as for Low.
	Keys *KeySet
	// Keep says which values pass, of columns that are utf8 or binary in the schema. It is asked once for each value of
	// a chunk's dictionary, and not at all in a chunk that stores the column otherwise. One call at a time.
	Keep func(value string) bool
	// Words must have one that fits, in columns that are utf8 or binary in the schema. Nothing is asked of chunks that
	// store the column as utf8 or binary.
	Words []Word
	// Compare relates the value to that of column Other in the same row, as in Less: value < other. Both columns are of
	// one type; types as for Low, but only those that are signed and have 32 or 64 bits.
	Compare Comparison
	Other   int
	// NotNull and IsNull look at the validity alone.
	NotNull, IsNull bool
}

// Word is a string that fits itself, and as a Prefix all that begin with it. Like is a pattern instead: it begins with
// %, which stands for any bytes, and has no other wildcard.
type Word struct {
	Text         string
	Prefix, Like bool
}

func (w Word) fits(s string) bool {
	if w.Like {
		return like(s, w.Text)
	}
	return s == w.Text || w.Prefix && strings.HasPrefix(s, w.Text)
}

// like is words.c's like.
func like(s, pattern string) bool {
	pieces := strings.Split(pattern, "%")
	last := len(pieces) - 1
	for _, piece := range pieces[1:last] {
		_, rest, found := strings.Cut(s, piece)
		if !found {
			return false
		}
		s = rest
	}
	return strings.HasSuffix(s, pieces[last])
}

// Comparison is how Filter.Compare relates two columns.
type Comparison uint8

// The comparisons. Greater is Less with the columns exchanged.
const (
	Uncompared Comparison = iota
	Less
	LessEqual
	Equal
	NotEqual
)

// integer describes types whose stored value is an integer of at most 64 bits.
type integer struct {
	width  int // bytes
	signed bool
}

func integerOf(t arrow.DataType) (integer, bool) {
	switch t.ID() {
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64,
		arrow.TIMESTAMP, arrow.DURATION, arrow.DECIMAL32, arrow.DECIMAL64:
		return integer{t.(arrow.FixedWidthDataType).Bytes(), true}, true
	case arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64:
		return integer{t.(arrow.FixedWidthDataType).Bytes(), false}, true
	}
	return integer{}, false
}

// rangeOf turns bounds into the lowest passing value and the distance to the highest, modulo the type's width; none: no
// value of the type lies between them.
func (i integer) rangeOf(low, high *int64) (from int64, span uint64, none bool) {
	bits := uint(8 * i.width)
	least, greatest := int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits)
	if !i.signed {
		least, greatest = 0, int64(uint64(math.MaxUint64)>>(64-bits)&math.MaxInt64)
	}
	to := greatest
	from = least
	if low != nil && *low > from {
		from = *low
	}
	if high != nil && *high < to {
		to = *high
	}
	if from > to || from > greatest {
		return 0, 0, true
	}
	span = uint64(to) - uint64(from)
	if i.width == 8 && !i.signed && high == nil {
		span = math.MaxUint64 - uint64(from) // beyond what an int64 bound can say
	}
	return from, span, false
}

// comparable reports whether the scan can evaluate f.Compare.
func (s *Scan) comparable(f *Filter) bool {
	t := s.Schema.Field(f.Column).Type
	i, ok := integerOf(t)
	return ok && f.Compare != Uncompared && i.signed && i.width >= 4 && arrow.TypeEqual(t, s.Schema.Field(f.Other).Type)
}

// hasValidity reports whether arrays of the type have a validity bitmap as their first buffer.
func hasValidity(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.NULL, arrow.SPARSE_UNION, arrow.DENSE_UNION, arrow.RUN_END_ENCODED, arrow.EXTENSION:
		return false
	}
	return true
}

// filterColumns lists the columns to open: those asked for, then those that only filters look at.
func (s *Scan) filterColumns(wanted []int) []int {
	open := append([]int(nil), wanted...)
	at := positions(open)
	add := func(column int) {
		if _, found := at[column]; !found {
			at[column] = len(open)
			open = append(open, column)
		}
	}
	for i := range s.Filters {
		f := &s.Filters[i]
		add(f.Column)
		if s.comparable(f) {
			add(f.Other)
		}
	}
	return open
}

// positions maps a column's index to where it first stands.
func positions(columns []int) map[int]int {
	at := make(map[int]int, len(columns))
	for i, c := range columns {
		if _, found := at[c]; !found {
			at[c] = i
		}
	}
	return at
}

func (f *Filter) hasWord(s string) bool {
	return len(f.Words) == 0 || slices.ContainsFunc(f.Words, func(w Word) bool { return w.fits(s) })
}

// keeps returns for each value of a column's dictionary whether it passes; nil when no filter asks.
func (s *Scan) keeps(column, count int, value func(i int) string) []bool {
	var out []bool
	for _, f := range s.Filters {
		if f.Column != column || f.Keep == nil && len(f.Words) == 0 {
			continue
		}
		if out == nil {
			out = make([]bool, count)
			for i := range out {
				out[i] = true
			}
		}
		for i := range out {
			out[i] = out[i] && (f.Keep == nil || f.Keep(value(i))) && f.hasWord(value(i))
		}
	}
	return out
}
