package noderpc

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Limits of states.
const (
	// MaxStates is how many states a node has.
	MaxStates = 256
	// maxStateNameBytes bounds a state's name.
	maxStateNameBytes = 64
	// stateWait is how long a server waits for a state before it answers that it has not come; the client asks again.
	stateWait = 4 * time.Second
)

// States are small named numbers of one node that other nodes wait for: how far it is with something they do together
// (the thesis' state vector, §4.6, whose bits have names here). They begin unset and end with the process. The zero value
// is ready. Safe for concurrent use.
type States struct {
	mu struct {
		sync.Mutex
		values  map[string]int64
		changed chan struct{} // closed at the next change; nil: nobody waits
	}
}

// Set gives a state a value and wakes who waits for it.
func (s *States) Set(name string, value int64) error {
	if err := checkStateName(name); err != nil {
		return badArgument("set a state: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.values == nil {
		s.mu.values = map[string]int64{}
	}
	if _, there := s.mu.values[name]; !there && len(s.mu.values) >= MaxStates {
		return &Error{State: stateTooLarge, Message: fmt.Sprintf("a node has %d states at most", MaxStates)}
	}
	s.mu.values[name] = value
	if s.mu.changed != nil {
		close(s.mu.changed)
		s.mu.changed = nil
	}
	return nil
}

// All is a copy of all states that were set.
func (s *States) All() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.mu.values)
}

// wait returns all states as soon as the one named has the value, or the context ends.
func (s *States) wait(ctx context.Context, name string, value int64) map[string]int64 {
	for {
		s.mu.Lock()
		if got, there := s.mu.values[name]; there && got == value || ctx.Err() != nil {
			defer s.mu.Unlock()
			return maps.Clone(s.mu.values)
		}
		if s.mu.changed == nil {
			s.mu.changed = make(chan struct{})
		}
		changed := s.mu.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func checkStateName(name string) error {
	if name == "" || len(name) > maxStateNameBytes {
		return fmt.Errorf("the state's name has %d bytes, 1 to %d are allowed", len(name), maxStateNameBytes)
	}
	return checkLabel("state", name)
}

// WaitStates waits until the state has the value on every node, or the context ends: the error then names a node that
// was not there yet, and what it had. It is the thesis' waitFor; whoever wants its SyncWait sets the own state before.
func WaitStates(ctx context.Context, nodes []*Client, name string, value int64) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, node := range nodes {
		group.Go(func() error { return node.WaitState(ctx, name, value) })
	}
	return group.Wait()
}
