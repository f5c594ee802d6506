// Package commitlog keeps what was committed lately, in order, in a file that is written over again and again.
//
//	┌──────────── half 0 ───────────────┐┌──────────── half 1 ───────────────┐
//	│ 41 │ 42 │  43  │ 44 │ older, dead ││ 37 │ 38 │ 39 │   40   │ settled   │
//	└───────────────────▲───────────────┘└───────────────────────────────────┘
//	                 the next Append     the store has these in its own file: Turn may write over them
//
// A file that grows costs two writes of a disk for each sync, its data and its length; one whose bytes are there
// already costs one. So the halves are filled with zeroes once and never grow or shrink again.
//
//	record   ┌───────┬────────┬──────┬────────┬────────┬──────────┬─────────┬───────────────┐
//	         │ magic │ length │ life │ number │ synced │ checksum │ payload │ zeroes to × 8 │   big endian
//	         │   4   │   4    │  8   │   8    │   8    │    8     │ length  │               │
//	         └───────┴────────┴──────┴────────┴────────┴──────────┴─────────┴───────────────┘
//
// # Words
//
// A record is one committed transaction; its number is the revision that it made, and the next one has the next. A life
// is from one opening of the store to the next: 8 random bytes, which the store keeps in its own file. A record is
// settled when that file has what it says. Synced: every record up to this number was on the disk when this was
// written.
//
// # Invariants
//
//   - CM1: what Read gives is a prefix of what was appended in that life after the number that is settled: all of it
//     if the process died, at least all that Sync came after if the machine did.
//   - CM2: a record that was synced before another one was written, and is not whole, is an error and not an end.
//   - CM3: an Append that failed without ErrUnknown is never read; after ErrUnknown nothing is appended any more.
//   - CM4: no record of another life is read: not one that came behind a gap, which the store did not take back then.
//
// # What it does not do
//
// It has no lock and starts nothing: there is one caller at a time. It does not know what payloads say. It cannot
// distinguish a last record that was damaged on the disk from one that never came there whole; Read says so (torn).
package commitlog
