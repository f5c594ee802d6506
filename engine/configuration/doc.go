// Package configuration is the settings of one session: what they are now, what RESET brings back, where they were set.
//
//	client's start ─► Begin ─► started ──┐ Reset
//	SET, set_config() ─► Read ─► value ──┴► Values ── Value, Show, List ─► SHOW, pg_settings
//	                                           └ Verification, Without, Zone, …: what the session does by them
//	BEGIN, SET TRANSACTION ─► Modes ── Changed ─► those of a block
//
// # Words
//
// A value is a setting's text in its base unit (package sql/setting). A placeholder is a setting that the node does not
// define, name.name. Modes are those of one transaction; its settings are no values of the session.
//
// # Invariants
//
//   - CG1: a value that is not accepted changes nothing.
//   - CG2: RESET brings back what the client began the session with, or else what the node says.
//   - CG3: a session verifies no less than its node: what it read unverified it could write into a table, where the
//     damage has a checksum of its own and is not found any more; and other sessions read what one of them has
//     acquired.
//
// # Lock order
//
// Calls.mu is a leaf. All else belongs to the session's goroutine, except what set_config() asks while that one waits.
//
// # What it does not do
//
// It gives settings no effect in DuckDB, charges nothing and knows no transactions: the engine's Session does.
package configuration
