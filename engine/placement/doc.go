// Package placement is the choice, made per table, of the nodes in whose memory its rows lie.
//
//	local                    where it is written
//	node(NAME)               everything on one node
//	rows                     chunk by chunk over all nodes         rows(a, b)            over these
//	hash(col, …)             row by row, by a hash of columns      hash(col, …) on (a, b)
//	hash(col, …) dividing    the same for rows that are written; others lie elsewhere still
//
// A name is written bare (letters, digits, _, -, .) or in double quotes, a quote in it doubled, as in SQL. Bare words
// are not folded: the engine finds columns without regard to case and puts the found name into the table's record.
//
// # Words
//
// The text of a placement is what users write and what a table's record keeps; its canonical form is String's.
//
// # Invariants
//
//   - P1: Parse(p.String()) equals p, for every p that Parse returns.
//   - P2: Parse never panics, whatever it is given, and an error says where the text went wrong.
//
// # What it does not do
//
// It knows no nodes, tables or columns: the engine checks whether what is named exists. It imports nothing of ours.
package placement
