// Package facts is what planning needs of a table's version: what its columns hold, how they are stored, which values a
// dictionary column has at all, and where each chunk lies. A version never changes, so that each of these is found out
// once.
//
//	catalog.TableVersion ─► Cache.Of ─► Facts ─┬ Relation: statistics in the planner's terms
//	                           │               ├ Stored: the types that all chunks can be brought to
//	       account ◄─ charged ─┘               ├ Domain: a column's values over all chunks (by a reader.Reader)
//	                                           ├ Chunks: where each one lies
//	                                           └ Pruned: those whose statistics do not rule them out
//
// # Words
//
// A domain is the set of a dictionary column's values; one is unfit if the column cannot be shown as ENUM. Located is
// where one chunk lies.
//
// # Invariants
//
//   - FA1: facts are of one version and are never wrong for it: what was read of memory is confirmed before it is
//     remembered, and what could not be read is not remembered.
//   - FA2: what the cache keeps is charged, and beyond what is granted all of it is forgotten; a statement's own facts
//     live as long as it. Nothing is kept of versions that are in no catalog any more (Keep).
//   - FA3: a bound that the planner does not compare is unknown, and rules nothing out.
//
// # Lock order
//
// Facts.mu → Cache.mu → the account's. Reading a domain is done under Facts.mu: another caller waits instead of reading
// the same.
//
// # What it does not do
//
// It knows no node by name and no session: whose part of a table a chunk is, and how a table is split, the engine says.
package facts
