// Package descriptor is what travels instead of data: the description of one sealed chunk.
//
//	Descriptor
//	├ extents      region, range, generation, seal            where in lent memory; the others: where again (replicas)
//	├ schema       physical Arrow types                       any type Arrow has
//	├ columns      Node ┬ length, nulls, offset
//	│                   ├ buffers: extent, offset, length, xxh3
//	│                   ├ children …
//	│                   └ dictionary
//	└ statistics   nulls, distinct, min, max for each column
//
//	write:  record batch in extents ─ Describe ─► Descriptor ─ Encode ─► bytes (descriptor.proto)
//	read:   bytes ─ Decode (validates) ─► Descriptor ─ Record(resolve) ─► record batch over mapped bytes, zero-copy
//
// Everything is offset-based: the same descriptor serves processes that map the region elsewhere.
//
// Invariants that hold of every descriptor that Decode returned:
//
//	D1  every buffer lies inside the sealed part of one of the descriptor's extents, on a 128-byte boundary; extents are
//	    on page boundaries, in range and disjoint.
//	D2  every buffer is as long as type, length and offset demand, as far as that does not depend on data.
//	D3  arrays fit their types: buffer and child numbers, dictionaries, child lengths, null counts.
//	D4  nothing is larger than the package's limits, so no arithmetic on it overflows and no recursion is deep.
//	D5  (ValidateData, not Decode) offsets, views, codes and run ends in the bytes point inside their data.
//	D6  what a Decoder makes of bytes is what Decode makes of them: no descriptor shares anything but schema, owner and blocks of
//	    memory with others that were decoded beside it.
//	D7  the replicas have the same extents: as many, as long, with the same seals; all of them together are disjoint.
//
// It does not map, acquire, pin or lease anything, and a Descriptor says nothing about the right to read it.
package descriptor
