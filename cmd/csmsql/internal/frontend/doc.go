// Package frontend joins the PostgreSQL protocol (package wire) with the engine.
//
//	client ──► wire.Server ──► Backend.Open ──► session ──► engine.Session
//	                              │                │ Prepare
//	                              │                ▼
//	                              │             statement ── Execute(wire.Value → engine value) ──► result
//	                              │             copyIn    ── rows of text  ──► engine.Statement.CopyIn
//	                              │             copyOut   ── record batches ──► wire encodes them
//	                              └─ access: one database, any user (the listeners are loopback or a unix socket)
//
// Record batches pass through as they lie in the region: dictionaries and views are wire's business, nothing is
// converted here. Errors pass through too; wire finds SQLSTATE, position, detail and hint by their methods.
//
// Words: a *reported* setting is one whose changes are sent to the client (ParameterStatus); *deduced* types of
// parameters are the engine's, *declared* ones the client's.
//
// Invariants:
//
//   - F1: the client receives every change of a reported setting before the statement's completion, whatever caused it
//     (SET, RESET, DISCARD).
//
//   - F2: a parameter's declared type wins over the deduced one, and both over text.
//
//   - F3: a batch handed to wire lives until the next Next or Close and is released exactly once.
//
//   - F4: a statement that was cancelled, or took too long, fails soon, whatever DuckDB does (calls). It leaves no
//     effect: one that writes checks this before it commits (outcome.Outcome), and the block that it was in has failed.
//
// One connection's goroutine uses a session at a time. Calls of the engine that may take long it makes in another
// goroutine, its caller. While one of those is overdue nothing else touches the engine's session. calls.mu is the only
// lock, a leaf.
//
// It does not authenticate, since the listeners are not reachable from other machines. Of SQL it knows only what the
// protocol requires: the types of parameters.
package frontend
