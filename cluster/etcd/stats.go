package etcd

import (
	"slices"
	"sync/atomic"
	"time"
)

// Stats counts what a handle has done.
type Stats struct {
	Commits        int64 // that happened
	Conflicts      int64 // that did not, because a condition did not hold
	Unknown        int64 // whose outcome is unknown
	Settled        int64 // times the fence was written to find out
	Renewals       int64 // of the session
	FailedRenewals int64
	Resumes        int64 // of watches whose stream broke
	Changes        int64 // that watches applied
	// Latency of commits that etcd answered, whether they happened or not.
	Latency Latency
}

// Latency is how long something took, in the manner of a histogram.
type Latency struct {
	Count  int64
	Sum    time.Duration
	Bounds []time.Duration // ascending
	Within []int64         // how many took no longer than the bound of the same index
}

// latencyBounds go from a member in this process to one that is in trouble.
var latencyBounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
}

type counts struct {
	commits, conflicts, unknown, settled, renewals, failedRenewals, resumes, changes atomic.Int64
	latency                                                                          latency

	unfollowed atomic.Int64 // keys that came to watches that do not want them; for tests
}

// latency counts in the first bound that is enough; the last one is for everything above.
type latency struct {
	in  [len(latencyBounds) + 1]atomic.Int64
	sum atomic.Int64
}

func (l *latency) add(took time.Duration) {
	i, _ := slices.BinarySearch(latencyBounds[:], took)
	l.in[i].Add(1)
	l.sum.Add(int64(took))
}

func (l *latency) read() Latency {
	r := Latency{Sum: time.Duration(l.sum.Load()), Bounds: latencyBounds[:], Within: make([]int64, len(latencyBounds))}
	for i := range l.in {
		r.Count += l.in[i].Load()
		if i < len(r.Within) {
			r.Within[i] = r.Count
		}
	}
	return r
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	c := &s.counts
	return Stats{
		Commits: c.commits.Load(), Conflicts: c.conflicts.Load(), Unknown: c.unknown.Load(), Settled: c.settled.Load(),
		Renewals: c.renewals.Load(), FailedRenewals: c.failedRenewals.Load(), Resumes: c.resumes.Load(), Changes: c.changes.Load(),
		Latency: c.latency.read(),
	}
}
