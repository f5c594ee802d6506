// Package replicas works out on which nodes the replicas of a table's chunks are to lie, from where they do.
//
//	holders of a chunk                  plan                        places
//	a: whole                       replicas = 2                a: what is there
//	b: gone            ──►         nodes a, c           ──►    b: what is there, for when b comes back
//	                                                           c: to be made
//
// The first replica lies where the table's placement says. It says whose part of the table a chunk is, whichever node
// reads it. Each other one lies on the next node behind it, going round, so that what a node has in its part lies
// together once more:
//
//	hash(k) on (a, b, c), replicas = 2       rows of bucket   1      2      3
//	                                         first replica    a      b      c
//	                                         the other one    b      c      a
//
// # Words
//
// A holder is a node that has, or had, one of a chunk's replicas. Whole, away, gone and lost are what it is worth: see
// State. A place is where a replica is to lie.
//
// # Invariants
//
//   - RP1: no two replicas of a chunk lie on one node.
//   - RP2: a replica that can be read goes only if as many as are wanted can be read without it.
//   - RP3: with a hash the first replica stays on its node, there or not: what the planner knows of hashed rows
//     (exec/plan/distribute, D4) it knows by that node.
//   - RP4: what was mended is not mended again: Mended of its own outcome changes nothing.
//
// # What it does not do
//
// It copies nothing and knows no catalog, no memory and no clock: the caller says which nodes are there, and how long
// the others have been away.
package replicas
