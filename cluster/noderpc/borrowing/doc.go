// Package borrowing writes chunks into the memory of another node.
//
//	Arrow builders ─► chunk.Writer ─► Space.Grant ────── RPC ─────▶ lender: an extent, a generation
//	      │ store                        │ Window: exactly that range, writable, in this process
//	      ▼                              ▼
//	   the lender's memory ◀──── pages of the region's backing
//	      │
//	   Writer.Seal ─► Shrink (unmap the tail) ─► Clean (flush, unmap) ─► Seal ─── RPC ─────▶ shortened, sealed
//	                                                                     Publish, or Discard ▶
//
// A Space is a catalog.Space, so what builds chunks locally builds them remotely, and chunk.Writer's Allocator is
// an Arrow allocator for the memory of any node (the thesis' RemoteMemoryPool, §3.8.2).
//
// # Words
//
//   - window: a writable map of one granted extent, nothing else (package memregion)
//   - debt: an extent or ticket that the lender may still hold for this process, which has given it up: the answer
//     was not heard. It is reported before the next grant, by Settle, or by Close
//
// # Invariants
//
//   - R1: no window is open when the lender hears that its extent is clean, sealed or given back
//   - R2: what the lender granted is held by a Grant, owed as a debt, or over: nothing is forgotten
//   - R3: every line that was stored is flushed before its report leaves, where caches are not coherent; where they
//     are, the step is counted
//
// # Lock order
//
//	Space.mu, never held over a call
//
// # What it does not do
//
// It does not decide where chunks go, nor publish what the catalog commits: a catalog.Lender made of Clients does. It
// reads nothing. A Space belongs to one Client, and so to one process of the lender: after a restart of that, Orphaned
// returns what the next one has to receive.
package borrowing
