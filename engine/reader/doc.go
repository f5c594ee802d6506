// Package reader is a process' way to the bytes of chunks: regions that are mapped and guarded, chunks that are
// acquired through the protocol before the first load and compared with their checksums, and the replica that is read
// when another one is not there or not whole.
//
//	chunk ─► Reader ─► replica here ─✗─► replica at n1 ─✗─► DamagedError
//	            │           │
//	            │           └ Region: map, guard, what was altered
//	            │                 └► coherence.Reader acquires, Verification compares
//	            └► Readings: what one statement has read, looked at again before its rows leave
//
// # Words
//
// A Region is one lent region in this process. Readings are the chunks that one execution, or one planning, of a
// statement has read. Damage is what this process found to differ from what was sealed. An alteration is what another
// process did to a region's file.
//
// # Invariants
//
//   - R1: no byte of a region is loaded before its chunk was acquired through the protocol in this process; and
//     acquired again, with its checksum, when another process was found to have been at the region's file. (The
//     engine's E2.)
//   - R2: what Readings.Confirm lets pass is what was sealed, as far as it was read. (The engine's E3.)
//   - R3: a replica that failed is in no Readings: a statement answers for what it used and nothing else.
//   - R4: damage is noted of a replica only by a node that may trust what it finds there: its lender, or one that has
//     its standing.
//
// # Lock order
//
// Readings.mu → Region.invalidation → the locks of coherence.Reader. Reader.borrowing → Reader.mu. Region.life →
// memregion's locks. Damage.mu and comparedOnce.mu are leaves.
//
// # What it does not do
//
// It does not decide which chunks a statement reads (engine), and rebuilds nothing (the engine's repair and reload). It
// asks no node itself: the calls are given to it as functions.
package reader
