package account

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"

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
	Changes   = "changes"   // of a transaction, until it ends; and the rows that are its
	Facts     = "facts"     // what planning needs to know of versions of tables; of the node, not of a session
	Returning = "returning" // rows of RETURNING, until COMMIT
	Connected = "session"   // what a session takes in any case (Begin)
	Overdue   = "overdue"   // texts and arguments of a statement that goes on though its client was answered
	Listening = "listening" // channels
	Parsing   = "parsing"   // trees of a text while it is planned (TakeBriefly)
	Computed  = "computed"  // rows of the Arrow kernels
)

// Node is the account of a node. Safe for concurrent use.
type Node struct {
	most   int64  // what may be kept; immutable
	source Source // immutable after From

	balance atomic.Pointer[balance] // replaced as a whole by change, so that a reader sees sums that belong together
	refused atomic.Uint64
	given   atomic.Pointer[chan struct{}] // closed when something brief is given back; nil: no session waits

	mu       sync.Mutex
	sessions map[*Session]struct{} // guarded by mu

	moving   sync.Mutex    // held while the source is asked
	fell     chan struct{} // capacity 1; immutable
	checking sync.Mutex    // held while the sums are checked, in builds with invariants
}

// balance is what a node keeps at one moment. Immutable.
type balance struct {
	used  int64 // the brief ones, too
	brief int64
	base  int64 // of used, what sessions take in any case
	peak  int64 // the most that was used since Settle
	room  int64 // what may be used without asking the source
}

// change replaces the balance by what to makes of it, unless to gives false. It may call to again: another one was
// faster.
func (n *Node) change(to func(balance) (balance, bool)) (after balance, changed bool) {
	for {
		before := n.balance.Load()
		after, changed := to(*before)
		if !changed {
			return *before, false
		}
		after.peak = max(after.peak, after.used)
		if n.balance.CompareAndSwap(before, &after) {
			return after, true
		}
	}
}

// Session is a session's part of it. Safe for concurrent use.
type Session struct {
	node *Node
	id   uint32 // immutable
	user string // immutable

	mu     sync.Mutex       // held while a charge is made, also of the node's balance
	share  int64            // guarded by mu; 0: none of its own
	used   int64            // guarded by mu; the brief ones, too, and without base
	brief  int64            // guarded by mu
	base   int64            // guarded by mu
	kinds  map[string]int64 // guarded by mu; no zeros
	closed bool             // guarded by mu
}

// NewNode makes the account of a node whose clients may have so many bytes together.
func NewNode(most int64) *Node {
	n := &Node{most: most, sessions: map[*Session]struct{}{}, fell: make(chan struct{}, 1)}
	n.balance.Store(&balance{room: math.MaxInt64})
	return n
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
	defer n.check()
	defer n.forget(s) // not before the sums are without it
	s.mu.Lock()
	defer s.mu.Unlock()
	had := charge{s.used + s.base, s.brief, s.base}
	s.used, s.brief, s.base, s.closed = 0, 0, 0, true
	clear(s.kinds)
	n.giveBack(had)
}

func (n *Node) forget(s *Session) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.sessions, s)
}

// charge is so many bytes, and which of them are brief or in any case.
type charge struct{ bytes, brief, base int64 }

// giveBack takes a charge off the balance and wakes the sessions that wait for it.
func (n *Node) giveBack(c charge) {
	after, _ := n.change(func(b balance) (balance, bool) {
		b.used, b.brief, b.base = b.used-c.bytes, b.brief-c.brief, b.base-c.base
		return b, true
	})
	if c.brief > 0 {
		n.wake()
	}
	n.noteFall(after)
}

// Has reports whether Take would grant so many bytes now, as far as the session and the node are bounded.
func (s *Session) Has(bytes int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mayTake("", bytes, *s.node.balance.Load()) == nil
}

