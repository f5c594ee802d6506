// Package growing is the part of the benchmark growth that runs in a node: it makes as many tables, or chunks of one
// table, as are wanted, and runs prepared statements beside them.
//
//	Make ─► keyed, elsewhere: the same in every size ─┬─► Repeat, again and again
//	   └──► t0, t1, … or many: rows in so many chunks ┘
//
// Invariants:
//
//   - GB1: what is asked is the same in every size: only the number of the others is another one.
//   - GB2: no answer is left out: every time has its own.
//
// It compares nothing: the caller knows the right answers.
package growing
