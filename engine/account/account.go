package account

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/internal/invariants"
)

// The kinds of what clients make a node keep. Package wire has its own words for those that it takes.
const (
	Statement = "statement" // prepared: text, tree, description
	Plan      = "plan"      // of statements that are prepared, or kept for their text
	Copy      = "copy"      // rows of COPY … FROM STDIN that are gathered
)

// Node is the account of a node. Safe for concurrent use.
type Node struct {
	most int64 // immutable

	mu       sync.Mutex
	used     int64                 // guarded by mu
	refused  uint64                // guarded by mu
	sessions map[*Session]struct{} // guarded by mu
}

// Session is a session's part of it. Safe for concurrent use.
type Session struct {
	node *Node
	id   uint32 // immutable
	user string // immutable

	share  int64            // guarded by node.mu; 0: none of its own
	used   int64            // guarded by node.mu
	kinds  map[string]int64 // guarded by node.mu; no zeros
	closed bool             // guarded by node.mu
}

// NewNode makes the account of a node whose clients may have so many bytes together.
func NewNode(most int64) *Node { return &Node{most: most, sessions: map[*Session]struct{}{}} }

// Open adds a session. List shows it by its number and whose it is.
func (n *Node) Open(id uint32, user string) *Session {
	s := &Session{node: n, id: id, user: user, kinds: map[string]int64{}}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sessions[s] = struct{}{}
	return s
}

// Close gives back everything that the session holds; it is granted nothing more.
func (s *Session) Close() {
	n := s.node
	n.mu.Lock()
	defer n.mu.Unlock()
	n.used -= s.used
	s.used, s.closed = 0, true
	clear(s.kinds)
	delete(n.sessions, s)
}

// SetShare bounds what the session may hold; 0: only the node does. What it holds already it keeps.
func (s *Session) SetShare(bytes int64) {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	s.share = bytes
}

// Take charges bytes to the session, or says why it may not keep them: an *Error.
func (s *Session) Take(kind string, bytes int64) error {
	require(bytes >= 0, "account: negative charge")
	n := s.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := s.mayTake(kind, bytes); err != nil {
		n.refused++
		return err
	}
	if bytes > 0 {
		n.used, s.used = n.used+bytes, s.used+bytes
		s.kinds[kind] += bytes
	}
	n.check()
	return nil
}

// mayTake is the rule. Preconditions: node.mu is held.
func (s *Session) mayTake(kind string, bytes int64) error {
	n := s.node
	switch {
	case s.closed:
		return &Error{State: "08003", Message: "the session has ended"}
	case bytes > n.most/2 || s.share > 0 && bytes > s.share:
		return &Error{
			State: "54000", Message: fmt.Sprintf("%d bytes of memory (%s) are more than a session may have: %d", bytes, kind, s.most()),
			Help: "Send less at once, " + s.ways() + ".",
		}
	case s.share > 0 && s.used > s.share-bytes:
		return s.exhausted(kind, bytes, "the session's share")
	case s.used+bytes > n.most-n.used-bytes:
		return s.exhausted(kind, bytes, "what the node has for its clients")
	}
	return nil
}

// most is what the session could have if it were alone. Preconditions: node.mu is held.
func (s *Session) most() int64 {
	if s.share > 0 {
		return min(s.share, s.node.most/2)
	}
	return s.node.most / 2
}

// ways says how there would be more. Preconditions: node.mu is held.
func (s *Session) ways() string {
	if s.share > 0 && s.share < s.node.most/2 {
		return "or raise csm.session_memory"
	}
	return "or start the node with more --memory"
}

func (s *Session) exhausted(kind string, bytes int64, whose string) error {
	return &Error{
		State: "53200", Message: fmt.Sprintf("out of memory for %s: %d bytes more would pass %s", plural[kind], bytes, whose),
		Facts: fmt.Sprintf("The session holds %d bytes, all sessions %d of %d. csm.memory shows them.", s.used, s.node.used, s.node.most),
		Help:  "Close statements and portals that are no longer needed, or send less at once, " + s.ways() + ".",
	}
}

var plural = map[string]string{
	Statement: "prepared statements", Plan: "plans", Copy: "rows of COPY", "message": "messages", "portal": "portals", "answer": "answers",
}

// Give takes bytes off the account that were taken. After Close it does nothing.
func (s *Session) Give(kind string, bytes int64) {
	n := s.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if s.closed || bytes == 0 {
		return
	}
	require(bytes > 0 && bytes <= s.kinds[kind], "account: A4: more is given back than was taken")
	bytes = min(max(bytes, 0), s.kinds[kind])
	n.used, s.used = n.used-bytes, s.used-bytes
	if s.kinds[kind] -= bytes; s.kinds[kind] == 0 {
		delete(s.kinds, kind)
	}
	n.check()
}

// check verifies A1 and A2. Preconditions: mu is held.
func (n *Node) check() {
	if !invariants.Enabled {
		return
	}
	sum := int64(0)
	for s := range n.sessions {
		kinds := int64(0)
		for _, bytes := range s.kinds {
			kinds += bytes
		}
		require(kinds == s.used, "account: A1: a session's kinds do not add up")
		sum += s.used
	}
	require(sum == n.used, "account: A1: the sessions do not add up")
	require(n.used >= 0 && n.used <= n.most, "account: A2")
}

func require(holds bool, broken string) {
	if invariants.Enabled && !holds {
		panic(broken)
	}
}

// Used is what the session holds.
func (s *Session) Used() int64 {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	return s.used
}

// Most is what the session could have if it were alone.
func (s *Session) Most() int64 {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	return s.most()
}

// Usage is what a node's clients make it keep.
type Usage struct {
	Used, Most int64
	Refused    uint64 // how often something was refused
}

// Usage reads the account.
func (n *Node) Usage() Usage {
	n.mu.Lock()
	defer n.mu.Unlock()
	return Usage{n.used, n.most, n.refused}
}

// Charge is what a session holds of a kind.
type Charge struct {
	Session    uint32
	User, Kind string
	Bytes      int64
}

// List is all charges, by session and kind.
func (n *Node) List() (list []Charge) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for s := range n.sessions {
		for _, kind := range slices.Sorted(maps.Keys(s.kinds)) {
			list = append(list, Charge{s.id, s.user, kind, s.kinds[kind]})
		}
	}
	slices.SortStableFunc(list, func(a, b Charge) int { return cmp.Compare(a.Session, b.Session) })
	return list
}

// Unbounded is an account that grants everything.
func Unbounded() *Node { return NewNode(math.MaxInt64 / 2) }
