// Package wire speaks the PostgreSQL frontend/backend protocol, version 3.0, for any Backend.
//
// It knows the protocol and nothing of databases: statements go to a Session as text, rows come back as Arrow record
// batches and leave as DataRow messages, encoded column-wise by pgformat straight into the connection's output buffer.
// No row object exists in between.
//
//	client                            connection                       Session / Statement / Result
//	  │  SSLRequest ──────────────────► 'N'
//	  │  StartupMessage ──────────────► slot? parameters? ───────────► Backend.Open
//	  │ ◄── AuthenticationOk, ParameterStatus…, BackendKeyData, ReadyForQuery
//	  │
//	  │  Query "a; b" ────────────────► ─────────────────────────────► Split
//	  │                                 BeginImplicit (several only)
//	  │ ◄── RowDescription ──────────── ◄────────────────────────────  Prepare a, Fields
//	  │ ◄── DataRow … (buffer full) ─── ◄──── record batches ────────  Execute, Next, Next, EOF
//	  │ ◄── CommandComplete ─────────── ◄────────────────────────────  CommandTag, Close
//	  │     … the same for b …          EndImplicit
//	  │ ◄── ParameterStatus (changed), ReadyForQuery
//	  │
//	  │  Parse, Bind, Describe, Execute(limit), Sync: the same steps, one message each
//	  │
//	  │ ◄── NotificationResponse ────── ◄──── Client.Heard, Heard ───  (between transactions, also unasked)
//	  │
//	  │  (another connection) CancelRequest ─► registry ─► running.interrupt ─► context of the statement
//
// A pipeline of extended messages, pipelineState:
//
//	               Parse Bind Describe Execute Close Flush
//	        ┌────┐            ┌────┐
//	        ▼    │            ▼    │
//	     ┌────────┐  message ┌──────┐  failure ┌──────────┐
//	────►│  idle  ├─────────►│ open ├─────────►│ skipping │──┐ everything but
//	     └────────┘          └──┬───┘          └────┬─────┘◄─┘ Sync and Terminate
//	        ▲    Sync: commit   │   Sync: roll back │
//	        └───────────────────┴───────────────────┘
//
// A portal, portalState: new ─ Execute ─► open ─ limit ─► open ─ end, error, close, end of transaction ─► done.
//
// # Words
//
// A connection is one client's socket. A statement is what Parse prepares, named or not. A portal is a statement bound
// to its arguments, which can stop after some rows and go on. A pipeline is what a client sends between two Syncs. The
// lobby is where connections wait that have not become sessions.
//
// # Goroutines and locks
//
// One goroutine per connection reads, runs and writes; Serve joins it. Each connection may have one more, from the end
// of the server's context on, which interrupts it (life.joined). Others reach a connection through seven locks, none of
// which is held while another is taken or foreign code runs, except copyStream.mu, under which the socket is read:
// registry.mu, lobby.mu, running.mu, reports.mu, life.mu, statements.mu, copyStream.mu.
//
// A connection that is the only one to read looks for its client's next message for 50 µs before its goroutine sleeps
// (eager): to sleep costs a client that sends one small query after the other a fifth of its time.
//
// There is no read-ahead of batches: a Result may use its batch until the next Next, and its producer knows better than
// this package how much to compute ahead.
//
// # Invariants
//
//   - W1: nothing but loopback and unix sockets is bound without authentication (CheckListen).
//   - W2: sessions are at most MaxConnections, connections that are not sessions at most that and a few; each has a
//     bound in time, and the one that has been silent for longest makes room for a newcomer. Messages, prepared
//     statements, portals and notices are bounded, too.
//   - W3: when Serve returns, nothing of its connections is left: no goroutine, session, statement or result, but what
//     a session was not done with when it was closed (Settling), of which its Backend knows.
//   - W4: a cancel request hits the statement that runs, and what the same message, or pipeline, would run after it, if
//     the key is right; otherwise nothing, silently.
//   - W5: the output buffer holds OutputBufferBytes and one row, or message, at most; when it is full the client's
//     speed is the producer's.
//   - W6: a panic ends the connection that met it, with an ErrorResponse and a line in the log, and nothing else.
//   - W7: after an error nothing of a pipeline is looked at until Sync, and exactly one ReadyForQuery answers it.
//   - W8: what a client makes a connection keep beyond its fixed buffers is charged to the session's account before
//     (Accounted): messages as they arrive, arguments of portals, buffers that rows fill until the client's next turn.
//     What is refused fails its message, and no other. Buffers of long messages return to a shared pool once the
//     message is no longer read (bodyPool): what is kept of one is a copy.
//   - W9: notifications that a session has received (Hearing) are sent to its client between transactions only. A
//     client that does not read does not keep its connection from reading, nor from ending.
//
// # What it does not do
//
// No TLS, no passwords (only trust, hence W1), no replication, no function call messages, no client
// encodings other than UTF8, no DateStyle but ISO and no IntervalStyle but postgres. It never looks into SQL beyond
// recognizing an empty string: transactions, SET, DEALLOCATE, cursors and COPY's options are the session's.
package wire
