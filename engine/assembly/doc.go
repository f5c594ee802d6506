// Package assembly makes tables of parts that Arrow builders write straight into the memory of nodes (the thesis,
// §3.8).
//
//	Begin ─► Part("b", 0)    ─► Allocator ─► builders ─► Add ─┐  every batch that is added is one chunk, sealed where
//	     └─► Part("c", 5000) ─► Allocator ─► builders ─► Add ─┤  it was built
//	                                                          └► Commit: one version, which all sessions see, or none
//
// # Words
//
// A part is some of the assembly's rows in one node's memory; it says which rows it has, counted from 0.
//
// # Invariants
//
//   - AS1: an assembly leaves one version with all rows of its parts in their order, without gap and overlap, or
//     nothing.
//   - AS2: rows hold what INSERT's would: types, NOT NULL, checks, limits of columns.
//   - AS3: memory that builders have is the assembly's; it ends with it, and with the engine.
//
// # Lock order
//
// Assembly.mu → Part.mu → the locks of spaces.
//
// # What it does not do
//
// It places no rows: the caller of Part names its node. Rows that a hash places are INSERT's.
package assembly
