package account

import (
	"context"
	"time"

	"github.com/csmsql/csmsql/sql/sqlerror"
)

// What a statement has only while it is planned counts apart: it may be twice of what may be kept, so that a long text can be parsed on a
// small node, and who finds others in the way waits for them, because they will be done soon.

// whole is what may be used with what is brief.
func (n *Node) whole() int64 { return 2 * n.most }

// briefPatience is how long TakeBriefly waits for others.
const briefPatience = 10 * time.Second

// TakeBriefly charges bytes of kind Parsing, which Give takes off before the statement waits for its client. While others are in the way it waits, unless
// the session has some already: two that wait for each other would wait in vain.
func (s *Session) TakeBriefly(ctx context.Context, bytes int64) error {
	ctx, cancel := context.WithTimeoutCause(ctx, briefPatience, errNoneCame)
	defer cancel()
	for {
		others := s.awaitGiven()
		err := s.take(Parsing, bytes, s.mayTakeBriefly, func() {
			s.used, s.brief = s.used+bytes, s.brief+bytes
			s.node.brief += bytes
		})
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

// awaitGiven is closed when somebody gives back something brief; nil: nobody else has any, or the session has.
func (s *Session) awaitGiven() <-chan struct{} {
	n := s.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.brief > 0 || n.brief == 0 {
		return nil
	}
	if n.given == nil {
		n.given = make(chan struct{})
	}
	return n.given
}

// wake tells those who wait. Preconditions: mu is held.
func (n *Node) wake() {
	if n.given != nil {
		close(n.given)
		n.given = nil
	}
}

// mayTakeBriefly is the rule. Preconditions: node.mu is held.
func (s *Session) mayTakeBriefly(kind string, bytes int64) error {
	n := s.node
	switch {
	case s.closed:
		return &sqlerror.Error{State: "08003", Message: "the session has ended"}
	case bytes > n.whole()/2:
		return s.tooMuch(kind, bytes, n.whole()/2)
	case s.brief+bytes > n.whole()-n.used-bytes:
		return s.exhausted(kind, bytes, "what the node has for its clients")
	}
	return nil
}
