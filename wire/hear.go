package wire

import (
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
	"golang.org/x/sys/unix"
)

const (
	heardAtOnce = 4               // notifications for a client that waits: what a writable socket takes
	heardMost   = 1000            // notifications before ReadyForQuery
	hearAgain   = 1 * time.Second // until the next try with a client that did not read
)

// Heard implements Client: a connection that waits for its client between transactions sends the notifications at once.
func (c *connection) Heard() {
	l := &c.life
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard = true; l.waiting && l.hears && !l.stopping {
		l.patient = true
		c.network.SetReadDeadline(time.Unix(1, 0))
	}
}

// hear sends a waiting client the notifications of its session. It never waits for the client to read: a client that
// does not read gets them later, the last one of each channel. So the connection goes on to read the client's messages
// and notices its end.
func (c *connection) hear() error {
	c.life.mu.Lock()
	c.life.heard = false
	c.life.mu.Unlock()
	for {
		if !writable(c.network) {
			c.hearAt = time.Now().Add(hearAgain)
			return nil
		}
		list := c.takeHeard(heardAtOnce)
		if len(list) == 0 {
			c.hearAt = time.Time{}
			return nil
		}
		c.sendHeard(list)
		if err := c.out.flush(); err != nil {
			return err
		}
	}
}

func (c *connection) takeHeard(most int) []Notification {
	if c.hearing == nil {
		return nil
	}
	return c.hearing.Heard(most)
}

func (c *connection) sendHeard(list []Notification) {
	for _, n := range list {
		c.out.send(&pgproto3.NotificationResponse{PID: c.processID, Channel: n.Channel, Payload: n.Payload})
	}
}

// writable reports whether some hundred bytes can be written without waiting.
func writable(network any) bool {
	socket, ok := network.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true // the write says why
	}
	free := true
	err = raw.Control(func(descriptor uintptr) {
		look := []unix.PollFd{{Fd: int32(descriptor), Events: unix.POLLOUT}}
		n, err := unix.Poll(look, 0)
		free = err != nil || n > 0
	})
	return err != nil || free
}
