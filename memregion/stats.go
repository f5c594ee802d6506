package memregion

// RegionStats is a copy of a lender's counters, in bytes unless said otherwise.
type RegionStats struct {
	AllocatorStats
	Backed         int64     // reserved now: live plus idle
	Idle           int64     // backed, but of no extent: recycled or reserved ahead
	FileSize       int64     // length of the backing file
	FileAllocated  int64     // what the file system says the file occupies
	ReservedTotal  int64     // ever reserved
	PunchedTotal   int64     // ever given back to the system
	PunchFailures  int64     // calls that the file system refused
	Protected      int64     // read-only now
	ProtectedRuns  int       // separate read-only runs now; each costs the kernel up to two map entries
	ProtectSkipped int64     // calls to Protect that left a range writable because there were too many runs
	Watch          WatchKind // by what alterations are noticed
	Alterations    uint64    // alterations of the file by others, as found so far; see View.Look
	// HugePagesRequested repeats LendOptions.HugePages; HugePagesAccepted is whether the kernel took the advice, which
	// is no promise.
	HugePagesRequested, HugePagesAccepted bool
}

// Stats copies the counters. FileSize and FileAllocated are 0 when the file cannot be asked.
func (l *Lent) Stats() RegionStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	counts := l.mu.counts
	stats := RegionStats{
		AllocatorStats:     l.mu.allocator.Stats(),
		Backed:             l.mu.backed.count * PageSize,
		Idle:               l.mu.idle.count * PageSize,
		ReservedTotal:      counts.reservedBytes,
		PunchedTotal:       counts.punchedBytes,
		PunchFailures:      counts.punchFailures,
		Protected:          l.mu.protected.count * PageSize,
		ProtectedRuns:      l.mu.runs,
		ProtectSkipped:     counts.protectSkipped,
		Watch:              l.mapping.watch.kind,
		Alterations:        l.mapping.watch.count.Load(),
		HugePagesRequested: l.options.HugePages,
		HugePagesAccepted:  counts.hugePages,
	}
	if st, err := l.spec.status(l.mapping.file); err == nil {
		const blockBytes = 512 // of st_blocks, whatever st_blksize says
		stats.FileSize, stats.FileAllocated = st.Size, st.Blocks*blockBytes
	}
	return stats
}
