// Package homes is the regions that one process lends, as the catalog's lender.
//
//	catalog ── Publish, Pin, Retire … of extents ──► Homes ──► the coherence.Home of each extent's region
//
// # Words
//
// An extent is named by its region and its generation; calls go to the regions one after the other.
//
// # Invariants
//
//   - HO1: to publish, or to pin, is all or nothing over all regions; what gives back goes as far as it can.
//
// # Lock order
//
// It has no locks: a map of homes does not change while it is used.
//
// # What it does not do
//
// It knows no other process' regions.
package homes
