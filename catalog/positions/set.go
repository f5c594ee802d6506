package positions

import (
	"iter"
	"math/bits"
	"slices"
)

// Set is a set of positions in a chunk of so many rows. A nil Set has none.
type Set struct {
	words []uint64
	count int64
	rows  int64
}

const wordBits = 64

// New is an empty set for a chunk of so many rows.
func New(rows int64) *Set {
	return &Set{words: make([]uint64, (rows+wordBits-1)/wordBits), rows: rows}
}

// Of is the set of the given positions, which are below rows.
func Of(rows int64, at ...int64) *Set {
	s := New(rows)
	for _, p := range at {
		s.Add(p)
	}
	return s
}

// Add puts a position in, and reports whether it was not there. Preconditions: it is below the number of rows, and
// the set is not shared (PO2).
func (s *Set) Add(at int64) bool {
	word, bit := at/wordBits, uint64(1)<<(at%wordBits)
	if s.words[word]&bit != 0 {
		return false
	}
	s.words[word] |= bit
	s.count++
	return true
}

// appendRun puts the positions [from, to) in, of which none is there yet; from is below to.
func (s *Set) appendRun(from, to int64) {
	s.count += to - from
	first, last := from/wordBits, (to-1)/wordBits
	for i := first; i <= last; i++ {
		word := ^uint64(0)
		if i == first {
			word <<= from % wordBits
		}
		if i == last {
			word &= ^uint64(0) >> (wordBits - 1 - (to-1)%wordBits)
		}
		s.words[i] |= word
	}
}

// Has reports whether a position is in it.
func (s *Set) Has(at int64) bool {
	return s != nil && at >= 0 && at < s.rows && s.words[at/wordBits]>>(at%wordBits)&1 == 1
}

// Count is how many are in it.
func (s *Set) Count() int64 {
	if s == nil {
		return 0
	}
	return s.count
}

// Rows is the number of rows of the chunk.
func (s *Set) Rows() int64 {
	if s == nil {
		return 0
	}
	return s.rows
}

// Words are its bits, the first lowest in the first word. The slice is shared.
func (s *Set) Words() []uint64 {
	if s == nil {
		return nil
	}
	return s.words
}

// Bytes is what the set takes in memory.
func (s *Set) Bytes() int64 {
	if s == nil {
		return 0
	}
	return 48 + 8*int64(cap(s.words))
}

// Union is the set of what is in either, which are of one chunk.
func Union(a, b *Set) *Set {
	switch {
	case a.Count() == 0:
		return b
	case b.Count() == 0:
		return a
	}
	out := &Set{words: slices.Clone(a.words), rows: a.rows}
	for i, w := range b.words {
		out.words[i] |= w
	}
	for _, w := range out.words {
		out.count += int64(bits.OnesCount64(w))
	}
	return out
}

// Intersection is the set of what is in both, which are of one chunk.
func Intersection(a, b *Set) *Set {
	if !Meets(a, b) {
		return nil
	}
	out := &Set{words: slices.Clone(a.words), rows: a.rows}
	for i, w := range b.words {
		out.words[i] &= w
		out.count += int64(bits.OnesCount64(out.words[i]))
	}
	return out
}

// Meets reports whether two of one chunk have a position in common.
func Meets(a, b *Set) bool {
	if a.Count() == 0 || b.Count() == 0 {
		return false
	}
	for i, w := range a.words {
		if w&b.words[i] != 0 {
			return true
		}
	}
	return false
}

// All visits the positions, ascending.
func (s *Set) All() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i, w := range s.Words() {
			for ; w != 0; w &= w - 1 {
				if !yield(int64(i)*wordBits + int64(bits.TrailingZeros64(w))) {
					return
				}
			}
		}
	}
}

// Runs visits the runs of positions [from, to) that are in the set, ascending.
func (s *Set) Runs() iter.Seq2[int64, int64] { return s.runs(0) }

// Absent visits the runs of positions [from, to) that are not.
func (s *Set) Absent() iter.Seq2[int64, int64] { return s.runs(^uint64(0)) }

// runs visits the runs of ones, of the set with its bits turned over by flip.
func (s *Set) runs(flip uint64) iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) {
		for from := s.next(0, flip); from < s.Rows(); {
			to := s.next(from, ^flip)
			if !yield(from, to) {
				return
			}
			from = s.next(to, flip)
		}
	}
}

// next is the first position from at on whose bit, turned over by flip, is one; the number of rows if there is none.
func (s *Set) next(at int64, flip uint64) int64 {
	for i := at / wordBits; i < int64(len(s.Words())); i++ {
		w := s.words[i] ^ flip
		if i == at/wordBits {
			w &= ^uint64(0) << (at % wordBits)
		}
		if w != 0 {
			return min(i*wordBits+int64(bits.TrailingZeros64(w)), s.rows)
		}
	}
	return s.Rows()
}
