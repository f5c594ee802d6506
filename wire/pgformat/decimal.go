package pgformat

import "math/bits"

// wide is an unsigned integer of 256 bits, least significant limb first: the magnitude of any Arrow decimal.
type wide [4]uint64

// wideOf64 takes the magnitude of a 64-bit integer.
func wideOf64(v int64) (magnitude wide, negative bool) {
	if v < 0 {
		return wide{-uint64(v)}, true
	}
	return wide{uint64(v)}, false
}

// wideOf takes the magnitude of a two's complement number.
func wideOf(limbs wide) (magnitude wide, negative bool) {
	if int64(limbs[3]) >= 0 {
		return limbs, false
	}
	var carry uint64 = 1
	for i := range limbs {
		limbs[i], carry = bits.Add64(^limbs[i], 0, carry)
	}
	return limbs, true
}

// divide19 divides in place by 10^19, the largest power of ten in a limb, and returns the remainder.
func (w *wide) divide19() (remainder uint64) {
	for i := 3; i >= 0; i-- {
		if w[i] != 0 || remainder != 0 {
			w[i], remainder = bits.Div64(remainder, w[i], powersOf10[19])
		}
	}
	return remainder
}

func (w *wide) fits64() bool { return w[1]|w[2]|w[3] == 0 }

// decimalDigitsMax holds the digits of 2^256.
const decimalDigitsMax = 78

// appendMagnitude appends the digits of w, without sign or point.
func appendMagnitude(dst []byte, w wide) []byte {
	var chunks [5]uint64
	count := 0
	for !w.fits64() || w[0] >= powersOf10[19] {
		chunks[count] = w.divide19()
		count++
	}
	dst = appendUint(dst, w[0])
	for count--; count >= 0; count-- {
		dst = appendDigits(dst, chunks[count], 19)
	}
	return dst
}

// appendDecimal64 appends unscaled / 10^scale with exactly scale digits after the point.
func appendDecimal64(dst []byte, unscaled int64, scale int32) []byte {
	magnitude := uint64(unscaled)
	if unscaled < 0 {
		dst = append(dst, '-')
		magnitude = -magnitude
	}
	if scale == 0 {
		return appendUint(dst, magnitude)
	}
	if scale < 0 || scale > 19 {
		return appendPoint(dst, wide{magnitude}, scale)
	}
	// Digits first, point last: one number is split with no division beyond those of its digits.
	count := max(digitsOf(magnitude), int(scale)+1)
	if count > 20 {
		return appendPoint(dst, wide{magnitude}, scale)
	}
	dst = appendDigits(dst, magnitude, count)
	dst = append(dst, 0)
	point := len(dst) - 1 - int(scale)
	copy(dst[point+1:], dst[point:len(dst)-1])
	dst[point] = '.'
	return dst
}

// appendDecimal appends any decimal.
func appendDecimal(dst []byte, magnitude wide, negative bool, scale int32) []byte {
	if negative {
		dst = append(dst, '-')
	}
	if scale == 0 {
		return appendMagnitude(dst, magnitude)
	}
	return appendPoint(dst, magnitude, scale)
}

// appendPoint is the general case: scales of either sign and any size.
func appendPoint(dst []byte, magnitude wide, scale int32) []byte {
	var room [decimalDigitsMax + len(blankDigits)]byte
	digits := appendMagnitude(room[:0], magnitude)
	if scale < 0 {
		dst = append(dst, digits...)
		if magnitude != (wide{}) {
			dst = appendZeros(dst, int(-scale))
		}
		return dst
	}
	whole := len(digits) - int(scale)
	if whole <= 0 {
		dst = append(dst, '0', '.')
		dst = appendZeros(dst, -whole)
		return append(dst, digits...)
	}
	dst = append(dst, digits[:whole]...)
	dst = append(dst, '.')
	return append(dst, digits[whole:]...)
}

func appendZeros(dst []byte, count int) []byte {
	for ; count > 0; count-- {
		dst = append(dst, '0')
	}
	return dst
}
