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

// Estimate is the number of distinct values, zero for a nil sketch.
func (s Sketch) Estimate() int64 {
	if len(s) != SketchBytes {
		return 0
	}
	const m = float64(SketchBytes)
	sum, empty := 0.0, 0
	for _, r := range s {
		sum += math.Ldexp(1, -int(r))
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
