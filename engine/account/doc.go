// Package account is a node's account of the memory that clients make it keep.
//
//	            Take(kind, bytes) ─► granted: it may be kept           Give(kind, bytes) ─► exactly what was taken
//	                 │                                                       │
//	session ─────────┴── refused: 53200, or 54000 for what no session gets ──┘
//
//	Node   ├──────────────── most ───────────────────────────────────────────┤
//	       │ session A: message 3, plan 9 │ session B: copy 8 │      free     │
//
// A caller that is about to keep bytes for a client takes them first, and gives them back when they are gone. Nothing
// is allocated here but by an Allocator, which does both for arrays.
//
// # Words
//
// A session is a client's part of the account. A kind is what the bytes are for; csm.memory shows them by it. The share
// is what a session may hold at most, by its setting. Free is what no session holds. Base is what it takes in any case,
// of which no share is charged (Begin). Brief is what a statement has only while it is planned (TakeBriefly). The
// source is where memory comes from beyond what clients may always have (DuckDB's queries), the room what it has given
// so far.
//
// # Shares
//
// A session may hold no more than what stays free after it has taken: the dynamic threshold by which switches divide
// the buffer that their ports share. One session alone gets half of the node, n greedy ones get 1/(n+1) each, and
// 1/(n+1) stays free for the next. So a session that holds little is served however much the others want, and no limit
// depends on the number of sessions that might come.
//
// # Invariants
//
//   - A1: the charges of the sessions and their bases add up to the node's, and those of its kinds to a session's.
//   - A2: what is kept is never above the node's bound, and with what is brief never above twice of it.
//   - A3: what is refused changes nothing.
//   - A4: a session gives back no more of a kind than it took, and a closed one holds nothing.
//   - A5: what is used is never above the room: the source gives before, and has back after.
//   - A6: what an allocator's arrays take is charged from before they are made until the last is released; above that is
//     at most what is allocated between a refusal and the next look at Refused, none of which came from Try.
//
// # Locks
//
//	Node.moving             held while the source is asked
//	Node.checking, Node.mu  which sessions there are
//	Allocator.mu            what its arrays take, which come and go in several goroutines
//	  Session.mu            its charges; two are held only by the check of a build with invariants
//	    Node.balance        the sums, replaced by compare-and-swap
//
// No foreign code runs under Node.mu or Session.mu. The sums are no lock's: all sessions charge them several times in
// each statement, and on a busy machine they would wait, one after the other, for a session that lost its processor
// while it held the lock.
//
// # What it does not do
//
// It measures nothing: the caller says how many bytes it takes. It makes no room: a caller that is refused may drop
// what it can do without, and ask again. What DuckDB allocates is bounded in exec/duckdb.
package account
