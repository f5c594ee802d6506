package turn

import "time"

// Arrive is the first step of Enter: true when the flow waits.
func (f *Flow) Arrive(atLeast time.Duration) (waits bool) { return f.arrive(atLeast) > 0 }

// GiveUp is its last one when the context has ended.
func (f *Flow) GiveUp() { f.giveUp() }
