// Package compaction decides which chunks of a table are folded, and remembers what was.
//
//	rows of the chunks   900 │ 400 │ 7 1 2 1 1 1 …  ─ Plan ─► runs: (400) stays, (7 1 2 1 1 1 …) becomes one chunk
//	                                                          upkeep folds a run, and asks again
//
// # Words
//
// A fold puts one chunk in the place of a run: chunks that follow each other, with the same rows, except deleted ones
// (hugetable's H7, H8). The compaction is what does it in the background. A chunk is full if no fold makes it larger;
// it is wasteful if a fourth of its rows or more are deleted, and take 64 KiB at least. A key is what may be folded
// together: chunks of different keys, and on either side of one without a key, stay apart.
//
// # Invariants
//
//   - CP1: a run has at least two chunks, of one key, whose numbers follow each other, and within the limits together.
//   - CP2: a row is folded again only when its chunk becomes half as large again, at least: a few times, whatever the
//     number of rows. A chunk that is larger than those before it is folded with them once. It is also rewritten when a
//     third as many rows beside it are deleted.
//   - CP3: after all runs of a plan are folded, of the chunks of one key that follow each other each has more than
//     twice the rows of the next one, or the limits keep them apart.
//   - CP4: after that none of them is wasteful.
//
// # Lock order
//
// Log.mu is a leaf.
//
// # What it does not do
//
// It reads and writes nothing, and has no clock: package upkeep folds.
package compaction
