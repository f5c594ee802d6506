package account

// Source is where memory comes from beyond what clients may always have: the node's queries do with less.
type Source struct {
	// Free is what needs no asking, Step by how much more or less is asked for at once.
	Free, Step int64
	// Ask has the node keep bytes, beyond Free, for its clients from now on, more or fewer than before. False: there
	// are not so many now, and it is as it was. It may not take from the account.
	Ask func(bytes int64) bool
}

// From says where memory comes from. Call it before the first session.
func (n *Node) From(source Source) {
	n.source = source
	n.setRoom(source.Free)
}

// stepped is a multiple of Step beyond Free that is at least used.
func (n *Node) stepped(used int64) int64 {
	beyond := max(used-n.source.Free, 0)
	return n.source.Free + (beyond+n.source.Step-1)/n.source.Step*n.source.Step
}

// makeRoom has the source give so much that used fits, and reports whether it did.
func (n *Node) makeRoom(used int64) bool {
	n.moving.Lock()
	defer n.moving.Unlock()
	if n.balance.Load().room >= used { // another session made it
		return true
	}
	wanted := n.stepped(used)
	if !n.source.Ask(wanted - n.source.Free) {
		return false
	}
	n.setRoom(wanted)
	return true
}

func (n *Node) setRoom(bytes int64) {
	n.change(func(b balance) (balance, bool) {
		b.room = bytes
		return b, true
	})
}

// spareSteps are kept in hand, so that what comes and goes does not ask each time.
const spareSteps = 2

// Fallen receives a value when much less is used than before: Settle is worth it then. It receives no second one before
// the first is read.
func (n *Node) Fallen() <-chan struct{} { return n.fell }

// noteFall sends to Fallen if so much less is used by now.
func (n *Node) noteFall(now balance) {
	if n.source.Ask == nil || now.peak-now.used < max(n.source.Free/2, now.used) && !n.muchRoom(now) {
		return
	}
	select {
	case n.fell <- struct{}{}:
	default:
	}
}

// muchRoom reports whether there is more than is kept in hand.
func (n *Node) muchRoom(now balance) bool {
	return now.room-n.stepped(now.used) > spareSteps*n.source.Step
}

// Settle gives the source back what is not used, if that is much. False: the source did not take it, and a later call
// may succeed.
func (n *Node) Settle() bool {
	n.moving.Lock()
	defer n.moving.Unlock()
	var before int64
	after, _ := n.change(func(b balance) (balance, bool) {
		before, b.peak = b.room, b.used
		if n.muchRoom(b) {
			b.room = n.stepped(b.used) // first, so that it is unowned while it moves (A5)
		}
		return b, true
	})
	if after.room == before || n.source.Ask(after.room-n.source.Free) {
		return true
	}
	n.setRoom(before)
	return false
}
