// Package sequence is SQL's sequences: what they are, how they count, and what says nextval in a text.
//
//	CREATE SEQUENCE s, serial, IDENTITY ─► Changes ─► a view of the catalog that has a Definition and a counter
//	nextval('s')          ─► Translate ─► csm_nextval('s')         ─┐
//	DEFAULT nextval('s')  ─► Bind ──────► csm_nextval__of(number)  ─┴► Conversation ─► Keeper ─► the catalog's counter
//	INSERT … VALUES without DuckDB ───────────────────────────────────────────┘
//
// A sequence is a view in the catalog: so it has a name among those of tables, a schema, a number, and rows that can be
// read. Its Definition is on the view's record, and changes in transactions. How far it has counted is in a record of
// its own, the counter, which changes at once and for all sessions: a rollback takes no value back.
//
// # Words
//
// A range is a run of values that a node has reserved by one change of the counter, and hands out without another one.
// A sequence is set by setval; it is restarted by getting another counter. Its owner is the column with which it goes.
//
// # Invariants
//
//   - SQ1: no value of a counter is handed out twice, whichever node dies whenever: it was durably reserved before, by
//     one node. A setval, a RESTART and CYCLE are the exceptions that SQL wants.
//   - SQ2: a value is handed out by a definition that the statement sees, or a newer one.
//   - SQ3: nothing that is only planned, described or prepared takes a value.
//   - SQ4: what names a sequence in a default names it by its number: it may be renamed, and not dropped.
//
// # Lock order
//
// Conversation.mu → Keeper.mu → held.mu → the catalog's store. Keeper.mu is not held while the store is asked, except
// by Close.
//
// # What it does not do
//
// It promises no order between nodes, each of which has ranges of its own, and no values without gaps. Temporary
// sequences are DuckDB's.
package sequence
