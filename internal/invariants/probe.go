package invariants

import "sync/atomic"

// Probe reports to a test what its build does and no answer shows, as which texts are parsed. In ordinary builds it has
// no listener and does nothing. The zero value is ready; it is safe for concurrent use.
type Probe[T any] struct {
	listener atomic.Pointer[func(T)]
}

// Tell gives an event to the listener, if there is one.
func (p *Probe[T]) Tell(event T) {
	if Enabled {
		if hear := p.listener.Load(); hear != nil {
			(*hear)(event)
		}
	}
}

// Hear has a function called for every event, on the goroutine that called Tell, until stop is called.
func (p *Probe[T]) Hear(hear func(T)) (stop func()) {
	p.listener.Store(&hear)
	return func() { p.listener.Store(nil) }
}
