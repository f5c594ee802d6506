// Package etcd keeps the catalog of a cluster: a store.Store on an etcd, and members of an etcd inside of this process.
//
//	node A                                   node B                                   node C
//	catalog                                  catalog                                  catalog
//	  │ Get Scan Commit Watch Session          │                                        │
//	Store ── fence, lease ── one client      Store                                    Store
//	  │                      for all members   │                                        │
//	  └───────────┬────────────────────────────┴──────────────┬─────────────────────────┘
//	              ▼                                           ▼
//	Server (embedded etcd member) ◀── raft, by etcd ──▶ Server ◀──▶ …        or an etcd of the operators
//
//	csmsql/keys/<key of the catalog>     a record; under the lease of a session if it is ephemeral
//	csmsql/sessions/<lease>              the fence of a session: who, where; under its lease
//
// A Commit is one etcd transaction: the fence and the compares by modification revision, then deletes and puts. A
// process that may write has a fence; etcd deletes it with the session, so that the fence is what makes a dead process
// harmless, and no clock.
//
// # Words
//
//   - member: an etcd server with a vote, or a learner that has none yet; majority: what must be up for anything to
//     work
//   - lease: etcd's promise to keep keys until it has not heard of their owner for a TTL; session: store's word for it
//   - fence: the key of a session that all its transactions compare
//   - unsettled: said of a fence that a transaction compares whose outcome is unknown
//   - round: one renewal of a session with the read that proves it
//   - position: the revision up to which a watch has applied everything
//
// # Invariants
//
// Beside S1 to S9 of catalog/store, of which these are the means:
//
//   - E1: every call ends within Options.Timeout or its context; a round within a third of the TTL
//   - E2: Session.Check is nil only before (when the last proved renewal was sent) + TTL − margin by CLOCK_BOOTTIME,
//     and never after the session was called over. A renewal is proved by a linearizable read that found the fence and
//     saw no newer term: the renewals of a paused, deposed leader are known to no other member
//   - E3: a transaction that does not find its fence as it was does not happen (S7)
//   - E4: before a handle answers anything after ErrUnknown, the fence has another revision: what was under way then
//     fails (S8)
//   - E5: a watch applies revisions in order, whole and once; a broken stream begins again at the position
//   - E6: nothing waits in a queue without a bound: a watch whose apply is slow is not read, and etcd waits
//   - E7: a full member makes room by itself and disarms the alarm, if 80 % of its quota hold what is in use
//
// # Errors
//
//	57P03  etcd has no majority or cannot be reached; nothing changed       ErrUnavailable; of a session: store.ErrSessionUnsure
//	08007  sent and not answered; or it made etcd full                       store.ErrUnknown
//	57P02  the session is over: this process must join again                store.ErrSessionOver
//	53100  etcd's database is full, and what was asked would make it larger
//	58000  etcd refuses, and would again (rights, corruption)
//	22023  an option is wrong
//
// A Store with a member in its own process (Options.Member) reads single keys from that, linearizably as everywhere and
// without a connection: every statement of a cluster begins with such a read. What the member cannot answer is asked of
// any member that can be reached.
//
// Reads go on as long as a majority does. Without one, commits fail after Options.Timeout, the session becomes unsure,
// and whatever was read before stays good: snapshots need no etcd. etcd extends all leases when it has a leader again,
// so that an outage of etcd alone ends no session.
//
// # Goroutines and locks
//
// One goroutine in a Store (rounds), two in a Server (it waits for its end, and looks after its database), joined by
// Close; a Watch runs in its caller's. No lock is held over a call. fence.settling is a token: its holder writes the fence, the others wait for
// it.
//
//	session.mu → watching.mu;  fence.mu, Server.mu: alone
//
// # What it does not do
//
// No consensus, no election, no lock: etcd does that. It does not know what the records mean. It keeps no copy of them.
// It makes no certificates; a holder of one of the cluster's authority may do everything in etcd, whatever its role. It
// does not remove members that are gone, and restores no backups: a member whose directory is lost is taken out and
// joins again.
package etcd