// Begin charges what the session takes in any case: to the node, and not to its share. All sessions together take no
// more than half of the node by it.
func (s *Session) Begin(bytes int64) error {
	return s.take(Connected, charge{bytes, 0, bytes}, s.mayBegin)
}

// SetShare bounds what the session may hold; 0: only the node does. What it holds already it keeps.
func (s *Session) SetShare(bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.share = bytes
}

// Take charges bytes to the session, or says why it may not keep them: an *sqlerror.Error.
func (s *Session) Take(kind string, bytes int64) error {
	require(bytes >= 0, "account: negative charge")
	return s.take(kind, charge{bytes, 0, 0}, s.mayTake)
}

// rule says why a session may not have so many bytes more of a kind while the node has what it has. It may be asked
// again, of a later balance. Preconditions: the session's mu is held.
type rule func(kind string, bytes int64, now balance) error

// take is charging by a rule. Beyond what there is room for the source is asked, without a lock: then the rule is
// looked at once more.
func (s *Session) take(kind string, c charge, may rule) error {
	n := s.node
	defer n.check()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		wanted, err := s.charge(kind, c, may)
		if err == nil && wanted > 0 {
			s.mu.Unlock()
			found := n.makeRoom(wanted)
			s.mu.Lock()
			if found {
				continue
			}
			err = s.exhausted(kind, c.bytes, "what queries leave", *n.balance.Load())
		}
		if err != nil {
			n.refused.Add(1)
		}
		return err
	}
}

// charge makes a charge if the rule allows it. If there is no room for it, it makes none, and returns how much is
// wanted. Preconditions: mu is held.
func (s *Session) charge(kind string, c charge, may rule) (wanted int64, err error) {
	_, charged := s.node.change(func(b balance) (balance, bool) {
		wanted = 0
		if err = may(kind, c.bytes, b); err != nil || c.bytes == 0 {
			return b, false
		}
		if b.used+c.bytes > b.room {
			wanted = b.used + c.bytes
			return b, false
		}
		b.used, b.brief, b.base = b.used+c.bytes, b.brief+c.brief, b.base+c.base
		return b, true
	})
	if charged {
		s.used, s.brief, s.base = s.used+c.bytes-c.base, s.brief+c.brief, s.base+c.base
		s.kinds[kind] += c.bytes
	}
	return wanted, err
}

// mayTake is the rule of Take.
func (s *Session) mayTake(kind string, bytes int64, now balance) error {
	n := s.node
	kept, all := s.used-s.brief, now.used-now.brief
	switch {
	case s.closed:
		return &sqlerror.Error{State: "08003", Message: "the session has ended"}
	case bytes > n.most/2 || s.share > 0 && bytes > s.share:
		return s.tooMuch(kind, bytes, s.most())
	case s.share > 0 && kept > s.share-bytes:
		return s.exhausted(kind, bytes, "the session's share", now)
	case kept+bytes > n.most-all-bytes || kept+bytes > n.whole()-now.used-bytes:
		return s.exhausted(kind, bytes, "what the node has for its clients", now)
	}
	return nil
}

// mayBegin is the rule of Begin.
func (s *Session) mayBegin(kind string, bytes int64, now balance) error {
	if now.base+bytes > s.node.most/2 {
		return s.exhausted(kind, bytes, "what the node has for being connected", now)
	}
	return s.mayTake(kind, bytes, now)
}

func (s *Session) tooMuch(kind string, bytes, most int64) error {
	return &sqlerror.Error{
		State: "54000", Message: fmt.Sprintf("%d bytes of memory (%s) are more than a session may have: %d", bytes, kind, most),
		HintText: "Send less at once, " + s.ways() + ".",
	}
}

// most is what the session could have if it were alone. Preconditions: mu is held.
func (s *Session) most() int64 {
	if s.share > 0 {
		return min(s.share, s.node.most/2)
	}
	return s.node.most / 2
}

// ways says how there would be more. Preconditions: mu is held.
func (s *Session) ways() string {
	if s.share > 0 && s.share < s.node.most/2 {
		return "or raise csm.session_memory"
	}
	return "or start the node with more --memory"
}

