// Package edit records how one text was made from another, so that a place in the new text is found in the old one.
//
//	what was there     SELECT 0x1F, a FROM t
//	                          └7,11┘         └20,21┘
//	what was made      SELECT 31, a FROM csm_scan(1) AS "t"
//	                          └7,9┘       └18,36┘
//	the List           {7, 11, 2} {20, 21, 18}
//
// A statement is rewritten several times before DuckDB plans it: constants get plain spellings, tables become scans,
// parameters get casts. What DuckDB says of a byte of the last text is to point into the first one. So each rewriting
// gives its List, Then makes one of two that follow each other, and Back is the way to the first text.
//
// # Words
//
// edit: one replacement. Length: of what was put in its place, in bytes. offset: in bytes, from 0. position: in
// characters, from 1, as PostgreSQL's clients count; 0 is none.
//
// # Invariants
//
//   - edit.E1: a text that an Editor made is the original with every edit of its List applied to it, and nothing else;
//     the edits are in order and do not overlap.
//   - edit.E2: Back never decreases. What was kept goes back to itself, and what was put in goes back to the start of
//     what it stands for.
//   - edit.E3: a.Then(b).Back(i) == a.Back(b.Back(i)), for every offset i of the last text.
//
// # What it does not do
//
// It knows nothing of SQL and keeps no text: a List is small, whatever was written. It imports nothing of ours, and
// anything may import it.
package edit
