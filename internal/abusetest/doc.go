// Package abusetest tests a csmsql node against clients that ask for too much, in a control group of exactly the memory
// that its help asks for. It has only tests.
//
//	start ── cgroup (--region + --memory + 150 MiB, no swap) ── csmsql serve
//	                                                              ▲      ▲
//	          attacks: 18, each by some sessions, by hand ────────┘      └──── customer: pgx, knows its answers
//	          (a process of their own)
//	          watch: what the group holds, every 20 ms
//
// TestAttacks plays each attack at a node of its own, TestAbuse all of them at one, again and again. CSMSQL_ABUSE=10m
// (make abuse) has the one do its worst and the other go on for so long; make test has some seconds of the former.
//
// # Words
//
// An attack makes the node keep something: messages, statements, portals, answers that are not read, settings, trees of
// long texts, versions, plans. An attacker is one of its clients. The customer is the client that behaves. What is held
// is what the kernel cannot take back: all but files' pages.
//
// # Invariants
//
//   - AB1: no process of the group is ever killed, and none panics.
//   - AB2: what the node holds of its own, without the region, is never more than --memory + 150 MiB.
//   - AB3: an attack gets only refusals that say so (53200, 54000, 53400 and their consequences), and clients that ask
//     for little get it.
//   - AB4: the customer's answers are right. It may get the error that there is no memory just now.
//   - AB5: when the attackers are gone, the account is empty and memory within 10 % of its level: what it was after a first
//     round of them, as long and as hard. By then the node has what it keeps once it has been used so (allocators'
//     records of as many extents as there ever were at once, page tables, slabs and spans of which something is in use),
//     and whatever grows with attacks shows.
//   - AB6: where no control group can be made the tests are skipped and say so, unless CSMSQL_CGROUPS=required
//     (continuous integration): then they fail.
//
// # What it does not do
//
// It holds no speed to a bound: how long the customer waits is logged, beside how long it waits when it is quiet and
// when loops use every processor, and depends on the machine. What a single limit is, packages engine, wire and
// exec/duckdb test.
package abusetest
