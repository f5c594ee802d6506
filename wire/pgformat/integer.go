package pgformat

import "math/bits"

// digitPairs holds "00" to "99": two digits are written per division.
const digitPairs = "00010203040506070809" +
	"10111213141516171819" +
	"20212223242526272829" +
	"30313233343536373839" +
	"40414243444546474849" +
	"50515253545556575859" +
	"60616263646566676869" +
	"70717273747576777879" +
	"80818283848586878889" +
	"90919293949596979899"

// powersOf10 holds every power that fits in 64 bits.
var powersOf10 = [20]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// digitsOf counts decimal digits; 0 has one. 1233/4096 is log10(2) closely enough for 64 bits.
func digitsOf(v uint64) int {
	guess := bits.Len64(v|1) * 1233 >> 12
	if guess < 20 && (v|1) >= powersOf10[guess] {
		guess++
	}
	return guess
}

// appendInt appends v in decimal.
func appendInt(dst []byte, v int64) []byte {
	magnitude := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		magnitude = -magnitude
	}
	return appendUint(dst, magnitude)
}

func appendUint(dst []byte, v uint64) []byte {
	if v < 10 {
		return append(dst, '0'+byte(v))
	}
	if v < 100 {
		return append(dst, digitPairs[2*v], digitPairs[2*v+1])
	}
	return appendDigits(dst, v, digitsOf(v))
}

// blankDigits is what appendDigits appends before it fills in; no number here is wider.
const blankDigits = "00000000000000000000"

// appendDigits appends the lowest count digits of v (count ≤ 20), zeros in front.
func appendDigits(dst []byte, v uint64, count int) []byte {
	start := len(dst)
	// Always 20 bytes and then fewer again: a copy of a fixed size is three instructions, one of a variable size a
	// call.
	dst = append(dst, blankDigits...)[:start+count]
	putDigits(dst[start:], v)
	return dst
}

// putDigits fills field with the lowest digits of v, zeros in front.
func putDigits(field []byte, v uint64) {
	at := len(field)
	for v >= 1<<32 && at >= 2 { // 64-bit division is several times slower than 32-bit
		rest := v / 100
		pair := 2 * (v - rest*100)
		v = rest
		at -= 2
		field[at], field[at+1] = digitPairs[pair], digitPairs[pair+1]
	}
	small := uint32(v)
	for at >= 2 {
		rest := small / 100
		pair := 2 * (small - rest*100)
		small = rest
		at -= 2
		field[at], field[at+1] = digitPairs[pair], digitPairs[pair+1]
	}
	if at == 1 {
		field[0] = '0' + byte(small%10)
	}
}

// append2 appends two digits of 0..99.
func append2(dst []byte, v uint32) []byte {
	return append(dst, digitPairs[2*v], digitPairs[2*v+1])
}
