// Package keeper keeps the leases that a process has taken at a node, and knows, without a request, which of them
// can be trusted.
//
//	query: Hold(lease) ─▶ load from the region ─▶ Check(lease) ─▶ hand on the result
//	           │                                     │ this machine's clock alone
//	           ▼                                     ▼
//	        core ── what is due, what is valid ◀── what happened, and when
//	           │ plan: renew | release | wait
//	           ▼
//	        Keeper's goroutine ── Renew every TTL/3, Release ─▶ Lessor (noderpc.Client)
//
// # Words
//
// Those of package noderpc: lease, TTL, margin, over, valid. lessor: the node that gave the leases.
//
// # Invariants
//
// N1, N2, N8 and N9 of package noderpc: a lease counts as valid only before (when the last renewal that succeeded was
// sent) + TTL − margin; what is over stays over; Close returns when the goroutine has; renewals wait for no call but
// their own.
//
// # Lock order
//
//	Keeper.mu is a leaf: it is held over no call
//
// # What it does not do
//
// It takes no lease and reads no memory. core has no clock, no lock and no I/O: what happened and when comes in, what
// is to be done goes out.
package keeper
