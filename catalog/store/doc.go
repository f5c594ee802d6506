// Package store keeps the catalog's records: a sorted map of keys with one operation to change it.
//
//	Transaction: IF every compared key has the revision I saw THEN delete …, put … ELSE nothing
//
//	handle A ── Commit ──▶ ┌───────────────────────────────┐ ── Watch ──▶ A, B, C: every change, in order
//	handle B ── Scan ────▶ │ key → value, revision         │
//	handle C ── Session ─▶ │ key → value, revision, of B   │ ◀─ B's session ends: its ephemeral keys are deleted
//	                       └───────────────────────────────┘
//
//	Bolt          a bbolt file behind a log (commitlog), a file lock, one sync    one machine, one handle at a time
//	Memory        a map; any number of handles                                     tests
//	cluster/etcd  compares are mod revisions, prefixes are ranges, sessions leases  a cluster
//
// Every write gets the revision of its transaction; that is all a compare looks at, so an etcd transaction can do it.
// Limits says how much one transaction takes (etcd: 128 operations, 1.5 MiB); writers split what does not have to be
// atomic.
//
// # Words
//
//   - handle: a Store value; one process has one
//   - session: the life of a handle as the others see it; over: ended for ever; unsure: not known now
//   - ephemeral: said of a key that goes with the session of the handle that put it
//   - change: what one transaction did to the keys of a watch
//   - history: the changes that the store still knows; compacted: what it does not know any more
//
// # Invariants
//
//   - S1: a transaction happens wholly or not at all, and after Commit returned it survives a crash; a lazy one that of
//     the process, and that of the machine if one that came after it does
//   - S2: two transactions that compare a key with the same revision and write it do not both succeed
//   - S3: a Scan sees one revision
//   - S4: Get and Scan are linearizable: they see every transaction whose Commit returned, anywhere, before they began
//   - S5: an ephemeral key is gone after the session of the handle that put it last, and not before; those of one
//     session go in one transaction. A Session whose Check is nil was not over when Check was called
//   - S6: a Watch shows every transaction after its revision that touched its prefixes, whole, once, in the order of
//     revisions; if it cannot, it ends with ErrCompacted
//   - S7: nothing is committed through a handle after its session is over, whatever the process assumes
//   - S8: after ErrUnknown, what a later Get or Scan of the same handle does not see never happens (a disk that failed
//     under Bolt promises nothing)
//   - S9: GetLocal finds nothing but what some revision had. It may miss a key, and it may find one that was deleted
//
// storetest holds every implementation to these, with a twin that is too naive to be wrong.
//
// # How to use it in a cluster
//
// To follow the records: Scan, then Watch from the revision that Scan returned; at ErrCompacted start over. To be
// known to live: put an ephemeral key; after the session is lost, open a new handle and put it again. To find out
// what became of a transaction after ErrUnknown: Get a key that only it would have written so.
//
// # Lock order
//
//	Bolt.writing → settler.one → Bolt.pending
//	Bolt.writing, memoryContent.mu → localSession.mu, history.mu; none is held over a caller's function
//
// # What it does not do
//
// It does not know what the records mean, retries nothing, elects no leader.
package store
