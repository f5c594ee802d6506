// Package message reads and writes protobuf's wire format by hand.
//
//	┌ tag ────────────────┬ payload ─────────────────────────────┐
//	│ field<<3 | wiretype │ varint │ 8 bytes │ length + bytes     │
//	└─────────────────────┴──────────────────────────────────────┘
//
// The schemas are ordinary .proto files beside their users, so any protobuf tool reads what we write; the code is not
// generated because a chunk's descriptor must be written and checked in about a microsecond and because reading must
// stop at the first field that does not fit instead of building a tree first.
//
// Invariants:
//
//	W1  a Reader never reads outside its bytes, whatever they are; the first fault sticks and every later read yields zero.
//	W2  unknown fields are skipped, so that an old reader survives a new writer of the same format number.
//
// It does not know any message: callers own the meaning of fields.
package message
