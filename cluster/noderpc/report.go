package noderpc

import "sync"

// reporter sends progress from a goroutine of its own, so that a slow receiver never holds up the load (N10): of each
// step only the newest report waits. It is closed before anything else is sent.
type reporter struct {
	send func(Progress) error
	wake chan struct{} // holds one token while there is something to do
	done chan struct{}

	mu struct {
		sync.Mutex
		pending []Progress // in the order in which steps were first reported; at most maxPendingSteps
		closed  bool
	}
}

func newReporter(send func(Progress) error) *reporter {
	r := &reporter{send: send, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go r.run()
	return r
}

// report is safe for concurrent use and does not block. After close it does nothing.
func (r *reporter) report(p Progress) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return
	}
	r.mu.pending = appendNewest(r.mu.pending, p)
	r.signal()
}

func appendNewest(pending []Progress, p Progress) []Progress {
	for i := range pending {
		if pending[i].Step == p.Step {
			pending[i] = p
			return pending
		}
	}
	if len(pending) == maxPendingSteps {
		pending = append(pending[:0], pending[1:]...) // the oldest step has most likely ended
	}
	return append(pending, p)
}

// signal requires mu.
func (r *reporter) signal() {
	select {
	case r.wake <- struct{}{}:
	default: // run will look anyway
	}
}

// close sends what is pending and joins the goroutine. It ends when the receiver took all, or is gone.
func (r *reporter) close() {
	r.mu.Lock()
	r.mu.closed = true
	r.signal()
	r.mu.Unlock()
	<-r.done
}

func (r *reporter) run() {
	defer close(r.done)
	broken := false
	for range r.wake {
		r.mu.Lock()
		pending, closed := r.mu.pending, r.mu.closed
		r.mu.pending = nil
		r.mu.Unlock()
		for _, p := range pending {
			// A receiver that is gone ends the stream's context, and so the load; nothing is to be reported here.
			broken = broken || r.send(p) != nil
		}
		if closed {
			return
		}
	}
}
