package wire

import (
	"container/list"
	"sync"
)

// lobby holds the connections that have no slot yet (W2): during their start-up, while they are refused for want of a
// slot, or while they carry a cancel request. When it is full, a newcomer takes the place of the connection that has
// been silent for longest. So silent sockets keep only other silent sockets out, and a cancel never waits. Safe for
// concurrent use.
type lobby struct {
	most int

	mu     sync.Mutex // guards the rest, and place and inLobby of connections; leaf lock
	count  int
	silent list.List // *connection, the oldest first
}

// enter lets c in. False: no connection there is silent, and c is to be closed.
func (l *lobby) enter(c *connection) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == l.most {
		oldest := l.silent.Front()
		if oldest == nil {
			return false
		}
		l.remove(oldest.Value.(*connection))
	}
	l.count++
	c.inLobby, c.place = true, l.silent.PushBack(c)
	return true
}

// remove closes a connection; its goroutine finds out. Requires mu.
func (l *lobby) remove(c *connection) {
	l.silent.Remove(c.place)
	c.inLobby, c.place = false, nil
	l.count--
	c.network.Close()
}

// spoke notes that c has sent a start-up message or a cancel request.
func (l *lobby) spoke(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.place != nil {
		l.silent.Remove(c.place)
		c.place = nil
	}
}

// leave is for a connection that has a slot, or ends; again is nothing.
func (l *lobby) leave(c *connection) {
	l.spoke(c)
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.inLobby {
		c.inLobby = false
		l.count--
	}
}
