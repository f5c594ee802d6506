package memregion

import "math/bits"

// pageSet is a set of page numbers below a fixed capacity: one bit each, 32 KiB per GiB of region. Operations on a
// range cost one step per 64 pages. Lent keeps four: what is backed, and what of that is idle, protected, untouched.
type pageSet struct {
	words []uint64
	count int64
}

func newPageSet(pages int64) pageSet { return pageSet{words: make([]uint64, (pages+63)/64)} }

// eachWord calls visit for every word that [low, high) touches, with the mask of the bits inside the range.
func eachWord(low, high int64, visit func(word int64, mask uint64)) {
	for low < high {
		word, bit := low/64, low%64
		width := min(64-bit, high-low)
		visit(word, (^uint64(0)>>(64-width))<<bit)
		low += width
	}
}

func (s *pageSet) add(low, high int64) {
	eachWord(low, high, func(word int64, mask uint64) {
		s.count += int64(bits.OnesCount64(mask &^ s.words[word]))
		s.words[word] |= mask
	})
}

func (s *pageSet) remove(low, high int64) {
	eachWord(low, high, func(word int64, mask uint64) {
		s.count -= int64(bits.OnesCount64(mask & s.words[word]))
		s.words[word] &^= mask
	})
}

// countIn is how many of [low, high) are in the set.
func (s *pageSet) countIn(low, high int64) int64 {
	n := 0
	eachWord(low, high, func(word int64, mask uint64) { n += bits.OnesCount64(mask & s.words[word]) })
	return int64(n)
}

// common is how many pages are in both sets, which are as long.
func (s *pageSet) common(other *pageSet) (n int64) {
	for i, word := range s.words {
		n += int64(bits.OnesCount64(word & other.words[i]))
	}
	return n
}

// next is the first page at or after from whose membership is `in`, or limit.
func (s *pageSet) next(from, limit int64, in bool) int64 {
	for from < limit {
		word := s.words[from/64]
		if !in {
			word = ^word
		}
		if word >>= from % 64; word != 0 {
			return min(from+int64(bits.TrailingZeros64(word)), limit)
		}
		from = (from/64 + 1) * 64
	}
	return limit
}

// previous is one past the last page before `before` whose membership is `in`, or 0.
func (s *pageSet) previous(before int64, in bool) int64 {
	for before > 0 {
		last := before - 1
		word := s.words[last/64]
		if !in {
			word = ^word
		}
		if word <<= 63 - last%64; word != 0 {
			return before - int64(bits.LeadingZeros64(word))
		}
		before = last / 64 * 64
	}
	return 0
}

// lastRun is the run of set pages that ends highest below `before`; low == high when there is none.
func (s *pageSet) lastRun(before int64) (low, high int64) {
	high = s.previous(before, true)
	return s.previous(high, false), high
}
