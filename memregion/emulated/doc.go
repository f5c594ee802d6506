// Package emulated is memory that is not coherent between machines, played on one: every domain has a private copy of
// each region, its cache, over one memory, and nothing moves between the two but by the steps that a processor would
// make.
//
//	program of domain a                program of domain b
//	  load │ │ store                     load │ │ store
//	       ▼ ▼                                ▼ ▼
//	  copy    shadow                     copy    shadow      one file each for domain and region: a cache outlives processes
//	       │ ▲                                │ ▲
//	  write│ │fetch                      write│ │fetch       by flush and fence, and by the adversary
//	  back ▼ │                           back ▼ │
//	  ────────────────── memory ──────────────────           the region's own file
//
// On a home-snoop fabric a borrower's fetch is answered by the lender's copy, and its write-back goes past that to the
// memory.
//
// # Words
//
//   - domain: one machine's caches; here what a Domain of this process has of them. Its programs work on the copy
//   - line: what is fetched and written back at once, 64 or 128 bytes; written back whole
//   - shadow: the copy as it was when the line was last fetched or written back. Where copy and shadow differ, a
//     program stored: the line is modified
//   - fetch: copy and shadow of a line that is not modified become what lies in memory
//   - drop: write back what is modified, then fetch. Every line is always there, so a dropped one is fetched again at
//     once: no prefetcher is quicker. One that is not dropped stays as it is, stale or not, for ever
//   - adversary: what hardware does unasked, drawn from a seed: at every call some lines near those in use are written
//     back early or late, evicted, prefetched
//   - guest: a process that maps a domain's copy and lets the domain's own process do all of this
//
// # Invariants
//
//   - EM1: the memory changes by write-backs of modified lines only; a line that is not modified is never written back
//   - EM2: a store is never lost: a fetch replaces a word only if it is still what the shadow says (compare and swap)
//   - EM3: a flush is done when a full fence of its domain has returned, and may be done before; a store fence
//     completes none
//   - EM4: the same seed and the same calls in the same order make the same moves
//   - EM5: a process that is killed leaves what it stored: its domain's next process finds the modified lines, and they
//     may be written back at any time
//
// # A store that changes nothing
//
// It cannot be seen: the copy is as before. A processor would mark the line as modified. It makes no difference where
// the memory has the same bytes. So a writer of an extent begins with lines for which that holds, or with modified
// ones: see Cache.Zeroed and Cache.Open.
//
// # Locks
//
// Domain.mu, a leaf. Go's race detector must not take the moves of hardware for those of a program: in race builds they
// are hidden from it (words_race.go).
//
// # What it does not do
//
// It knows no protocol: packages coherence and cluster/noderpc call it as they would a processor (coherence.Lines). It
// opens no files: memregion does. It is no model of performance, of store buffers, or of loads that pass each other.
package emulated
