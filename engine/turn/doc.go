// Package turn decides which session works next when there is more work than processors: short work goes first.
//
//	Flow.Enter(at least) ── expected: the most of that and what the flow usually takes ──► its lane
//
//	lane    turns of            places
//	short   up to 10 ms         ■ ■          ◄── waiting, by when they are due: arrival + 100 × expected
//	medium  up to 1 s           ■ ■          ◄── …
//	long    any length          ■            ◄── …
//	                            └─ a turn that takes longer than its lane's moves on to the next one: its place is free
//
// Short work never waits for long work, and long work has places that short work cannot take. Within a lane it is
// earliest deadline first, and a deadline is the farther away the more work there is: a turn waits until it has taken a
// hundred times as long as it works, and then before all that came later. Linux' schedulers and those of network queues
// give equal shares; a client whose statement takes a millisecond would have that after all the others' milliseconds.
//
// # Words
//
// A flow is a session. A turn is work of a flow without waits for others; a place is what one turn takes of a lane.
// What a flow usually takes is the mean of its last turns, the later ones counting more.
//
// # Invariants
//
//   - T1: no turn enters a lane whose places are taken. There are more inside only where turns moved on or resumed.
//   - T2: while a turn waits, the places of its lane are taken, or were when it last looked: it looks again when the
//     lane's longest turn must be over.
//   - T3: of the turns that wait in a lane the one that is due first is next; of equal ones, the one that came first.
//   - T4: a turn holds a place of a lane no longer than turns of the lane take, if another turn waits for it.
//
// # Locks
//
// Queue.mu guards everything, that of its flows too. It is a leaf.
//
// # What it does not do
//
// It interrupts no session and has no clock of its own. A session that waits for a client, or for another session,
// pauses its turn before (Pause): that one may wait here.
package turn
