// Package custody knows the holders of the memory of a node's region that no version of a table has, and finds what is
// unowned.
//
//	session, load, fragment …                     lender of the memory
//	     │ Book.Open                                   │
//	     ▼                                             ▼
//	   Holder ── Space ──► Grant ────────────────► extent on record
//	     │ Close: must hold nothing                    │
//	     ▼                                             ▼
//	   Book ── who holds what ──► Disclaimer       Audit ── every live extent, against versions, Books, borrowers
//	             │ what the lender has on record      │
//	             │ and no holder here has             ▼
//	             └──► goes back                    strays, and what becomes of each (Remedy)
//
// # Words
//
//   - holder: a session, a load or the fragment of a query in this process that was granted extents and has not
//     committed them; it has a name
//   - call: a request for memory that is under way; what it brings is in the book before it ends
//   - suspect: an extent that lives, and that had no holder when all were asked
//   - stray: an extent that was a suspect, in the same state, in as many rounds as passing it on can take
//   - disclaim: say to a lender that what it has on record is not held here
//
// # Invariants
//
//   - H1: an extent is in the book from before its call ends until its holder has no window on it and will not commit
//     it, or has committed it.
//   - H2: an extent is disclaimed only when every call that was under way when it was first missed has ended since.
//   - H3: an extent that a holder has is never a stray; one without a holder is one after Rounds rounds.
//   - H4: nothing is taken back that a writer may store into, or that a node may read: of those, a stray is only
//     reported, or waits.
//   - H5: what a commit of unknown outcome has published has a holder until the outcome is known, also if its session
//     ends before.
//
// # Lock order
//
//	Book.mu is a leaf
//
// # What it does not do
//
// It has no clock, no goroutine and no I/O but that of the spaces that it wraps: the engine's janitor runs the rounds,
// and applies their remedies. It does not know versions, pins or other processes: its caller names the holders.
package custody
