package thesis

import (
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
)

// unsigned are the element types of Figure 5.2.
type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

// store writes first, first+1, … into b, as narrow as its elements are.
func store[T unsigned](b []T, first uint64) {
	for i := range b {
		b[i] = T(first + uint64(i))
	}
}

// total adds up b. Four sums, because one would wait for each addition.
func total[T unsigned](b []T) uint64 {
	var s0, s1, s2, s3 uint64
	for ; len(b) >= 4; b = b[4:] {
		s0 += uint64(b[0])
		s1 += uint64(b[1])
		s2 += uint64(b[2])
		s3 += uint64(b[3])
	}
	for _, v := range b {
		s0 += uint64(v)
	}
	return s0 + s1 + s2 + s3
}

// expectedTotal is what total gives of n stored elements of a width, modulo 2^64, from the formula.
func expectedTotal(n uint64, bits int) uint64 {
	sumTo := func(n uint64) uint64 { // 0 + 1 + … + n-1
		if n%2 == 0 {
			return n / 2 * (n - 1)
		}
		return n * ((n - 1) / 2)
	}
	if bits == 64 || n == 0 {
		return sumTo(n)
	}
	period := uint64(1) << bits
	return n/period*sumTo(period) + sumTo(n%period)
}

// split runs f over n elements in parts, each on a goroutine of its own, and waits.
func split(n, parts int, f func(part, from, to int)) {
	if parts == 1 {
		f(0, 0, n)
		return
	}
	var done sync.WaitGroup
	for i := range parts {
		done.Go(func() { f(i, n*i/parts, n*(i+1)/parts) })
	}
	done.Wait()
}

// storeAll and totalAll work on n elements of b with threads.
func storeAll(b []byte, bits, n, threads int) {
	split(n, threads, func(_, from, to int) {
		switch bits {
		case 8:
			store(b[from:to], uint64(from))
		case 16:
			store(arrow.Uint16Traits.CastFromBytes(b)[from:to], uint64(from))
		case 32:
			store(arrow.Uint32Traits.CastFromBytes(b)[from:to], uint64(from))
		default:
			store(words(b)[from:to], uint64(from))
		}
	})
}

func totalAll(b []byte, bits, n, threads int) (sum uint64) {
	sums := make([]uint64, threads)
	split(n, threads, func(part, from, to int) {
		switch bits {
		case 8:
			sums[part] = total(b[from:to])
		case 16:
			sums[part] = total(arrow.Uint16Traits.CastFromBytes(b)[from:to])
		case 32:
			sums[part] = total(arrow.Uint32Traits.CastFromBytes(b)[from:to])
		default:
			sums[part] = total(words(b)[from:to])
		}
	})
	for _, s := range sums {
		sum += s
	}
	return sum
}

func words(b []byte) []uint64 { return arrow.Uint64Traits.CastFromBytes(b) }

// storeStrided writes every element's number, in as many passes as the stride has elements; totalStrided reads like
// that.
func storeStrided(b []uint64, stride, threads int) {
	split(len(b), threads, func(_, from, to int) {
		for first := range min(stride, to-from) {
			for i := from + first; i < to; i += stride {
				b[i] = uint64(i)
			}
		}
	})
}

func totalStrided(b []uint64, stride, threads int) (sum uint64) {
	sums := make([]uint64, threads)
	split(len(b), threads, func(part, from, to int) {
		var sum uint64
		for first := range min(stride, to-from) {
			for i := from + first; i < to; i += stride {
				sum += b[i]
			}
		}
		sums[part] = sum
	})
	for _, s := range sums {
		sum += s
	}
	return sum
}

// wrong is the error of TH1.
func wrong(what string, got, want uint64) error {
	return fmt.Errorf("%s gives a wrong answer: %d, right is %d", what, got, want)
}
