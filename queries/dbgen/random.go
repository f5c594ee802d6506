package dbgen

// The generator of random numbers is Park and Miller's "minimal standard"
// (CACM, October 1988): seed' = seed * 16807 mod (2^31 - 1). The modulus is a
// Mersenne prime, so the division folds into a mask, a shift and an addition,
// and a stream can be advanced by n steps with one exponentiation (D2).
const (
	modulus    = 1<<31 - 1
	multiplier = 16807

	// exactSpanMax is the largest span for which the integer form of the
	// uniform draw equals the official floating point form; see uniform.
	exactSpanMax = 1 << 21
)

// stream is the state of one column's random numbers. A stream is never 0 and
// never a multiple of the modulus, which keeps multiplyMod free of corrections.
type stream uint64

// multiplyMod returns a*b mod (2^31-1).
// Preconditions: 0 < a, b < 2^31-1.
//
// Two folds suffice: the first leaves at most 2*modulus, the second at most
// modulus, and modulus itself cannot occur because the product of two numbers
// that the prime does not divide is not divided by it either.
func multiplyMod(a, b uint64) uint64 {
	product := a * b
	product = product&modulus + product>>31
	return product&modulus + product>>31
}

// powerOfMultiplier returns 16807^exponent mod (2^31-1).
func powerOfMultiplier(exponent int64) uint64 {
	result, base := uint64(1), uint64(multiplier)
	for ; exponent > 0; exponent >>= 1 {
		if exponent&1 == 1 {
			result = multiplyMod(result, base)
		}
		base = multiplyMod(base, base)
	}
	return result
}

// Powers of the multiplier that step a stream by a small fixed distance, so
// that the draws of one order do not wait for one another.
const (
	multiplier2 = multiplier * multiplier % modulus
	multiplier3 = multiplier2 * multiplier % modulus
	multiplier4 = multiplier3 * multiplier % modulus
	multiplier5 = multiplier4 * multiplier % modulus
	multiplier6 = multiplier5 * multiplier % modulus
	multiplier7 = multiplier6 * multiplier % modulus
	// multiplier14 steps over the seven lines of an order in a stream that
	// spends two draws per line.
	multiplier14 = multiplier7 * multiplier7 % modulus
)

// after returns the stream advanced by draws steps, in O(log draws).
func (s stream) after(draws int64) stream {
	return stream(multiplyMod(uint64(s), powerOfMultiplier(draws)))
}

// next returns the stream advanced by one step.
func (s stream) next() stream {
	return stream(multiplyMod(uint64(s), multiplier))
}

// uniform maps a stream's value to 0 … span-1.
// Preconditions: 0 < span ≤ exactSpanMax.
//
// The official form is trunc(double(seed)/2147483647.0 * double(span)). Its
// two roundings change the product t = seed*span/modulus by less than t/2^52,
// and t is at least 1/modulus away from every integer; hence below 2^21 both
// forms give the same integer (D3). With p = seed*span = q*2^31 + r, which is
// q*modulus + q + r, floor(p/modulus) is q plus 1 if q+r passes the modulus
// (it cannot equal it, p being no multiple of the modulus): no division.
func uniform(seed, span uint64) uint64 {
	product := seed * span
	return (product + product>>31) >> 31
}

// uniformWide maps a stream's value to 0 … span-1 for any span, in the
// official floating point form.
func uniformWide(seed, span uint64) uint64 {
	return uint64(float64(seed) / float64(modulus) * float64(span))
}

// bounds is a closed interval of integers to draw from.
type bounds struct {
	low  int64
	span uint64
}

func between(low, high int64) bounds {
	return bounds{low: low, span: uint64(high - low + 1)}
}

// draw returns the value that the stream's present seed selects.
func (b bounds) draw(s stream) int64 {
	if b.span <= exactSpanMax {
		return b.low + int64(uniform(uint64(s), b.span))
	}
	return b.low + int64(uniformWide(uint64(s), b.span))
}

// drawEach fills target with successive draws, one per element, and leaves the
// stream where it was: callers keep streams by value.
func drawEach(target []int64, s stream, b bounds) {
	if b.span > exactSpanMax {
		for i := range target {
			s = s.next()
			target[i] = b.low + int64(uniformWide(uint64(s), b.span))
		}
		return
	}
	for i := range target {
		s = s.next()
		target[i] = b.low + int64(uniform(uint64(s), b.span))
	}
}
