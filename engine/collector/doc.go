// Package collector has rows that sessions of several nodes put into one table meet at one node, which commits them
// together.
//
//	node b: INSERT ─► gathering ─┬─► commit; it lost a race against a: the nodes meet at this table
//	                             └─► hand over ──── rows, receipt ───► node a: gathering ─► one commit ─► store
//	                                            ◄──── revision ──────          ▲
//	node c: INSERT ─► gathering ──── hand over ────────────────────────────────┘
//
// Each commit to a table compares what the one before it has left, so that of nodes that commit at once all but one
// lose and try again behind it: with three nodes each row cost as much as three did with one. What a node hands over is
// rows that an INSERT lists, a few, before they are data in lent memory; chunks never travel. Rows of a table at which
// no other node is met are not handed over.
//
// # Words
//
// Nodes meet at a table when one of them has lost a race for it, and for a while after. The collector of a table is the
// node that commits for all then: its steward (member), which folds its chunks, too, so that folds and rows are
// committed in turn. A hand-over is one call.
//
// # Invariants
//
//   - HN1: rows that were handed over are committed once or not at all, and are acknowledged when that is known:
//     without an answer the receipt is settled (RC1), and only then the node commits them itself.
//   - HN2: what was handed over is not handed on.
//   - HN3: a node that does not collect costs one call in a while, and no statement.
//
// # Lock order
//
// meetings.mu is a leaf.
//
// # What it does not do
//
// It hands over nothing of a transaction that does more than insert, nor of tables with keys or checks (gathering), nor
// more than noderpc.MaxCollectBytes. It starts no goroutine.
package collector
