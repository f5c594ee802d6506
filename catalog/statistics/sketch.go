package statistics

import (
	"math"
	"math/bits"
)

// SketchBytes is the size of a sketch: one register per byte.
const SketchBytes = 256

// Sketch is a HyperLogLog of 256 registers (standard error 6.5 %), or nil for a column that is not counted. Sketches of
// parts merge into the sketch of the whole, which counts alone do not.
type Sketch []byte

// NewSketch returns an empty sketch.
func NewSketch() Sketch { return make(Sketch, SketchBytes) }

// add counts one hash, which must be well mixed.
func (s Sketch) add(hash uint64) {
	index := hash >> 56
	rank := byte(bits.LeadingZeros64(hash<<8|1)) + 1
	if s[index] < rank {
		s[index] = rank
	}
}

// limit is the greatest hash<<8 that can still raise a register: one with a rank above the lowest.
func (s Sketch) limit() uint64 {
	lowest := byte(math.MaxUint8)
	for _, r := range s {
		lowest = min(lowest, r)
	}
	return math.MaxUint64 >> lowest // lowest zeros in front are rank lowest+1
}

// Merge makes s the sketch of the union. A nil or foreign operand leaves nothing to count: the result is nil.
func Merge(a, b Sketch) Sketch {
	if len(a) != SketchBytes || len(b) != SketchBytes {
		return nil
	}
	merged := NewSketch()
	for i := range merged {
		merged[i] = max(a[i], b[i])
	}
	return merged
}

// Pack writes a sketch in few bytes: of one of few values the registers that are not zero, of another one all of them
// as half bytes above the lowest, and those that do not fit in one.
//
//	few:  0 │ register, rank │ register, rank │ …
//	many: 1 │ lowest │ 128 bytes: registers 0 and 1, 2 and 3, … │ register, rank │ …
func (s Sketch) Pack() []byte {
	lowest, filled := byte(math.MaxUint8), 0
	for _, r := range s {
		lowest = min(lowest, r)
		if r > 0 {
			filled++
		}
	}
	if 2*filled <= SketchBytes/2 {
		packed := []byte{packedFew}
		for i, r := range s {
			if r > 0 {
				packed = append(packed, byte(i), r)
			}
		}
		return packed
	}
	packed := append(make([]byte, 0, SketchBytes), packedMany, lowest)
	packed = append(packed, make([]byte, SketchBytes/2)...)
	for i, r := range s {
		above := min(r-lowest, packedAbove)
		packed[2+i/2] |= above << (4 * (i % 2))
		if above == packedAbove {
			packed = append(packed, byte(i), r)
		}
	}
	return packed
}

const (
	packedFew, packedMany = 0, 1
	packedAbove           = 15 // more than what a half byte says: the rank follows
)

// Unpack is the inverse of Pack, nil for what Pack does not write.
func Unpack(packed []byte) Sketch {
	if len(packed) == 0 {
		return nil
	}
	s, rest := NewSketch(), packed[1:]
	switch packed[0] {
	case packedFew:
	case packedMany:
		if len(rest) < 1+SketchBytes/2 {
			return nil
		}
		for i := range s {
			s[i] = rest[0] + rest[1+i/2]>>(4*(i%2))&packedAbove
		}
		rest = rest[1+SketchBytes/2:]
	default:
		return nil
	}
	if len(rest)%2 != 0 {
		return nil
	}
	for ; len(rest) > 0; rest = rest[2:] {
		s[rest[0]] = rest[1]
	}
	return s
}

// Estimate is the number of distinct values, zero for a nil sketch.
func (s Sketch) Estimate() int64 {
	if len(s) != SketchBytes {
		return 0
	}
	const m = float64(SketchBytes)
	sum, empty := 0.0, 0
	for _, r := range s {
		sum += math.Float64frombits((1023 - uint64(r)) << 52) // 2^-r, which Ldexp takes long for
		if r == 0 {
			empty++
		}
	}
	estimate := 0.7213 / (1 + 1.079/m) * m * m / sum
	if estimate <= 2.5*m && empty > 0 { // few values: count the empty registers instead
		estimate = m * math.Log(m/float64(empty))
	}
	return int64(math.Round(estimate))
}
