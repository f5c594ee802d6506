// Package lending lets other processes write into a node's memory, and knows at every moment which of them may.
//
//	borrower (package borrowing)                     node that lends
//	────────────────────────────                     ───────────────
//	Grant(region, owner, size, ticket) ────RPC────▶  Lender ── ledger: grants, borrowers, quotas, the dead
//	  ◀──────────── generation, range, class ──────     │  └── journal: grants under way, for the node's next process
//	stores into a Window on exactly that range          ▼
//	closes it, flushes                               coherence.Home ── the protocol: states, home clean, quarantine
//	Seal(keep, checksum) ────────────────────────▶      │
//	Publish, or Free ────────────────────────────▶      ▼
//	                                                 memregion.Lent ── the allocator
//
// One extent in a borrower's hands:
//
//	        Grant             Seal              Publish
//	(free) ───────▶ granted ────────▶ sealed ─────────────▶ the catalog's (not in the ledger any more)
//	   ▲              │  │              │  └──temporary──▶ temporary ──Free, or its writer dies──▶ retired
//	   │     Free     │  │ its writer   │ Free, or its writer dies
//	   ├──────────────┘  │ dies         │
//	   │                 ▼              │
//	   ├──lift── quarantined            │
//	   └────────────────────────────────┘
//
// # Words
//
//   - borrower: one incarnation of a peer: its name, which kernel or certificate vouch for, and which process of it
//   - account: what one borrower holds · usage: what all incarnations of one name hold, against which quotas count
//   - ticket: a borrower's name for one request, by which it gives back a grant whose answer it never heard; void: a
//     ticket that was given back before its request came, or while it was under way
//   - gone: declared dead by the cluster's membership; final for the incarnation
//   - quarantined: granted to a borrower that is gone, and whose process may still store into it when it wakes up
//   - lease: a borrower's on what it holds; Held renews it, and what the borrower does not hold of it goes back
//   - orphan: granted by the node's former process to a borrower that may still store into it
//
// # Invariants
//
//   - W1: every step about an extent is taken only for the borrower that it was granted to; everything else is refused,
//     logged with caller and call, and counted
//   - W2: what a name holds unpublished never exceeds its quotas, however many incarnations it has
//   - W3: no extent is granted while a process may store into it: not after its writer was declared
//     dead, before that process has certainly ended, or its node has restarted there, which it does when nothing of
//     its former life runs any more; not after the lender was killed and started again, nor after its machine was,
//     while a process of another machine may store on
//   - W4: a borrower that is gone gets nothing done: no grant, no seal, no publication; what it had published stays
//   - W5: no grant is lost: one whose answer was not heard goes back by its ticket, however late the request came; and
//     one that its borrower lost goes back when that disclaims it
//   - W6: what the ledger says is outstanding is alive at the home, and what it has forgotten is not
//   - W7: what is sealed has the checksum that its writer reported (unless Options.TrustSeals)
//   - W8: where caches are not coherent, no extent is granted while those of its last writer's machine may hold what
//     that stored: not after its process has ended, before another one of its machine has flushed (Left) or a
//     caller says that the machine is off (Lift)
//
// # Fencing
//
// On shm a stopped process keeps its writable window and stores on when it is continued. PeerGone therefore quarantines
// what was granted (coherence.FenceOff) and gives it back (Lift) once the kernel says that the borrower's process has
// ended, or the membership that its node has another incarnation: at once after SIGKILL, later after SIGSTOP, by Sweep.
// A process of another container or machine cannot be asked about; a caller that knows that it is off calls Lift.
// Sealed memory has no window any more and goes back at once.
//
// # Lock order
//
//	Lender.mu      (the ledger; never held over a step of the protocol, a flush or a write)
//	journal.mu
//
// # What it does not do
//
// It does not declare borrowers dead: the cluster's membership does. A node may be asked by one that is over and has
// not noticed: callers say which node they are, and since when, so that what they hold goes back when that node has
// restarted (Restarted). It knows no tables: that a published extent is in one is the catalog's business; with
// Options.Confirmations it remembers those that are not confirmed yet, since their publisher may have died before
// its commit. It starts no goroutine: the engine's janitor calls Sweep.
package lending
