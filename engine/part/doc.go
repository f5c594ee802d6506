// Package part takes a statement apart: queries in it that lock rows, and changes in its WITH, run before it, and it
// reads what they gave.
//
//	WITH w AS (DELETE FROM q WHERE k < 9 RETURNING *) INSERT INTO done SELECT * FROM w
//	           └──────────── part 1 ────────────────┘
//	                     │ Find, Parse: a statement of its own
//	                     ▼
//	           rows, kept ─► csm_scan(7) ─► WITH w AS (SELECT c0 AS k, … FROM csm_scan(7)) INSERT INTO done SELECT * FROM w
//	                                        └─────────────────────────── Over ──────────────────────────────────────┘
//
// # Words
//
// A part is a query with FOR UPDATE or FOR SHARE (package locking) in a subquery, in WITH, or the one that an INSERT
// takes its rows from; or an INSERT, UPDATE or DELETE in WITH. Around is the statement over what its parts give.
//
// # Invariants
//
//   - PT1: a part is run once for each time that its statement is, whether the statement reads its rows or not, in the
//     order in which parts stand in the text.
//   - PT2: all parts and the statement see one snapshot, without each other's changes, and change one transaction.
//   - PT3: a part means what it means in its place: names of WITH that it can see there are put before it, and what it
//     cannot be given, such as columns of the tables around it, is an error.
//   - PT4: a row is changed once by a statement, or there is an error.
//
// # Lock order
//
// It has no locks: a statement is its session's.
//
// # What it does not do
//
// It plans and runs nothing: the engine does. It reads no view.
package part
