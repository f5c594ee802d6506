// Package noderpc is how another process reaches a node: it learns what the node lends, takes snapshots under leases
// and keeps them, writes into its memory, has it run parts of queries, asks how it is, and has it load files.
//
// # Picture
//
//	another process                                              node's process
//	───────────────                                              ──────────────
//	engine (attached, or another node)                           engine (implements Node, Fragments, Operations)
//	  │ Describe, Lease, Page, Status, Load      gRPC over         ▲ checked arguments, PeerOf(ctx)
//	  ▼                                          unix socket,      │
//	Client ── decode, check (N5) ◀─────────────  loopback, or ─▶ Server ── caller, access, bounds, panics, log, package refusal
//	  ▲ Renew, Release, Await                    mutual TLS        │   │
//	package keeper ── renews every TTL/3                           │ tokens ── whose lease is it (N4)
//	  │ Check(lease): by this machine's clock alone (N1)           ▼
//	  ▼                                                          Lender (package lending)
//	query: load from the region ─▶ Check ─▶ hand on the result
//
//	borrowing.Space ── Grant, Reallocate, Seal, Publish, Free ─▶ Lender: the coherence protocol by message
//	RunFragment ───── request, signs of life ──────────────────▶ Fragments.Run; the open stream is the result's lease
//	            ◀──── progress, result: descriptors of chunks
//
// No byte of a table travels: other processes map the regions and read in place, and write in place. What travels is a
// snapshot's record, the pages of descriptors that a query needs, renewals, and the steps of the protocol.
//
// The service Node is for processes that attach to a node; Lending, Coordination and Fragments are for the nodes of a
// cluster. docs/cluster-rpc.md holds them against the thesis' orchestrator.
//
// # A lease's time
//
//	borrower   sent ──────────────────────────────── sent+TTL−margin: Check fails from here on
//	             │                                          │
//	node         └──▶ received ─────────────────────────────┼────── received+TTL: may re-use the memory
//	                  (≥ sent)                              ▼
//	                                       what was loaded before was the snapshot's
//
// A borrower that was stopped, cut off or suspended wakes up, loads whatever is there now, calls Check, and throws the
// result away: no notification is needed. Check after the load, never only before it.
//
// A fragment's result lives by the same rule: its reader says now and then that it is alive, the node keeps the result
// for a TTL after the last word it heard, and the reader trusts it for a TTL after the last word that was answered
// left.
//
// # Words
//
//   - borrower: a process that reads a node's regions; holder: its name in status output
//   - lease, TTL: the promise that a snapshot's memory stays, and how long it lives without a renewal
//   - over: a lease that the node ended; final. Not valid: this process cannot know any more; a renewal may mend it
//   - margin: the part of a TTL that is never counted on, because two clocks may run at different speeds
//   - incarnation: one process of a node. Lease numbers restart with each, so a client belongs to one
//   - peer: the caller, as the kernel (unix socket) or its certificate (TCP) says
//   - ticket: a caller's name for one request of memory, by which it gives back what it never heard of
//   - state: a small named number of a node that others wait for (the thesis' state vector)
//   - refusal: what no correct peer asks for, or a limit it met: logged with caller and call, and counted
//
// # Invariants
//
//   - N1: a lease counts as valid only before (when the last renewal that succeeded was sent) + TTL − margin: never
//     after the node may have ended it
//   - N2: a lease that the node called over, or that was released, is never valid again
//   - N3: no lease without an end leaves a node
//   - N4: a lease is renewed and ended only by the borrower that took it, at the incarnation that gave it
//   - N5: nothing from a peer reaches this package's user unchecked: sizes, ranges, counts, addresses, names
//   - N6: a panic in a handler is its caller's error; the node lives on
//   - N7: a node's error keeps SQLSTATE, message, detail, hint and position; what gRPC itself says is 08006 (the node
//     is gone), 57014 (the caller gave up), 54000 (too large) or 08P01 (nonsense), and names the node
//   - N8: Serve returns after every handler has, Close of package keeper after its goroutine has
//   - N9: renewals and releases do not wait for other calls
//   - N10: a slow receiver of progress does not hold up the load, nor a fragment
//   - N11: the caller is what the kernel or a certificate says; what a caller says of itself only distinguishes
//     its own processes. A certificate counts no longer than it is valid, also within a connection
//   - N12: a fragment's result counts as in place only before (when the last answered word was sent) + TTL − margin,
//     and a node releases it not before (when the last word was heard) + TTL, unless its reader says that it has done
//
// # Bounds
//
// Connections, streams per connection, calls (in all and of one peer), loads, fragments and waits for news at once
// (ServerOptions), the size of every message and the number of everything in it (limits.go), the time of every call but
// loads and fragments (10 s unless the caller says otherwise, MaxCallTime in any case), progress reports that wait (one
// per step, 64 steps), leases of a borrower, the log's lines about refusals. What one peer may hold of the memory is
// package lending's.
//
// # Who may do what
//
// The unix socket is 0600: a caller that can open it is the node's user, or root, and may do everything. Over TCP with
// a certificate (ServerOptions.Certificate) all other callers are refused before the first call; nodes may do
// everything, clients (operators' tools) everything but take memory and run fragments. TCP without certificates is
// loopback only: the caller is not known, and may attach and look, but not have the node read files
// (ServerOptions.FilesOverTCP), nor anything of a cluster. access.go has the table.
//
// # Lock order
//
//	Client.mu, reporter.mu, FragmentRun.mu: none is held over a call or another lock
//
// # What it does not do
//
// It does not know what a snapshot's record, a page or a fragment holds: catalog and engine check that; of a fragment's
// result it checks that every chunk is well-formed and lies where its sender may point to. It does not end leases: the
// node does, by its clock. It does not decide which nodes are members, nor which are dead. It gives no client back
// after a restart of the node: dial again, and describe again, because regions and trusted generations may be others.
package noderpc
