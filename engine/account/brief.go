package account

import (
	"context"
	"time"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// What a statement has only while it is planned counts apart: it may be twice of what may be kept, so that a long text
// can be parsed on a small node. A session that finds others in the way waits for them: they will be done soon.

// whole is what may be used with what is brief.
func (n *Node) whole() int64 { return 2 * n.most }

// briefPatience is how long TakeBriefly waits for others.
const briefPatience = 10 * time.Second

// TakeBriefly charges bytes of kind Parsing, which Give takes off before the statement waits for its client. While
// others are in the way it waits, unless the session has some already: two that wait for each other would wait in vain.
func (s *Session) TakeBriefly(ctx context.Context, bytes int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, briefPatience, errNoneCame)
	defer cancel()
	for {
		others := s.awaitGiven()
		err := s.take(Parsing, charge{bytes, bytes, 0}, s.mayTakeBriefly)
		if e, refused := err.(*sqlerror.Error); !refused || e.State != "53200" || others == nil {
			return err
		}
		select {
		case <-others:
		case <-ctx.Done():
			if context.Cause(ctx) == errNoneCame {
				return err
			}
			return context.Cause(ctx)
		}
	}
}

// awaitGiven returns a channel that is closed when another session gives back something brief; nil: no other session
// has any, or this one has some. Call it before reading the balance: what is given back in between closes it.
func (s *Session) awaitGiven() <-chan struct{} {
	n := s.node
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.brief > 0 {
		return nil
	}
	for n.balance.Load().brief > 0 {
		if given := n.given.Load(); given != nil && n.balance.Load().brief > 0 { // there already when it is looked at
			return *given
		}
		given := make(chan struct{})
		n.given.CompareAndSwap(nil, &given)
	}
	return nil
}

// wake wakes the sessions that wait.
func (n *Node) wake() {
	if given := n.given.Swap(nil); given != nil {
		close(*given)
	}
}

// mayTakeBriefly is the rule of TakeBriefly.
func (s *Session) mayTakeBriefly(kind string, bytes int64, now balance) error {
	n := s.node
	switch {
	case s.closed:
		return &sqlerror.Error{State: "08003", Message: "the session has ended"}
	case bytes > n.whole()/2:
		return s.tooMuch(kind, bytes, n.whole()/2)
	case s.brief+bytes > n.whole()-now.used-bytes:
		return s.exhausted(kind, bytes, "what the node has for its clients", now)
	}
	return nil
}
