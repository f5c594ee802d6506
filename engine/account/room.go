package account

// Source is where memory comes from beyond what clients may always have: the node's queries do with less.
type Source struct {
	// Free is what needs no asking, Step by how much more or less is asked for at once.
	Free, Step int64
	// Ask has the node keep bytes, beyond Free, for its clients from now on, more or fewer than before. False: there are not so many now, and
	// it is as it was. It may not take from the account.
	Ask func(bytes int64) bool
}

// From says where memory comes from. Call it before the first session.
func (n *Node) From(source Source) {
	n.source, n.room = source, source.Free
}

// stepped is a multiple of Step beyond Free that is at least used.
func (n *Node) stepped(used int64) int64 {
	beyond := max(used-n.source.Free, 0)
	return n.source.Free + (beyond+n.source.Step-1)/n.source.Step*n.source.Step
}

// makeRoom has the source give so much that used fits, and tells whether it did.
func (n *Node) makeRoom(used int64) bool {
	n.moving.Lock()
	defer n.moving.Unlock()
	if n.roomNow() >= used { // somebody else made it
		return true
	}
	wanted := n.stepped(used)
	if !n.source.Ask(wanted - n.source.Free) {
		return false
	}
	n.setRoom(wanted)
	return true
}

func (n *Node) roomNow() int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.room
}

func (n *Node) setRoom(bytes int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.room = bytes
}

// spareSteps are kept in hand, so that what comes and goes does not ask each time.
const spareSteps = 2

// returnRoom gives the source back what has not been used, if that is much. Somebody who is about to ask anyway goes first.
func (n *Node) returnRoom() {
	if n.source.Ask == nil || !n.muchRoom() || !n.moving.TryLock() {
		return
	}
	defer n.moving.Unlock()
	n.mu.Lock()
	before, now := n.room, n.stepped(n.used)
	if before-now <= spareSteps*n.source.Step {
		n.mu.Unlock()
		return
	}
	n.room = now // first, so that it is nobody's while it moves (A5)
	n.mu.Unlock()
	if !n.source.Ask(now - n.source.Free) {
		n.setRoom(before)
	}
}

func (n *Node) muchRoom() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.room-n.stepped(n.used) > spareSteps*n.source.Step
}
