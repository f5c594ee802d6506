// Package optimization names what the engine does only to be faster, so that a session can have it left out.
//
//	SET csm.disable = 'enum, keys' ── Parse ─► Set{Keys, Enum} ─► planning asks Set.Has(Enum)
//	                                              └── String ─► "keys, enum": SHOW, EXPLAIN, the settings of a fragment
//
// # Words
//
// An optimization is a way to the same answer, in value and type. What decides whether there is an answer at all is
// none: a statement is not split in an open transaction that has written, and a parameter without a type is planned
// when it has a value, because there is no other way.
//
// # Invariants
//
//   - O1: whatever is in a Set, a query gives the same rows; in the same order as far as ORDER BY orders them. Sums of
//     floating point numbers may differ in their last digits, as they do between two runs of any plan with several
//     threads.
//   - O2: every optimization of csmsql has a name in the table, and every name in the table has an effect.
//   - O3: Parse(s.String()) is s.
//
// # What it does not do
//
// It switches nothing off: package engine does. DuckDB's own optimizers are not in it.
package optimization
