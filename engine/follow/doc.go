// Package follow notifies the followers of a table of its new versions, of which they read the newest in place.
//
//	commit ─► catalog.Moved ─► Hub: which tables are others than they were? ─► Watch of each: one place for news
//	                            │ one loop, whatever the number of watches            │ full already: nothing is added
//	                            ▼                                                     ▼
//	LISTEN: Listening ─► heard: the last of each channel ─► the client, between its transactions
//
//	another process: Await ◄─ a call that waits            Versions: pin a snapshot ─► Version ─► its reader's loop
//	   ▲                                                       ▲  let go of it, wait for news        │
//	   └──────── Remote: one call for all that is followed     └─────────────────────────────────────┘
//
// News say only that there is something to see. Which version is read is decided when it is pinned, so that a slow
// follower sees the newest version next, and what came between is in it.
//
// # Words
//
// A watch is of one table, by its identity, or of one name. A follower reads versions in a loop. A version is news if
// its rows, its columns or its name are others: that chunks were folded or moved is none. A channel is what LISTEN
// names: it is of what has a table's name.
//
// # Invariants
//
//   - FW1: a watch is notified of every change that comes after it began: not of each one by itself, but of one after
//     the last.
//   - FW2: nothing waits for a watch: a commit, the loop and other watches go on, whatever it does.
//   - FW3: a follower's version stays in place until its turn of the loop is over, and nothing is held for it while it
//     waits.
//   - FW4: after Close no loop runs, and every watch was notified of the end.
//   - FW5: what LISTEN and UNLISTEN say counts when their transaction is committed, and a session hears of commits
//     that come after; one place for each channel is all that is kept of what its client does not read.
//
// # Lock order
//
// Hub.mu → the catalog's locks, Listening.mu. Remote.mu is a leaf. No session is woken under Listening.mu.
//
// # What it does not do
//
// It keeps no version that has no reader (a table's retention does), and has no queue: a follower that needs every
// version reads those that are kept (AT (VERSION => n)).
package follow
