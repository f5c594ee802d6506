package etcd

import "sync/atomic"

// Stats counts what a handle has done.
type Stats struct {
	Commits        int64 // that happened
	Conflicts      int64 // that did not, because a condition did not hold
	Unknown        int64 // of which nobody knows
	Settled        int64 // times the fence was written to find out
	Renewals       int64 // of the session
	FailedRenewals int64
	Resumes        int64 // of watches whose stream broke
	Changes        int64 // that watches applied
}

type counts struct {
	commits, conflicts, unknown, settled, renewals, failedRenewals, resumes, changes atomic.Int64
}

// Stats returns the counters.
func (s *Store) Stats() Stats {
	c := &s.counts
	return Stats{
		Commits: c.commits.Load(), Conflicts: c.conflicts.Load(), Unknown: c.unknown.Load(), Settled: c.settled.Load(),
		Renewals: c.renewals.Load(), FailedRenewals: c.failedRenewals.Load(), Resumes: c.resumes.Load(), Changes: c.changes.Load(),
	}
}
