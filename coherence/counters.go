package coherence

import "sync/atomic"

// Counters counts every step of the protocol in one process. The zero value is ready; all fields only grow. A flush
// that a coherent fabric makes unnecessary is counted as skipped, so that the steps can be seen there too.
type Counters struct {
	Grants, GrantedBytes     atomic.Uint64
	Unprepared               atomic.Uint64 // grants to other domains for which the lender had no line to drop
	AheadBytes, AheadTime    atomic.Uint64 // free memory whose lines the lender dropped before it was granted; nanoseconds that it took
	Cleans, HomeCleans       atomic.Uint64
	Seals, SealedBytes       atomic.Uint64 // SealedBytes are those that carry data: what writers wrote
	Publishes, Discards      atomic.Uint64
	Pins, Unpins, Expired    atomic.Uint64
	Retires, Reclaims        atomic.Uint64
	Aborts, Quarantines      atomic.Uint64
	Adoptions                atomic.Uint64
	Acquires, Reacquires     atomic.Uint64 // first uses in this process, and later ones, which cost a look-up
	Releases                 atomic.Uint64
	Invalidated              atomic.Uint64 // writings to be acquired again: they may have been altered
	Mismatches, AcquireFails atomic.Uint64 // wrong checksums, retried ones included; acquires that ended in an error
	LostExtents              atomic.Uint64 // memory that the allocator refused to take back
	Unprotected              atomic.Uint64 // ranges of published extents that could not be made read-only
	FlushedLines             atomic.Uint64 // hardware lines, counted where the instruction is issued
	FlushedBytes             atomic.Uint64
	StoreFences, FullFences  atomic.Uint64
	FlushesByStep            [stepCount]atomic.Uint64 // flush calls that were paid, by Step
	SkippedFlushesByStep     [stepCount]atomic.Uint64 // not paid, because the fabric is coherent
	SkippedFencesByStep      [stepCount]atomic.Uint64
	SkippedBytesByStep       [stepCount]atomic.Uint64
}

// Sample is one counter's value under the name that metrics use.
type Sample struct {
	Name  string // without a prefix, in the manner of Prometheus: "grants_total"
	Step  string // the label of a counter that is kept per step, else ""
	Help  string
	Value uint64
}

// Each visits every counter in a fixed order.
func (c *Counters) Each(visit func(Sample)) {
	for _, s := range []struct {
		name, help string
		value      *atomic.Uint64
	}{
		{"grants_total", "Extents granted to a writer.", &c.Grants},
		{"granted_bytes_total", "Bytes of extents granted.", &c.GrantedBytes},
		{"unprepared_grants_total", "Extents granted to another domain that the lender had not stored into, and need not flush.", &c.Unprepared},
		{"ahead_bytes_total", "Bytes of free memory that the lender has flushed before it was granted to another domain.", &c.AheadBytes},
		{"ahead_nanoseconds_total", "How long that took, beside everything else.", &c.AheadTime},
		{"cleans_total", "Grants written back and dropped by their writer.", &c.Cleans},
		{"home_cleans_total", "Grants dropped from the lender's cache after a foreign writer.", &c.HomeCleans},
		{"seals_total", "Generations sealed.", &c.Seals},
		{"sealed_bytes_total", "Bytes of data sealed: what writers wrote.", &c.SealedBytes},
		{"publishes_total", "Generations published.", &c.Publishes},
		{"discards_total", "Sealed generations that were never published.", &c.Discards},
		{"pins_total", "Pins taken, one per generation and call.", &c.Pins},
		{"unpins_total", "Pins given back.", &c.Unpins},
		{"expired_total", "Generations released by the end of a domain's lease.", &c.Expired},
		{"retires_total", "Generations retired.", &c.Retires},
		{"reclaims_total", "Extents whose memory went back.", &c.Reclaims},
		{"aborts_total", "Grants given back unfinished.", &c.Aborts},
		{"quarantines_total", "Grants of fenced-off writers put into quarantine.", &c.Quarantines},
		{"adoptions_total", "Generations taken over from a former incarnation.", &c.Adoptions},
		{"acquires_total", "First uses of a writing by this process.", &c.Acquires},
		{"reacquires_total", "Later uses, which flush nothing.", &c.Reacquires},
		{"releases_total", "Writings let go by this process.", &c.Releases},
		{"distrusted_total", "Writings to be acquired and verified again, since the region's file may have been altered.", &c.Invalidated},
		{"mismatches_total", "Wrong checksums found by an acquire, retried ones included.", &c.Mismatches},
		{"acquire_failures_total", "Acquires that ended in an error.", &c.AcquireFails},
		{"lost_extents_total", "Extents that the allocator refused to take back.", &c.LostExtents},
		{"unprotected_total", "Ranges of published extents that stayed writable.", &c.Unprotected},
		{"flushed_lines_total", "Cache lines flushed.", &c.FlushedLines},
		{"flushed_bytes_total", "Bytes of ranges flushed.", &c.FlushedBytes},
		{"store_fences_total", "Store fences issued.", &c.StoreFences},
		{"full_fences_total", "Full fences issued.", &c.FullFences},
	} {
		visit(Sample{Name: s.name, Help: s.help, Value: s.value.Load()})
	}
	for step := StepPrepare; int(step) < stepCount; step++ {
		name := step.String()
		visit(Sample{"flushes_total", name, "Ranges flushed, by step.", c.FlushesByStep[step].Load()})
		visit(Sample{"skipped_flushes_total", name, "Ranges that a coherent fabric need not flush, by step.", c.SkippedFlushesByStep[step].Load()})
		visit(Sample{"skipped_fences_total", name, "Fences that a coherent fabric does not need, by step.", c.SkippedFencesByStep[step].Load()})
		visit(Sample{"skipped_bytes_total", name, "Bytes that a coherent fabric need not flush, by step.", c.SkippedBytesByStep[step].Load()})
	}
}
