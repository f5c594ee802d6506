// Package memregion lends memory: it gives a region a fixed place in every process' address space, divides it into
// extents, and guarantees that every page of a live extent has memory behind it.
//
// # Address space
//
//	0x1000_0000_0000                       0x4000_0000_0000              0x5000_0000_0000
//	├──────── second choice ───────────────┼──────── first choice ───────┤   the plan window, for all nodes
//	  a Go heap may start here (≥ Go 1.26,     nothing else starts here
//	  amd64), and the race detector's shadow   on amd64
//
//	Base (1 GiB-aligned)                                              Base + Capacity
//	├──────────┬──────┬───────────────┬──────────┬─────────────────────┤   one region
//	│ extent A │ free │   extent B    │ extent C │ top: free, used last│
//	└──────────┴──────┴───────────────┴──────────┴─────────────────────┘
//	└────────────── backed (reserved in the file) ──────┘ frontier
//
// The lender maps the whole capacity for reading and writing, every borrower for reading only, all at Base. A borrower
// whose Base is taken maps elsewhere: descriptors count from the start of the region, and nothing inside a region is an
// absolute pointer. A borrower that was granted an extent to write maps that alone a second time, writable (Window).
//
// # Life cycle of a page
//
//	          Allocate beyond the frontier                    the first store
//	unbacked ─────────────────────────────▶ live, reserved ───────────────────────────▶ live, used
//	   ▲   ╲                                   ▲                                           │
//	   │    ╲ growth step                      │ Allocate                                  │ Free, Shrink
//	   │     ╲                                 │                                           ▼
//	   │      ╰──────▶ idle, reserved ahead ───┴─────────────────────────────────── idle, recycled
//	   │                      │  punch: more is idle than RecycleLimit, Rest, or the fabric is full │
//	   ╰──────────────────────┴─────────────────────────────────────────────────────────────────────╯
//
//	live pages may also be protected (PROT_READ) between Protect and Free.
//
// # Words
//
//   - region: one backing file, mapped whole; Spec is all that another process needs to map it
//   - fabric: what carries the bytes to other processes: a tmpfs file (shm), a file on a disk (file), a range of a
//     device that is there already (device), or, for tests, a tmpfs file behind caches that are not coherent (emulated;
//     package emulated plays them)
//   - domain: the machine whose caches a process uses; only of interest on an emulated fabric
//   - extent: a live Range; it has one owner, starts and ends on a PageSize boundary
//   - origin: where the catalog of a region lies, noted with its file, so that abandoned files are found
//   - owner: the party that may free an extent and that a quota limits; a name, chosen by the caller
//   - backed: reserved with fallocate, so that a store cannot fail
//   - idle: backed but of no extent; punched: given back to the system
//   - untouched: not stored into by the lender's domain since it dropped the lines; only of interest where caches are
//     not coherent
//   - lender: the one process that allocates; borrower: any process that maps for reading
//   - top: the free block at the end of the region; holes are used before it, so a region stays compact
//
// # Invariants
//
//   - M1: no byte belongs to two live extents; only its owner frees one, and only as exactly that range
//   - M2: blocks tile the region without gap, and no two free blocks touch
//   - M3: "full" is said only when no free range is long enough
//   - M4: an owner's bytes are the sum of its extents; no allocation takes an owner past its quota
//   - M5: every page of a live extent is backed, from before Allocate returns until Free is called
//   - M6: a refused operation changes nothing; every backed page is either live or idle, so none is leaked
//   - M7: a backing file has at most one lender, and so has every byte of a device
//   - M8: mapping never replaces another mapping, and borrowers cannot write but through a Window, which holds nothing
//     but one extent, and what lies in its first and its last page beside it where a device has larger pages than ours
//   - M9: a fault becomes an error only inside Guarded and only at an address of a region
//   - M10: after Free, at most RecycleLimit bytes are idle, unless the file system refuses to punch; and no more than a
//     first growth step when Rest was called often enough and nothing was allocated (shm)
//   - M11: nothing that the allocator decides by lies in the region; another process cannot mislead it
//   - M12: a write, truncation, reservation or punch of the file that is not the lender's is counted by the first Look
//     after the call returned; the lender's own calls are not counted where the kernel says which process made them
//     (WatchProcess), and never hide a foreign one
//   - M13: an untouched page is backed, and the lender's domain has stored nothing into it since Dropped: no program
//     did without a call of Touch, and the kernel zeroes only what was reserved, which is not untouched then. What
//     DropAhead notes was idle, and stayed so, while the lines were dropped: nothing may store into idle pages, and a
//     call that makes them anything else waits
//
// Lent.Verify checks M1 to M6, and of M13 that untouched pages are backed.
//
// # Alterations
//
// A region is a file of mode 0600 that any process of its user can open. What such a process does to a region in use,
// and when that is noticed:
//
//	write, copy, truncate (also when made long again), punch, reserve    by Look, once the call has returned (M12)
//	cut short, emptied, removed                                          by Check, at once
//	stores through a map of its own                                      by Look, once that is unmapped and its file closed; till then, not at all
//	stores through a Window                                              the same: by Look, once the borrower's View is closed
//	ptrace, /proc/PID/mem of a process that has the region mapped        not at all
//
// While a call is under way it has altered some bytes and has not been counted: milliseconds for a write or punch of
// many MiB. With WatchTimes, which only stands in where the kernel grants neither fanotify nor inotify, a write that
// was under way during a Look is not counted any more when it ends, and nor are stores through a map of pages that it
// had loaded from. What is not noticed is found where checksums are compared: by a restart, the first acquire of
// another process, VerifyChecksums (packages engine, coherence). Look says nothing about which bytes they are.
//
// # Lock order
//
//	Lent.mu              (held while DropAhead's caller flushes: at most what it asked for)
//	  mapping.use          (read: a system call works on the memory; write: closing)
//	    mapping.life
//	    mappingTable.mu
//	    writer.mu
//	  watch.mu             (never held over a call that changes the file)
//	    watch.life
//
// Allocator has no lock; Lent.mu guards it. View has none either: its state, except for the watch, is immutable or
// atomic.
//
// # What it does not do
//
// It does not know tables, versions or leases: the caller of Free guarantees that an extent has no reader any more. It
// does not order stores between processes or write caches back (coherence does), keeps no header in the region (the
// catalog stores Spec and extents), does not make freed bytes unreadable to a process that maps the region, and does
// not catch faults in C code. It is for Linux only.
package memregion
