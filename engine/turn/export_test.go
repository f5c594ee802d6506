package turn

import "time"

// Arrive is the first step of Enter: true when the flow waits.
func (f *Flow) Arrive(atLeast time.Duration) (waits bool) { return f.arrive(atLeast) > 0 }

// GiveUp is its last one when the context has ended.
func (f *Flow) GiveUp() { f.giveUp() }

// Locked tells whether anybody holds the queue's lock.
func (q *Queue) Locked() bool {
	if !q.mu.TryLock() {
		return true
	}
	q.mu.Unlock()
	return false
}
