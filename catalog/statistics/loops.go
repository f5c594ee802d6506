package statistics

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/zeebo/xxh3"

	"github.com/csmsql/csmsql/catalog/descriptor"
)

// This file has the loops that see every value of every column once: what sealing costs is here. Targets: with the
// checksum 2 GB/s and core for fixed-width columns.

type signedInteger interface {
	~int8 | ~int16 | ~int32 | ~int64
}

type unsignedInteger interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

// narrow measures a column of bytes without nulls in one pass: a table of all 256 values knows bounds and count. bias
// makes signed bytes ascend.
func narrow(m *measurement, values []byte, bias byte, value func(byte) descriptor.Value) {
	m.exact(len(values) > 0)
	var seen [256]bool
	for _, v := range values {
		seen[v] = true
	}
	for i := range 256 {
		v := byte(i) ^ bias
		if !seen[v] {
			continue
		}
		bound := value(v)
		if m.Distinct == 0 {
			m.Min = bound
		}
		m.Max = bound
		m.Distinct++
		m.Sketch.add(mix(bound.Uint())) // the same hash as the wider types'
	}
}

// mix spreads a value over 64 bits. One folded product alone leaves the top bits of equidistant values too regular.
func mix(v uint64) uint64 {
	high, low := bits.Mul64(v^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return (high ^ low) * 0xa0761d6478bd642f
}

func integers[T signedInteger](m *measurement, a arrow.Array, values []T) {
	low, high, some := bounds(m, a, values)
	if some {
		m.Min, m.Max = descriptor.IntOf(int64(low)), descriptor.IntOf(int64(high))
	}
	m.exact(some)
	distinct(m, a, values, low, uint64(int64(high))-uint64(int64(low)))
}

func unsigned[T unsignedInteger](m *measurement, a arrow.Array, values []T) {
	low, high, some := bounds(m, a, values)
	if some {
		m.Min, m.Max = descriptor.UintOf(uint64(low)), descriptor.UintOf(uint64(high))
	}
	m.exact(some)
	distinct(m, a, values, low, uint64(high)-uint64(low))
}

func (m *measurement) exact(some bool) {
	m.MinExact, m.MaxExact = some, some
	m.Sketch = NewSketch()
}

// bounds runs two chains of comparisons, so that one does not wait for the other.
func bounds[T signedInteger | unsignedInteger](m *measurement, a arrow.Array, values []T) (low, high T, some bool) {
	if !m.dense(a) {
		return sparseBounds(m, a, values)
	}
	if len(values) == 0 {
		return 0, 0, false
	}
	low, high = values[0], values[0]
	low2, high2 := low, high
	i := 0
	for ; i+1 < len(values); i += 2 {
		v, w := values[i], values[i+1]
		low, high = min(low, v), max(high, v)
		low2, high2 = min(low2, w), max(high2, w)
	}
	if i < len(values) {
		low, high = min(low, values[i]), max(high, values[i])
	}
	return min(low, low2), max(high, high2), true
}

func sparseBounds[T signedInteger | unsignedInteger](m *measurement, a arrow.Array,
	values []T) (low, high T, some bool) {
	for i, v := range values {
		switch {
		case !m.counts(a, i):
		case !some:
			low, high, some = v, v, true
		default:
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high, some
}

// denseRange is the greatest span of values that are counted exactly, one byte for each possible value.
const denseRange = 1 << 16

func distinct[T signedInteger | unsignedInteger](m *measurement, a arrow.Array, values []T, low T, span uint64) {
	if span >= denseRange {
		sketchIntegers(m, a, values)
		return
	}
	seen := make([]bool, span+1)
	base := uint64(low)
	if m.dense(a) {
		for _, v := range values {
			seen[uint64(v)-base] = true
		}
	} else {
		for i, v := range values {
			if m.counts(a, i) {
				seen[uint64(v)-base] = true
			}
		}
	}
	for i, in := range seen {
		if in {
			m.Distinct++
			m.Sketch.add(mix(base + uint64(i)))
		}
	}
}

// sketchBlock is how many values are hashed before sketchIntegers looks again which ones can still matter.
const sketchBlock = 2048

func sketchIntegers[T signedInteger | unsignedInteger](m *measurement, a arrow.Array, values []T) {
	if !m.dense(a) {
		for i, v := range values {
			if m.counts(a, i) {
				m.Sketch.add(mix(uint64(v)))
			}
		}
		return
	}
	for len(values) > 0 {
		block := values[:min(sketchBlock, len(values))]
		values = values[len(block):]
		// A hash whose rank is not above the lowest register changes nothing; after a few blocks that is nearly every
		// one, and one comparison decides.
		limit := m.Sketch.limit()
		for _, v := range block {
			if hash := mix(uint64(v)); hash<<8 <= limit {
				m.Sketch.add(hash)
			}
		}
	}
}

func floats[T ~float32 | ~float64](m *measurement, a arrow.Array, values []T) {
	m.exact(true)
	low, high := math.Inf(1), math.Inf(-1)
	dense, some, limit := m.dense(a), false, uint64(math.MaxUint64)
	for i, x := range values {
		if !dense && !m.counts(a, i) {
			continue
		}
		v := float64(x)
		if v != v {
			m.HasNaN = true
			continue
		}
		some = true
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
		if hash := mix(math.Float64bits(v + 0)); hash<<8 <= limit { // +0 makes both zeros one
			m.Sketch.add(hash)
		}
		if i%sketchBlock == 0 {
			limit = m.Sketch.limit()
		}
	}
	if m.HasNaN {
		m.Sketch.add(mix(math.Float64bits(math.NaN())))
	}
	if some {
		m.Min, m.Max = descriptor.FloatOf(low), descriptor.FloatOf(high)
	}
}

func halves(m *measurement, a *array.Float16) {
	values := make([]float32, a.Len())
	for i := range values {
		values[i] = a.Value(i).Float32()
	}
	floats(m, a, values)
}

func decimals(m *measurement, a arrow.Array, value func(int) decimal256.Num) {
	m.exact(true)
	var low, high decimal256.Num
	some := false
	for i := range a.Len() {
		if !m.counts(a, i) {
			continue
		}
		v := value(i)
		switch {
		case !some:
			low, high, some = v, v, true
		case v.Less(low):
			low = v
		case high.Less(v):
			high = v
		}
		words := v.Array()
		m.Sketch.add(mix(words[0] ^ mix(words[1]^mix(words[2]^mix(words[3])))))
	}
	if some {
		m.Min, m.Max = descriptor.DecimalOf(low), descriptor.DecimalOf(high)
	}
}

func booleans(m *measurement, a *array.Boolean) {
	m.exact(true)
	var have [2]bool
	for i := range a.Len() {
		if m.counts(a, i) {
			bit := 0
			if a.Value(i) {
				bit = 1
			}
			have[bit] = true
		}
	}
	for bit, in := range have {
		if !in {
			continue
		}
		v := descriptor.IntOf(int64(bit))
		if !m.Min.Known() {
			m.Min = v
		}
		m.Max = v
		m.Distinct++
		m.Sketch.add(mix(uint64(bit)))
	}
}

// texts measures strings (text) and other bytes. The strings are only looked at while the loop runs.
func texts(m *measurement, a arrow.Array, text bool, value func(int) string) {
	m.exact(true)
	var low, high, last string
	some := false
	for i := range a.Len() {
		if !m.counts(a, i) {
			continue
		}
		v := value(i)
		if some && v == last {
			continue
		}
		switch last = v; {
		case !some:
			low, high, some = v, v, true
		case v < low:
			low = v
		case v > high:
			high = v
		}
		m.Sketch.add(xxh3.HashString(v))
	}
	if some {
		m.Min, m.MinExact = lowerBound(low, text)
		m.Max, m.MaxExact = upperBound(high, text)
	}
}
