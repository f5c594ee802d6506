// Package tally counts how large groups were, for monitors.
//
// # Invariants
//
//   - TY1: Each gives cumulative counts: of groups of at most so many members, each bound with all below it.
//
// # What it does not do
//
// It knows no monitor: cmd/csmsql makes a histogram of what it counts.
package tally

import (
	"math/bits"
	"sync/atomic"
)

// buckets are of groups of at most 1, 2, 4, … members; larger ones are in no bucket.
const buckets = 9

// Sizes counts groups by their number of members. The zero value is ready; safe for concurrent use.
type Sizes struct {
	groups, members atomic.Int64
	within          [buckets]atomic.Int64 // not those of smaller buckets
}

// Add counts a group.
func (s *Sizes) Add(members int) {
	if members < 1 {
		return
	}
	s.groups.Add(1)
	s.members.Add(int64(members))
	if i := bits.Len(uint(members - 1)); i < buckets {
		s.within[i].Add(1)
	}
}

// Groups is how many groups there were.
func (s *Sizes) Groups() int64 { return s.groups.Load() }

// Members is how many members all groups had together.
func (s *Sizes) Members() int64 { return s.members.Load() }

// Each visits the bounds and how many groups had at most so many members.
func (s *Sizes) Each(visit func(bound, groups int64)) {
	sum := int64(0)
	for i := range s.within {
		sum += s.within[i].Load()
		visit(1<<i, sum)
	}
}
