// Package noderpc is how another process reaches a node: it learns what the node lends, takes snapshots under leases and
// keeps them, asks how the node is, and has it load files.
//
// # Picture
//
//	borrower's process                                           node's process
//	──────────────────                                           ──────────────
//	engine (attached)                                            engine (implements Node)
//	  │ Describe, Lease, Page, Status, Load      gRPC over         ▲ checked arguments, PeerOf(ctx)
//	  ▼                                          unix socket       │
//	Client ── decode, check (N5) ◀───────────── or loopback ───▶ Server ── who calls, bounds, panics, log
//	  ▲ Renew, Release                                             │
//	Keeper ── one goroutine renews every TTL/3                   tokens ── whose lease is it (N4)
//	  │ Check(lease): by this machine's clock alone (N1)
//	  ▼
//	query: load from the region ─▶ Check ─▶ hand on the result
//
// No byte of a table travels: a borrower maps the regions and reads in place. What travels is a snapshot's record, the
// pages of descriptors that a query needs, and renewals.
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
// result away: it needs nobody to tell it. Check after the load, never only before it.
//
// # Words
//
//   - borrower: a process that reads a node's regions; holder: its name in status output
//   - lease, TTL: the promise that a snapshot's memory stays, and how long it lives without a renewal
//   - over: a lease that the node ended; final. Not valid: this process cannot know any more; a renewal may mend it
//   - margin: the part of a TTL that is never counted on, because two clocks may run at different speeds
//   - incarnation: one process of a node. Lease numbers begin anew with each, so a client belongs to one
//   - peer: who calls, as the kernel says
//
// # Invariants
//
//   - N1: a lease counts as valid only before (when the last renewal that succeeded was sent) + TTL − margin: never
//     after the node may have ended it
//   - N2: a lease that the node called over, or that was released, is never valid again
//   - N3: no lease without an end leaves a node
//   - N4: a lease is renewed and ended only by who took it, from the incarnation that gave it
//   - N5: nothing from a peer reaches this package's user unchecked: sizes, ranges, counts, addresses, names
//   - N6: a panic in a handler is its caller's error; the node lives on
//   - N7: a node's error keeps SQLSTATE, message, detail, hint and position; what gRPC itself says is 08006 (the node is
//     gone), 57014 (the caller gave up), 54000 (too large) or 08P01 (nonsense), and names the node
//   - N8: Serve returns after every handler has, Keeper.Close after its goroutine has
//   - N9: renewals and releases wait for nobody
//   - N10: a slow receiver of progress does not hold up the load
//
// # Bounds
//
// Connections, streams per connection, calls and loads at once (ServerOptions), the size of every message and the number
// of everything in it (limits.go), progress reports that wait (one per step, 64 steps), leases of a borrower.
//
// # Who may do what
//
// The unix socket is 0600: who can open it is the node's user, or root, and may do everything. Over TCP, which is
// loopback only, the caller is not known; it may do everything but have the node read files (ServerOptions.FilesOverTCP).
//
// # Lock order
//
//	Keeper.mu, Client.mu, reporter.mu: none is held over a call or another lock
//
// # What it does not do
//
// No TLS and no connection between machines yet; both ends refuse anything but loopback. No grants, pins or allocation
// for other nodes. It does not know what a snapshot's record or a page holds: catalog checks that. It does not end
// leases: the node does, by its clock. It gives no client back after a restart of the node: dial again, and describe
// again, because regions and trusted generations may be others.
package noderpc
