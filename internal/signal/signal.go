// Package signal wakes all goroutines that wait for a state to change.
//
//	under the owner's lock: look, Wait ─► let go of the lock ─► what Wait gave is closed ─► look again
//	under the owner's lock: change, Broadcast ──────────────────────────────┘
//
// # Invariants
//
//   - SG1: a goroutine that reads the state and calls Wait under one hold of the lock is woken by the next change.
//
// # What it does not do
//
// It has no lock of its own, and carries no value: a goroutine that is woken reads the state.
package signal

// Signal wakes all goroutines that wait; the zero value is ready. It is guarded by its owner's lock.
type Signal struct{ ch chan struct{} }

// Wait returns the channel that the next Broadcast closes.
func (s *Signal) Wait() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Broadcast wakes the goroutines that have called Wait since the last Broadcast.
func (s *Signal) Broadcast() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
