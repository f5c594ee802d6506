package model

import "github.com/csmsql/csmsql/coherence"

// Config says what is searched.
type Config struct {
	Class    coherence.Class
	Mutation Mutation
	// Addresses is how many of the two addresses are used; 0 means both.
	Addresses int
	// Mismatches lets checksums be wrong, so that acquires are tried again and fail.
	Mismatches bool
	// Explicit searches without any reduction: prefetches are steps of their own, a line that is as fresh as can be is
	// distinguished from one that is absent, and the borrowers from each other. For small configurations, to see that
	// the reductions leave nothing out.
	Explicit bool
	// Halves puts both places into one line and grants them together only, so that a line is stored in two pieces: it
	// may be evicted between them and fetched again.
	Halves bool
	// Restarts lets the lender's process end at any time, or its machine, and restart.
	Restarts bool
	// Grows lets writers of other domains have their extent put into another one, which the lender copies.
	Grows bool
	// Replicas lets the writer of one place fill it with what it reads at the other.
	Replicas bool
	// Processes lets a second process of a domain acquire what the first one reads.
	Processes bool
	// Evictions lets the write-back of an evicted line take its time.
	Evictions bool
	// Copies lets writers store past their cache, and flush a place as soon as it was stored.
	Copies bool
	// keepPins breaks the protocol so that C6 does not hold.
	keepPins bool
}

// String names the class and what is switched on.
func (c Config) String() string {
	name := c.Class.String()
	for _, one := range []struct {
		on   bool
		what string
	}{{c.Halves, "halves"}, {c.Mismatches, "mismatches"}, {c.Restarts, "restarts"}, {c.Grows, "grows"}, {c.Replicas, "replicas"}, {c.Processes, "processes"}, {c.Evictions, "evictions"}, {c.Copies, "copies"}} {
		if one.on {
			name += ", " + one.what
		}
	}
	return name
}
