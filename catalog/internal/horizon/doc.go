// Package horizon is which former revisions nodes read, and what of the lent memory these had.
//
//	revision     40 ─────── 47 ─────── 52 ─────── 60 ─── 61 ─ …
//	a node       holds 40                         floor: it reads any from here on
//	extents         had it ─┤ died at 47                       40 had it: it stays
//	                           granted ─┤ died at 52           no revision that is read had it: it goes
//	                                granted ──────────┤ died at 61: it stays until the floor is there
//
// A transaction that was forgotten holds what its own snapshot sees, of all tables; of what others wrote and replaced
// since then it holds nothing.
//
// # Words
//
// held: said of a revision that a node reads although it is not the newest · floor: the revision from which on it may
// read all · mark: of a region, the highest generation that a revision had, or any before it.
//
// # Invariants
//
//   - HZ1: a node reads no revision but those that it reports as held, and from its floor on.
//   - HZ2: an extent with a generation above a region's mark is in no chunk of that revision, or of one before it. What
//     was there when the catalog was opened has a generation below the region's high-water mark on record (K6).
//   - HZ3: what cannot be known, because changes were missed or are forgotten, is taken for read.
//
// # Locks
//
// None: the catalog's lock guards it. Nothing here has goroutines or clocks.
//
// # What it does not do
//
// It does not know when an extent died, and retires nothing.
package horizon
