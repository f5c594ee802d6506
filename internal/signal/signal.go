// Package signal wakes everybody who waits for a state to be another one.
//
//	under the owner's lock: look, Wait ─► let go of the lock ─► what Wait gave is closed ─► look again
//	under the owner's lock: change, Broadcast ──────────────────────────────┘
//
// # Invariants
//
//   - SG1: who has looked, and called Wait under the same hold of the lock, is woken by every change that comes after.
//
// # What it does not do
//
// It has no lock of its own, and carries nothing: who is woken looks.
package signal

// Signal wakes everybody who waits; the zero value is ready. It is guarded by its owner's lock.
type Signal struct{ ch chan struct{} }

// Wait is what the next Broadcast closes.
func (s *Signal) Wait() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Broadcast wakes who has called Wait since the last one.
func (s *Signal) Broadcast() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
