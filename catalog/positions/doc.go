// Package positions is a set of rows of one chunk, by their positions in it: which of them are deleted.
//
//	position  0 1 2 3 4 5 6 7 …        in memory     a bit each, 64 in a word
//	          · x · · x x x ·          written down  the gaps between them, or the bits: whichever is shorter
//
// # Written form
//
//	uvarint count ── byte 1 ── for each run: uvarint gap·2, or gap·2+1 and then uvarint of its length less 2
//	             └── byte 2 ── the bits, eight in a byte, the first lowest
//
// A gap is the number of positions that are not in the set between the end of the run before, or 0, and the run.
//
// # Invariants
//
//   - PO1: what Decode takes is a set of positions below the number of rows, and of as many as its first number says;
//     anything else is an error.
//   - PO2: a set is not changed once it was handed on.
//
// # Lock order
//
// It has no locks.
//
// # What it does not do
//
// It knows no chunk, no version and no file.
package positions