func (s *Session) exhausted(kind string, bytes int64, whose string, now balance) error {
	return &sqlerror.Error{
		State: "53200", Message: fmt.Sprintf("out of memory for %s: %d bytes more would pass %s", plural[kind], bytes, whose),
		DetailText: fmt.Sprintf("The session holds %d bytes, all sessions %d of %d. csm.memory shows them.", s.used, now.used, s.node.most),
		HintText:   "Close statements and portals that are no longer needed, or send less at once, " + s.ways() + ".",
	}
}

var plural = map[string]string{
	Statement: "prepared statements", Plan: "plans", Copy: "rows of COPY", Setting: "settings", Savepoint: "savepoints",
	Changes: "the changes of a transaction", Listening: "channels of LISTEN",
	Facts: "facts of tables", Overdue: "overdue statements", Parsing: "parsing", Computed: "computed rows", Returning: "rows of RETURNING", Connected: "another session",
	"message": "messages", "portal": "portals", "answer": "answers", "connection": "connections", "notice": "notices",
}

// Give takes bytes off the account that were taken. After Close it does nothing.
func (s *Session) Give(kind string, bytes int64) {
	n := s.node
	defer n.check()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || bytes == 0 {
		return
	}
	require(bytes > 0 && bytes <= s.kinds[kind], "account: A4: more is given back than was taken")
	bytes = min(max(bytes, 0), s.kinds[kind])
	if s.kinds[kind] -= bytes; s.kinds[kind] == 0 {
		delete(s.kinds, kind)
	}
	back := charge{bytes: bytes}
	if kind == Parsing {
		back.brief = bytes
	}
	s.used, s.brief = s.used-bytes, s.brief-back.brief
	n.giveBack(back)
}

// check verifies A1, A2 and A5. Preconditions: no session's mu is held.
func (n *Node) check() {
	if !invariants.Enabled {
		return
	}
	n.checking.Lock()
	defer n.checking.Unlock()
	n.mu.Lock()
	defer n.mu.Unlock()
	var sum charge
	for s := range n.sessions { // with all of them held the balance stands still
		s.mu.Lock()
		defer s.mu.Unlock()
		kinds := int64(0)
		for _, bytes := range s.kinds {
			kinds += bytes
		}
		require(kinds == s.used+s.base, "account: A1: a session's kinds do not add up")
		require(s.kinds[Parsing] == s.brief, "account: A1: what is brief does not add up")
		sum.bytes, sum.brief, sum.base = sum.bytes+s.used+s.base, sum.brief+s.brief, sum.base+s.base
	}
	now := *n.balance.Load()
	require(sum == charge{now.used, now.brief, now.base}, "account: A1: the sessions do not add up")
	require(now.brief >= 0 && now.used-now.brief >= 0 && now.used-now.brief <= n.most, "account: A2")
	require(now.used <= max(n.most, n.whole()), "account: A2: brief")
	require(now.used <= now.room, "account: A5")
}

func require(holds bool, broken string) {
	if invariants.Enabled && !holds {
		panic(broken)
	}
}

// Used is what the session holds.
func (s *Session) Used() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Most is what the session could have if it were alone.
func (s *Session) Most() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	now := n.balance.Load()
	return Usage{now.used, n.most, now.base, n.refused.Load()}
}

// Charge is what a session holds of a kind.
type Charge struct {
	Session    uint32
	User, Kind string
	Bytes      int64
}

// List is all charges, by session and kind; each session's are of one moment.
func (n *Node) List() (list []Charge) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for s := range n.sessions {
		list = append(list, s.list()...)
	}
	slices.SortStableFunc(list, func(a, b Charge) int { return cmp.Compare(a.Session, b.Session) })
	return list
}

func (s *Session) list() (list []Charge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(s.kinds)) {
		list = append(list, Charge{s.id, s.user, kind, s.kinds[kind]})
	}
	return list
}
