// Package balance decides which replicas move from full nodes to empty ones.
//
//	nodes: capacity     ┐
//	tables: what may go ├──► Plan ──► moves, each of which makes the nodes more even
//	chunks: where, size ┘
//
// A node's fill is what chunks take there as a share of its capacity. From one node to another of less fill goes, as
// long as there is one, a chunk of the table of which the first has most beside the second, so that tables are spread,
// too.
//
// # Invariants
//
//   - BL1: no two replicas of a chunk lie on one node, and none goes to a node that its table does not allow.
//   - BL2: the sum over the nodes of bytes² / capacity becomes less with each move, in the order of the moves.
//   - BL3: what was balanced is not balanced again: the plan of a plan's outcome is empty, unless that had Most moves.
//   - BL4: the same input gives the same plan.
//
// # What it does not do
//
// It copies nothing and knows no catalog, no names and no placements: the caller says where replicas may go.
package balance
