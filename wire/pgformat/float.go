package pgformat

import (
	"math"
	"strconv"
)

// appendFloat8 appends the shortest text that reads back as v, laid out as PostgreSQL does: an exponent of at least two
// digits below 1e-4 and from 1e15 on, positional otherwise.
func appendFloat8(dst []byte, v float64) []byte {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		if v == 0 && math.Signbit(v) {
			return append(dst, '-', '0')
		}
		return appendInt(dst, int64(v))
	}
	// Most floats in databases have few decimals. If n/10^4 is v exactly as division rounds, then it is its shortest
	// text:
	// n and 10^4 are exact, so v is the double nearest to that decimal, and no two decimals of up to 15 digits share a
	// double.
	if magnitude := math.Abs(v); magnitude < 1e10 && magnitude >= 1e-4 {
		if n := math.RoundToEven(v * 1e4); n/1e4 == v {
			return appendFewDecimals(dst, int64(n))
		}
	}
	return appendFloat(dst, v, 64, 15)
}

// appendFloat4 is appendFloat8 for single precision, where the exponent starts at 1e6.
func appendFloat4(dst []byte, v float32) []byte {
	if v == float32(math.Trunc(float64(v))) && math.Abs(float64(v)) < 1e6 {
		if v == 0 && math.Signbit(float64(v)) {
			return append(dst, '-', '0')
		}
		return appendInt(dst, int64(v))
	}
	return appendFloat(dst, float64(v), 32, 6)
}

// appendFewDecimals appends n/10^4 without trailing zeros.
func appendFewDecimals(dst []byte, n int64) []byte {
	dst = appendDecimal64(dst, n, 4)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	if dst[len(dst)-1] == '.' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// appendFloat handles what the fast paths leave. exponentFrom is PostgreSQL's DBL_DIG or FLT_DIG.
func appendFloat(dst []byte, v float64, bitSize, exponentFrom int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'e', -1, bitSize)
	mark := len(dst) - 1
	for dst[mark] != 'e' {
		mark--
	}
	exponent := 0
	for _, digit := range dst[mark+2:] {
		exponent = exponent*10 + int(digit-'0')
	}
	if dst[mark+1] == '-' {
		exponent = -exponent
	}
	if exponent < -4 || exponent >= exponentFrom {
		return dst // strconv writes the exponent as PostgreSQL does: sign and two digits
	}
	return strconv.AppendFloat(dst[:start], v, 'f', -1, bitSize)
}
