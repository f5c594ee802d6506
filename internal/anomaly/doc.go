// Package anomaly checks a history of what clients of a database saw for violations of the promised isolation.
//
//	history ─► what each read says ─────────► duplicates, unknown values, G1a, G1b, internal ones
//	   │              │
//	   │              ▼
//	   │       orders of versions ──────────► incompatible orders, lost appends, lost updates
//	   │              │
//	   ▼              ▼
//	events ───► ww, wr, rw, order ──► cycles ► G0, G1c, G-single, G-nonadjacent, G2, each with -session or -realtime
//
// It follows Kingsbury and Alvaro, “Elle: Inferring Isolation Anomalies from Experimental Observations” (VLDB 2020):
// transactions append values, each of which is appended once. So a read of a list shows its versions in their order,
// and which transactions wrote them. The anomalies are those of Adya's thesis, “Weak Consistency: A Generalized Theory
// and Optimistic Implementations for Distributed Transactions” (MIT 1999).
//
// Where Elle searches a graph of transactions for cycles of many kinds, here the nodes are events: moments at which a
// transaction meets the database. What its level promises says which of its events are one.
//
//	READ COMMITTED       statement ──► statement ──► commit      each statement has a snapshot of its own
//	snapshot isolation   start ──────────────────► commit        one snapshot for all that is read
//	SERIALIZABLE         point                                   all happens at once
//
//	A ─ww─► B   B's version is the next behind A's: A's commit is before B's start (READ COMMITTED: before its commit)
//	A ─wr─► B   B has read what A wrote:            A's commit is before that read of B
//	A ─rw─► B   A has read what B's version follows: that read of A is before B's commit
//	A ─rt─► B   the answer of A's event was there before B's was asked for
//
// The promises are kept if all events can be put into one order, that is if there is no cycle. For snapshot isolation
// that is the theorem of Cerone and Gotsman (“Analysing Snapshot Isolation”, PODC 2016): no cycle without two rw edges
// in a row, for behind an rw edge one stands at a commit, from which no other rw edge leads. Transactions of several
// levels may be in one history.
//
// # Words
//
//   - list: an object whose reads show its values in the order in which they were appended
//   - set: one whose reads show them in no order, and to which concurrent transactions may add without a conflict
//   - moment: a number that grows; the history's only clock
//   - observed: a value that a read of another transaction has shown
//   - cycles: G0 has only ww edges, G1c ww and wr edges, G-single one rw edge (a lost update is one over one object),
//     G-nonadjacent several, no two of them in a row, G2 two in a row
//   - reads: G1a is one of what was rolled back, G1b one of a part of what a transaction appended
//   - -session, -realtime: the cycle needs that a session's transactions are in order, or that a later question is
//     asked of a later state. The latter are Adya's G-SI: start-ordered cycles
//
// # Invariants
//
//   - AN1: a history that the promises allow has no anomaly: every edge is one that they prescribe.
//   - AN2: the same history has the same anomalies, in the same order, with the same words.
//   - AN3: a transaction of unknown outcome is held to nothing but what was observed of it.
//   - AN4: an anomaly names the transactions that show it, with their statements and the answers.
//
// # What it does not do
//
// It runs nothing (package workload does) and has no clock and no randomness. Of a strongly connected component it
// shows one short cycle, not all. Objects only grow: deletions must be recorded as a set of the deleted values. It
// knows no predicates: phantoms show as values of sets.
package anomaly
