package store

import (
	"sync"
	"time"
)

// localSession is the session of a store in this process: nothing can end it but Close, and tests.
type localSession struct {
	done chan struct{}

	mu   sync.Mutex
	over error // guarded by mu; final
}

func newLocalSession() *localSession { return &localSession{done: make(chan struct{})} }

// Check implements Session.
func (s *localSession) Check() error { return s.ended() }

// Lasts implements Session: nothing but Close ends it.
func (s *localSession) Lasts(time.Duration) error { return s.Check() }

// Done implements Session.
func (s *localSession) Done() <-chan struct{} { return s.done }

// Lag implements Session.
func (s *localSession) Lag() time.Duration { return 0 }

// end is harmless the second time; the first reason stays.
func (s *localSession) end(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over == nil {
		s.over = why
		close(s.done)
	}
}

// ended is why the session is over, nil while it is not.
func (s *localSession) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}
