package account

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/csmsql/csmsql/internal/invariants"
	"github.com/csmsql/csmsql/sql/sqlerror"
)

// The kinds of what clients make a node keep. Package wire has its own words for those that it takes.
const (
	Statement = "statement" // prepared: text, tree, description
	Plan      = "plan"      // of statements that are prepared, or kept for their text
	Copy      = "copy"      // rows of COPY … FROM STDIN that are gathered
	Setting   = "setting"   // values of settings, with those that a transaction may bring back
	Savepoint = "savepoint" // what a transaction can go back to
	Facts     = "facts"     // what planning needs to know of versions of tables; of the node, not of a session
	Returning = "returning" // rows of RETURNING, until COMMIT
	Connected = "session"   // what a session takes in any case (Begin)
	Overdue   = "overdue"   // texts and arguments of a statement that goes on though its client was answered
	Parsing   = "parsing"   // trees of a text while it is planned (TakeBriefly)
)

// Node is the account of a node. Safe for concurrent use.
type Node struct {
	most   int64  // what may be kept; immutable
	source Source // immutable after From

	mu       sync.Mutex
	used     int64                 // guarded by mu; the brief ones, too
	brief    int64                 // guarded by mu
	base     int64                 // guarded by mu; of used, what sessions take in any case
	peak     int64                 // guarded by mu; the most that was used since Settle
	room     int64                 // guarded by mu; what may be used without asking the source
	refused  uint64                // guarded by mu
	sessions map[*Session]struct{} // guarded by mu
	given    chan struct{}         // guarded by mu; closed when something brief is given back, for those who wait; nil: nobody does

	moving sync.Mutex    // held while the source is asked
	fell   chan struct{} // capacity 1; immutable
}

// Session is a session's part of it. Safe for concurrent use.
type Session struct {
	node *Node
	id   uint32 // immutable
	user string // immutable

	share  int64            // guarded by node.mu; 0: none of its own
	used   int64            // guarded by node.mu; the brief ones, too, and without base
	brief  int64            // guarded by node.mu
	base   int64            // guarded by node.mu
	kinds  map[string]int64 // guarded by node.mu; no zeros
	closed bool             // guarded by node.mu
}

// NewNode makes the account of a node whose clients may have so many bytes together.
func NewNode(most int64) *Node {
	return &Node{most: most, room: math.MaxInt64, sessions: map[*Session]struct{}{}, fell: make(chan struct{}, 1)}
}

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
	n.used, n.brief, n.base = n.used-s.used-s.base, n.brief-s.brief, n.base-s.base
	if s.brief > 0 {
		n.wake()
	}
	s.used, s.brief, s.base, s.closed = 0, 0, 0, true
	clear(s.kinds)
	delete(n.sessions, s)
	n.noteFall()
}

// Begin charges what the session takes in any case: to the node, and not to its share. All sessions together take no more than half of the node by it.
func (s *Session) Begin(bytes int64) error {
	return s.take(Connected, bytes, s.mayBegin, func() { s.base, s.node.base = s.base+bytes, s.node.base+bytes })
}

// SetShare bounds what the session may hold; 0: only the node does. What it holds already it keeps.
func (s *Session) SetShare(bytes int64) {
	s.node.mu.Lock()
	defer s.node.mu.Unlock()
	s.share = bytes
}

// Take charges bytes to the session, or says why it may not keep them: an *sqlerror.Error.
func (s *Session) Take(kind string, bytes int64) error {
	require(bytes >= 0, "account: negative charge")
	return s.take(kind, bytes, s.mayTake, func() { s.used += bytes })
}

// take is charging by a rule. Beyond what there is room for the source is asked, without the lock: then the rule is looked at once more.
func (s *Session) take(kind string, bytes int64, may func(string, int64) error, charge func()) error {
	n := s.node
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		if err := may(kind, bytes); err != nil {
			n.refused++
			return err
		}
		if n.used+bytes <= n.room {
			break
		}
		wanted := n.used + bytes
		n.mu.Unlock()
		found := n.makeRoom(wanted)
		n.mu.Lock()
		if !found {
			n.refused++
			return s.exhausted(kind, bytes, "what queries leave")
		}
	}
	if bytes > 0 {
		n.used += bytes
		n.peak = max(n.peak, n.used)
		s.kinds[kind] += bytes
		charge()
	}
	n.check()
	return nil
}

