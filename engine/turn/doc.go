// Package turn decides who may work next when there is more work than processors: who asks for little goes before who asks for much.
//
//	Flow.Enter(cost) ── a place is free, nobody waits ───────────► leave
//	        └── waiting, by tag: max(now, the flow's last tag) + cost ──► the least tag when a place is free
//
// It is start-time fair queueing: the queue's time is the tag of whoever was let in last. Each entry moves its flow's tag on by what it costs,
// so a flow that has asked for much waits for those that have asked for little, and a flow that was idle does not save anything up. Nobody waits for ever: who comes
// later has later tags. No clock is asked.
//
// # Words
//
// A flow is a session, a place what one entry takes of the processors, the cost how much work an entry brings, in any unit.
//
// # Invariants
//
//   - T1: no more are inside than there are places.
//   - T2: while someone waits, every place is taken.
//   - T3: of those who wait, the one with the least tag is next; of equal ones, who came first.
//
// # Locks
//
// Queue.mu guards everything, that of its flows too. It is a leaf.
//
// # What it does not do
//
// It interrupts nobody: what enters must end by itself soon, and may not wait for its client or for someone else who waits here. It does not
// know what work costs, that is said by who enters.
package turn