// mayTake is the rule. Preconditions: node.mu is held.
func (s *Session) mayTake(kind string, bytes int64) error {
	n := s.node
	kept, all := s.used-s.brief, n.used-n.brief
	switch {
	case s.closed:
		return &sqlerror.Error{State: "08003", Message: "the session has ended"}
	case bytes > n.most/2 || s.share > 0 && bytes > s.share:
		return s.tooMuch(kind, bytes, s.most())
	case s.share > 0 && kept > s.share-bytes:
		return s.exhausted(kind, bytes, "the session's share")
	case kept+bytes > n.most-all-bytes:
		return s.exhausted(kind, bytes, "what the node has for its clients")
	}
	return nil
}

// mayBegin is the rule of Begin. Preconditions: node.mu is held.
func (s *Session) mayBegin(kind string, bytes int64) error {
	if n := s.node; n.base+bytes > n.most/2 {
		return s.exhausted(kind, bytes, "what the node has for being connected")
	}
	return s.mayTake(kind, bytes)
}

func (s *Session) tooMuch(kind string, bytes, most int64) error {
	return &sqlerror.Error{
		State: "54000", Message: fmt.Sprintf("%d bytes of memory (%s) are more than a session may have: %d", bytes, kind, most),
		HintText: "Send less at once, " + s.ways() + ".",
	}
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
	return &sqlerror.Error{
		State: "53200", Message: fmt.Sprintf("out of memory for %s: %d bytes more would pass %s", plural[kind], bytes, whose),
		DetailText: fmt.Sprintf("The session holds %d bytes, all sessions %d of %d. csm.memory shows them.", s.used, s.node.used, s.node.most),
		HintText:   "Close statements and portals that are no longer needed, or send less at once, " + s.ways() + ".",
	}
}

var plural = map[string]string{
	Statement: "prepared statements", Plan: "plans", Copy: "rows of COPY", Setting: "settings", Savepoint: "savepoints",
	Facts: "facts of tables", Overdue: "overdue statements", Parsing: "parsing", Returning: "rows of RETURNING", Connected: "another session",
	"message": "messages", "portal": "portals", "answer": "answers", "connection": "connections", "notice": "notices",
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
	if kind == Parsing {
		n.brief, s.brief = n.brief-bytes, s.brief-bytes
		n.wake()
	}
	n.noteFall()
	n.check()
}

// check verifies A1 and A2. Preconditions: mu is held.
func (n *Node) check() {
	if !invariants.Enabled {
		return
	}
	sum, brief, base := int64(0), int64(0), int64(0)
	for s := range n.sessions {
		kinds := int64(0)
		for _, bytes := range s.kinds {
			kinds += bytes
		}
		require(kinds == s.used+s.base, "account: A1: a session's kinds do not add up")
		require(s.kinds[Parsing] == s.brief, "account: A1: what is brief does not add up")
		sum, brief, base = sum+s.used+s.base, brief+s.brief, base+s.base
	}
	require(sum == n.used && brief == n.brief && base == n.base, "account: A1: the sessions do not add up")
	require(n.brief >= 0 && n.used-n.brief >= 0 && n.used-n.brief <= n.most, "account: A2")
	require(n.used <= max(n.most, n.whole()), "account: A2: brief")
	require(n.used <= n.room, "account: A5")
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
	Base       int64  // of Used, what sessions take in any case
	Refused    uint64 // how often something was refused
}

// Usage reads the account.
func (n *Node) Usage() Usage {
	n.mu.Lock()
	defer n.mu.Unlock()
	return Usage{n.used, n.most, n.base, n.refused}
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
